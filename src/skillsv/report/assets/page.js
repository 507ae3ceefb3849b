// The page's only script. The page shows everything without it; it adds search, keyboard jumps, filters and saving.
(() => {
  "use strict";
  const find = (selector, from = document) => from.querySelector(selector);
  const findAll = (selector, from = document) => [...from.querySelectorAll(selector)];
  const root = document.documentElement;
  const units = findAll("details.unit");
  const search = find("#search");
  const filters = findAll("button[data-verdict]");
  const tabs = findAll("[role=tab]");
  const help = find("#help");
  const themes = ["", "light", "dark"];

  root.classList.add("js-on");
  for (const part of findAll(".js")) part.hidden = false;

  // The state is kept in the address: #anchor?q=words&verdict=a,b&file=file-2&theme=dark
  const read = () => {
    const [anchor, query = ""] = location.hash.slice(1).split("?");
    return { anchor: decodeURIComponent(anchor), query: new URLSearchParams(query) };
  };
  const write = (change) => {
    const { anchor, query } = read();
    for (const [name, value] of Object.entries(change)) {
      if (name === "anchor") continue;
      if (value) query.set(name, value); else query.delete(name);
    }
    const place = "anchor" in change ? change.anchor : anchor;
    const rest = query.toString();
    history.replaceState(null, "", `#${encodeURIComponent(place)}${rest ? `?${rest}` : ""}`);
  };

  const showFile = (id) => {
    for (const tab of tabs) {
      const chosen = tab.getAttribute("aria-controls") === id;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      find(`#${CSS.escape(tab.getAttribute("aria-controls"))}`).hidden = !chosen;
    }
  };
  const reveal = (element) => {
    const file = element.closest(".file");
    if (file && tabs.length) showFile(file.id);
    for (let box = element.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    element.scrollIntoView({ block: "start" });
  };

  const apply = () => {
    const query = search.value.trim().toLowerCase();
    const wanted = filters.filter((button) => button.getAttribute("aria-pressed") === "true").map((b) => b.dataset.verdict);
    let matches = 0;
    for (const unit of units) {
      const hasText = !query || find(".text", unit).textContent.toLowerCase().includes(query);
      const fits = hasText && (!wanted.length || wanted.includes(unit.dataset.verdict));
      unit.classList.toggle("dim", !fits);
      matches += fits;
    }
    find("#match-count").textContent = query || wanted.length ? `${matches} of ${units.length} units` : "";
  };
  const restore = () => {
    const { anchor, query } = read();
    search.value = query.get("q") || "";
    const verdicts = (query.get("verdict") || "").split(",");
    for (const button of filters) button.setAttribute("aria-pressed", String(verdicts.includes(button.dataset.verdict)));
    root.dataset.theme = themes.includes(query.get("theme")) ? query.get("theme") || "" : "";
    const file = tabs.find((tab) => tab.getAttribute("aria-controls") === query.get("file")) || tabs[0];
    if (file) showFile(file.getAttribute("aria-controls"));
    apply();
    const target = anchor && document.getElementById(anchor);
    if (target) reveal(target);
  };

  const fitting = () => units.filter((unit) => !unit.classList.contains("dim"));
  const step = (by) => {
    const list = fitting();
    if (!list.length) return;
    const here = list.indexOf(document.activeElement?.closest?.("details.unit"));
    const next = list[here < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, here + by))];
    if (tabs.length) showFile(next.closest(".file").id);
    find("summary", next).focus({ preventScroll: true });
    next.scrollIntoView({ block: "center" });
    write({ anchor: next.id });
  };
  const clear = () => {
    search.value = "";
    for (const button of filters) button.setAttribute("aria-pressed", "false");
    write({ q: "", verdict: "" });
    apply();
  };
  const nextTheme = () => {
    const next = themes[(themes.indexOf(root.dataset.theme || "") + 1) % themes.length];
    root.dataset.theme = next;
    write({ theme: next });
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") { if (!help.open) { clear(); document.activeElement?.blur?.(); } return; }
    if (event.target.closest("input, textarea, select, dialog")) return;
    const act = { j: () => step(1), k: () => step(-1), "/": () => search.focus(), "?": () => help.showModal(), t: nextTheme }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  document.addEventListener("click", (event) => {
    const summary = event.target.closest("details.unit > summary");
    // Selecting text inside a unit must not open or close it.
    if (summary && String(getSelection()) && summary.contains(getSelection().anchorNode)) { event.preventDefault(); return; }
    if (summary) { write({ anchor: summary.parentElement.open ? "" : summary.parentElement.id }); return; }
    const link = event.target.closest('a[href^="#"]');
    if (!link) return;
    const id = link.getAttribute("href").slice(1);
    const target = document.getElementById(id);
    if (!target) return;
    event.preventDefault();
    write({ anchor: id });
    reveal(target);
    (find("summary", target.matches("details") ? target : document.createElement("i")) || target).focus?.({ preventScroll: true });
  });
  search.addEventListener("input", () => { write({ q: search.value.trim() }); apply(); });
  for (const button of filters) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      write({ verdict: filters.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.verdict).join(",") });
      apply();
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
  find("#theme").addEventListener("click", nextTheme);
  find("#help-button").addEventListener("click", () => help.showModal());
  find("#help-close").addEventListener("click", () => help.close());

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
    const tables = findAll("table[data-export]", figure);
    const chain = (table) => (table.dataset.chain ? [table.dataset.chain] : []);
    const columns = [...(tables[0].dataset.chain ? ["chain"] : []), ...findAll("thead th", tables[0]).map((cell) => cell.textContent)];
    const cells = (row) => findAll("td", row).map((cell) => cell.textContent.trim());
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
      if (button.dataset.save === "csv") { save(`${name}.csv`, "text/csv", [columns, ...rows].map((row) => row.map(field).join(",")).join("\r\n")); return; }
      const number = (text) => (text !== "" && !isNaN(text) ? Number(text) : text);
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

  addEventListener("hashchange", restore);
  restore();
})();
