// The page's only script. The page shows everything without it; it adds search, filters, keys, views, copying, saving.
"use strict";
document.documentElement.classList.add("js-on");
document.addEventListener("DOMContentLoaded", () => {
  const find = (selector, from = document) => from.querySelector(selector);
  const findAll = (selector, from = document) => [...from.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const root = document.documentElement;
  const units = findAll("details.unit[data-verdict]");
  const search = find("#search");
  const filters = findAll("button[data-verdict]");
  const tabs = findAll("[role=tab]");
  const views = findAll("button[data-view]");
  const toolbar = find("#toolbar");
  const help = find("#help");
  const themes = ["", "light", "dark"];

  // What begins closed is in <noscript>: with a script the browser keeps that as text, so that it opens a long page in
  // short tasks. Elements are made of it when a reader opens it, or soon after the page is shown.
  const BUILT_AT_ONCE = 40, BUILT_WHEN_IDLE = 10;
  const build = (part) => {
    const template = document.createElement("template");
    template.innerHTML = part.textContent;
    addSortButtons(template.content);
    part.replaceWith(template.content);
  };
  const buildIn = (box) => findAll("noscript", box).forEach(build);
  const findTarget = (id) => byId(id) || (buildIn(document), byId(id));
  const whenIdle = window.requestIdleCallback || ((act) => setTimeout(act, 50));
  const buildRest = () => {
    const parts = findAll("noscript");
    parts.slice(0, BUILT_WHEN_IDLE).forEach(build);
    if (parts.length > BUILT_WHEN_IDLE) whenIdle(buildRest);
  };

  const measure = () => root.style.setProperty("--toolbar", `${toolbar.offsetHeight}px`);
  new ResizeObserver(measure).observe(toolbar);

  // The state is kept in the address: #anchor?q=words&verdict=a,b&file=file-2&view=diff&theme=dark
  const read = () => {
    const [anchor, query = ""] = location.hash.slice(1).split("?");
    return { anchor: decodeURIComponent(anchor), query: new URLSearchParams(query) };
  };
  const write = (change, { push = false } = {}) => {
    const { anchor, query } = read();
    for (const [name, value] of Object.entries(change)) {
      if (name === "anchor") continue;
      if (value) query.set(name, value); else query.delete(name);
    }
    const place = "anchor" in change ? change.anchor : anchor;
    const rest = query.toString();
    const address = `#${encodeURIComponent(place)}${rest ? `?${rest}` : ""}`;
    if (address !== location.hash) history[push ? "pushState" : "replaceState"](null, "", address);
  };

  const showView = (name) => {
    for (const button of views) {
      const chosen = button.dataset.view === name;
      button.setAttribute("aria-pressed", String(chosen));
      byId(button.dataset.view).hidden = !chosen;
    }
  };
  const viewOf = (element) => (views.length ? element.closest(".view")?.id : undefined);
  const showFile = (id) => {
    for (const tab of tabs) {
      const chosen = tab.getAttribute("aria-controls") === id;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = !chosen;
    }
  };
  const scrollTo = (element) => element.scrollIntoView({ block: "start", behavior: "instant" });
  // What is opened, and panels that the browser has not drawn yet, get their heights in the next frames.
  const settle = (element, frames) => {
    scrollTo(element);
    if (frames) requestAnimationFrame(() => settle(element, frames - 1));
  };
  const reveal = (element) => {
    element.classList.remove("gone"); // a link leads to its target whatever the filters hide
    const view = viewOf(element);
    if (view) showView(view);
    const file = element.closest(".file");
    if (file && tabs.length) showFile(file.id);
    if (element.matches("details")) buildIn(element);
    for (let box = element.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    measure();
    settle(element, 6);
  };

  const highlight = (box, query) => {
    if (!query && !find("mark", box)) return;
    const text = box.textContent, parts = [];
    let from = 0;
    for (let at = query ? text.toLowerCase().indexOf(query) : -1; at >= 0; at = text.toLowerCase().indexOf(query, from)) {
      const mark = document.createElement("mark");
      mark.textContent = text.slice(at, at + query.length);
      parts.push(text.slice(from, at), mark);
      from = at + query.length;
    }
    box.replaceChildren(...parts, text.slice(from));
  };
  const textOf = (unit) => find(".text", unit).textContent.toLowerCase();
  const apply = () => {
    const query = search.value.trim().toLowerCase();
    const wanted = filters.filter((button) => button.getAttribute("aria-pressed") === "true").map((b) => b.dataset.verdict);
    const active = Boolean(query || wanted.length);
    const fits = new Map(units.map((unit) => [unit.id, (!query || textOf(unit).includes(query)) && (!wanted.length || wanted.includes(unit.dataset.verdict))]));
    let matches = 0;
    for (const file of findAll(".file")) {
      let heading = null, inFile = 0;
      for (const row of file.children) {
        const id = row.dataset.partOf || (row.dataset.verdict ? row.id : "");
        if (row.matches(".heading")) { heading = row; row.classList.toggle("gone", active); }
        else if (id) {
          row.classList.toggle("gone", !fits.get(id));
          if (fits.get(id)) { heading?.classList.remove("gone"); inFile += row.matches("details"); }
          if (row.matches("details")) highlight(find(".text", row), fits.get(id) ? query : "");
        } else if (row.matches(".scaffold, .trigger")) row.classList.toggle("gone", active);
      }
      matches += inFile;
      const count = find(`[aria-controls="${file.id}"] .hit-count`);
      if (count) count.textContent = active ? inFile : "";
    }
    find("#match-count").textContent = active ? `${matches} of ${units.length} lines` : "";
  };
  const restore = () => {
    const { anchor, query } = read();
    search.value = query.get("q") || "";
    const verdicts = (query.get("verdict") || "").split(",");
    for (const button of filters) button.setAttribute("aria-pressed", String(verdicts.includes(button.dataset.verdict)));
    showTheme(themes.includes(query.get("theme")) ? query.get("theme") || "" : "");
    const file = tabs.find((tab) => tab.getAttribute("aria-controls") === query.get("file")) || tabs[0];
    if (file) showFile(file.getAttribute("aria-controls"));
    showView(views.some((button) => button.dataset.view === query.get("view")) ? query.get("view") : "written");
    if (search.value || verdicts[0] || find(".gone")) apply();
    const place = anchor && findTarget(anchor);
    if (place === help) help.showModal(); else if (place) reveal(place);
  };

  const fitting = () => units.filter((unit) => !unit.classList.contains("gone"));
  let current = null;
  const step = (by) => {
    const list = fitting();
    if (!list.length) return;
    const here = list.indexOf(document.activeElement?.closest?.("details.unit") || current);
    const next = list[here < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, here + by))];
    current = next;
    if (views.length) showView("written");
    if (tabs.length) showFile(next.closest(".file").id);
    find("summary", next).focus({ preventScroll: true });
    next.scrollIntoView({ block: "center", behavior: "instant" });
    write({ anchor: next.id });
  };
  const clear = () => {
    search.value = "";
    for (const button of filters) button.setAttribute("aria-pressed", "false");
    write({ q: "", verdict: "" });
    apply();
  };
  const showTheme = (name) => {
    root.dataset.theme = name;
    find("#theme-name").textContent = name || "system";
  };
  const nextTheme = () => {
    const next = themes[(themes.indexOf(root.dataset.theme || "") + 1) % themes.length];
    showTheme(next);
    write({ theme: next });
  };

  // Copying and saving: the bytes are in the page as base64.
  const say = (text) => { find("#copied").textContent = text; };
  const copy = async (text, what) => {
    try { await navigator.clipboard.writeText(text); } catch {
      const box = document.createElement("textarea");
      box.value = text;
      document.body.append(box);
      box.select();
      document.execCommand("copy");
      box.remove();
    }
    say(`${what} copied`);
  };
  const bytesOf = (id) => Uint8Array.from(atob(byId(id).dataset.base64), (letter) => letter.charCodeAt(0));
  const linkTo = (id) => location.href.split("#")[0] + `#${id}`;

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") { if (!help.open) { clear(); document.activeElement?.blur?.(); } return; }
    if (event.target.closest("input, textarea, select, dialog")) return;
    const act = { j: () => step(1), k: () => step(-1), "/": () => search.focus(), "?": () => help.showModal(), t: nextTheme }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("summary")) buildIn(event.target.closest("details"));
    const number = event.target.closest("details.unit[data-verdict] > summary > .line");
    if (number) { event.preventDefault(); copy(linkTo(number.closest("details").id), `Link to line ${number.textContent}`); return; }
    const summary = event.target.closest("details.unit > summary");
    // Selecting text inside a unit must not open or close it.
    if (summary && String(getSelection()) && summary.contains(getSelection().anchorNode)) { event.preventDefault(); return; }
    if (summary) { write({ anchor: summary.parentElement.open ? "" : summary.parentElement.id }); return; }
    const button = event.target.closest("[data-copy], [data-copy-text], [data-download], [data-link]");
    if (button) {
      const { copy: bytes, copyText, download, link } = button.dataset;
      if (bytes) copy(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytesOf(bytes)), byId(bytes).dataset.name);
      if (copyText) copy(copyText, "Command");
      if (link) copy(linkTo(link), "Link");
      if (download) { save(byId(download).dataset.name, "application/octet-stream", bytesOf(download)); say(`${byId(download).dataset.name} saved`); }
      return;
    }
    const link = event.target.closest('a[href^="#"]');
    if (!link) return;
    const place = findTarget(link.getAttribute("href").slice(1));
    if (!place) return;
    event.preventDefault();
    if (place === help) { help.showModal(); return; }
    write({ anchor: place.id, view: viewOf(place) === "written" ? "" : viewOf(place) || "" }, { push: true });
    reveal(place);
    (place.matches("details") ? find("summary", place) : place).focus?.({ preventScroll: true });
  });
  search.addEventListener("input", () => { write({ q: search.value.trim() }); if (views.length) showView("written"); apply(); });
  search.addEventListener("keydown", (event) => { if (event.key === "Enter") step(event.shiftKey ? -1 : 1); });
  for (const button of filters) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      write({ verdict: filters.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.verdict).join(",") });
      if (views.length) showView("written");
      apply();
    });
  }
  for (const button of views) {
    button.addEventListener("click", () => {
      showView(button.dataset.view);
      write({ anchor: "", view: button.dataset.view === "written" ? "" : button.dataset.view }, { push: true });
      if (toolbar.getBoundingClientRect().top <= find("#bar").offsetHeight + 1) scrollTo(byId(button.dataset.view));
    });
  }
  tabs.forEach((tab, index) => {
    tab.addEventListener("click", () => {
      showFile(tab.getAttribute("aria-controls"));
      write({ file: index ? tab.getAttribute("aria-controls") : "" });
    });
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by) { const other = tabs[(index + by + tabs.length) % tabs.length]; other.click(); other.focus(); }
    });
  });
  find("#minimap")?.addEventListener("click", (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const unit = units[Math.min(units.length - 1, Math.floor(units.length * (event.clientY - box.top) / box.height))];
    write({ anchor: unit.id }, { push: true });
    reveal(unit);
  });
  find("#previous").addEventListener("click", () => step(-1));
  find("#following").addEventListener("click", () => step(1));
  find("#theme").addEventListener("click", nextTheme);
  find("#help-close").addEventListener("click", () => help.close());

  // A click on a column heading sorts the table by it; numbers are compared as numbers.
  const key = (row, column) => {
    const text = row.cells[column].textContent.trim();
    const number = Number(text.replace(/^line /, "").replaceAll(",", "").replace("\u2212", "-").replace("+", "").split(":")[0]);
    return text !== "" && !isNaN(number) ? number : text;
  };
  const addSortButton = (heading) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const body = heading.closest("table").tBodies[0];
      const down = heading.getAttribute("aria-sort") === "ascending";
      for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const order = (one, other) => (typeof one === typeof other ? (one < other ? -1 : one > other ? 1 : 0) : typeof one === "number" ? -1 : 1);
      body.append(...[...body.rows].sort((one, other) => (down ? -1 : 1) * order(key(one, heading.cellIndex), key(other, heading.cellIndex))));
    });
  };
  const addSortButtons = (box) => findAll("table[data-export]:not([data-chain]) thead th, table[data-sort] thead th", box).forEach(addSortButton);

  const save = (name, type, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const standalone = (svg) => {
    const copy = svg.cloneNode(true);
    for (const [name, value] of [["font-family", "system-ui, sans-serif"], ["font-size", "12"], ["fill", "currentColor"]]) {
      if (!copy.hasAttribute(name) && copy.classList.contains("figure")) copy.setAttribute(name, value);
    }
    return new XMLSerializer().serializeToString(copy);
  };
  const rowsOf = (figure) => {
    buildIn(figure);
    const tables = findAll("table[data-export]", figure);
    const chain = (table) => (table.dataset.chain ? [{ text: table.dataset.chain }] : []);
    const columns = [...(tables[0].dataset.chain ? ["chain"] : []), ...findAll("thead th", tables[0]).map((cell) => cell.textContent)];
    const cells = (row) => findAll("td", row).map((cell) => ({ text: cell.textContent.trim(), share: cell.dataset.share }));
    return { columns, rows: tables.flatMap((table) => findAll("tbody tr", table).map((row) => [...chain(table), ...cells(row)])) };
  };
  // A cell that begins like a formula gets an apostrophe, because spreadsheets would run it.
  const field = (text) => `"${(/^[=+\-@\t]/.test(text) && isNaN(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  for (const button of findAll("[data-save]")) {
    button.setAttribute("aria-label", `Save as ${button.textContent}`);
    button.addEventListener("click", () => {
      const figure = button.closest("figure");
      const name = figure.dataset.name;
      if (button.dataset.save === "svg") { save(`${name}.svg`, "image/svg+xml", standalone(find("svg", figure))); return; }
      const { columns, rows } = rowsOf(figure);
      if (button.dataset.save === "csv") { save(`${name}.csv`, "text/csv", [columns, ...rows.map((row) => row.map((cell) => cell.text))].map((row) => row.map(field).join(",")).join("\r\n")); return; }
      // Tables show points of a hundred; JSON holds shares of 1.
      const number = ({ text, share }) => (share !== undefined ? Number(share) : text !== "" && !isNaN(text) ? Number(text) : text);
      save(`${name}.json`, "application/json", JSON.stringify(rows.map((row) => Object.fromEntries(columns.map((column, i) => [column, number(row[i])])))));
    });
  }

  const links = new Map(findAll("nav li a").map((link) => [link.getAttribute("href").slice(1), link]));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const section of findAll("main > section")) watch.observe(section);

  addSortButtons(document);
  findAll("noscript").slice(0, BUILT_AT_ONCE).forEach(build);
  addEventListener("popstate", restore);
  restore();
  whenIdle(buildRest);
});
