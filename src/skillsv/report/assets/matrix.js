// The script of the matrix page. The page shows the whole table without it; it adds sorting, filters and the theme.
"use strict";
document.documentElement.classList.add("js-on");
document.addEventListener("DOMContentLoaded", () => {
  const findAll = (selector, from = document) => [...from.querySelectorAll(selector)];
  const root = document.documentElement;
  const filters = findAll("button[data-filter]");
  const units = findAll("tr.unit-row");
  const others = findAll("tr.other-row");
  const shown = document.getElementById("shown");
  const themes = ["", "light", "dark"];
  let filter = "";

  const matches = (row) => !filter || (filter === "differ" ? row.hasAttribute("data-differ") : row.dataset.pattern === filter);
  // Headings and other text belong to the order of the file: they are left out where only some lines show, or sorted.
  const refresh = () => {
    for (const row of units) row.hidden = !matches(row);
    for (const row of others) row.hidden = Boolean(filter) || row.closest("table").hasAttribute("data-sorted");
    for (const button of filters) button.setAttribute("aria-pressed", String(button.dataset.filter === filter));
    const count = units.filter((row) => !row.hidden).length;
    shown.textContent = filter ? `${count} of ${units.length} lines` : "";
  };
  for (const button of filters) button.addEventListener("click", () => { filter = filter === button.dataset.filter ? "" : button.dataset.filter; refresh(); });

  // A click on a column heading sorts by it: amounts as numbers, the largest first; a missing amount comes last.
  const key = (row, column) => {
    const cell = row.cells[column];
    if (!("share" in cell.dataset)) return cell.textContent.trim();
    return cell.dataset.share === "" ? NaN : Number(cell.dataset.share);
  };
  const order = (one, other) => (Number.isNaN(one) ? 1 : Number.isNaN(other) ? -1 : one < other ? -1 : one > other ? 1 : 0);
  for (const heading of findAll("table.heat thead th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const table = heading.closest("table"), column = heading.cellIndex;
      const first = heading.classList.contains("agent") ? "descending" : "ascending";
      const second = first === "ascending" ? "descending" : "ascending";
      const direction = heading.getAttribute("aria-sort") === first ? second : first;
      for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", direction);
      table.toggleAttribute("data-sorted", column > 0 || direction === "descending");
      const sign = direction === "ascending" ? 1 : -1;
      const compare = (one, other) => {
        const left = key(one, column), right = key(other, column);
        return Number.isNaN(left) || Number.isNaN(right) ? order(left, right) : sign * order(left, right);
      };
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
      refresh();
    });
  }

  document.getElementById("theme").addEventListener("click", () => {
    const next = themes[(themes.indexOf(root.dataset.theme || "") + 1) % themes.length];
    root.dataset.theme = next;
    document.getElementById("theme-name").textContent = next || "system";
  });
  refresh();
});
