/* The search runs in a worker, and browsers refuse workers in pages that are opened as files. There, the script of the
   worker runs in a hidden frame instead. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = frame.contentWindow;
      window.addEventListener("message", event => {
        if (event.source === inner) this.dispatchEvent(new MessageEvent("message", { data: event.data }));
      });
      inner.postMessage = data => inner.parent.dispatchEvent(new MessageEvent("message", { data, source: inner }));
      inner.importScripts = (...scripts) => Promise.all(scripts.map(script => load(inner, script)));
      this.ready = load(inner, url).then(() => inner);
    }

    postMessage(data) {
      this.ready.then(inner => inner.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {}
  };

  function load(inner, url) {
    return new Promise((resolve, reject) => {
      const script = inner.document.createElement("script");
      script.src = url;
      script.onload = resolve;
      script.onerror = reject;
      inner.document.body.append(script);
    });
  }
}
