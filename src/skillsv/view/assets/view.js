// The script of the live page. All text of skills, tasks and agents is set as text: nothing here is parsed as markup.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const byId = (id) => document.getElementById(id);
  const make = (name, text = "", attributes = {}) => {
    const element = document.createElement(name);
    element.textContent = text;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const ask = async (address, options) => {
    byId("message").textContent = "";
    try {
      const answer = await fetch(address, options);
      const data = await answer.json();
      if (!answer.ok) throw new Error(data.error || `error ${answer.status}`);
      return data;
    } catch (error) {
      byId("message").textContent = error.message;
      return null;
    }
  };
  const number = new Intl.NumberFormat("en");
  const time = (seconds) => (seconds == null ? "" : seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`);

  // The table of runs: one row for each run, changed in place when an event says so.
  const body = byId("runs").tBodies[0];
  const rows = new Map();
  const chosen = () => [...body.querySelectorAll("input:checked")].map((box) => box.closest("tr").dataset.run);
  const makeRow = (run) => {
    const row = make("tr", "", { "data-run": run.id });
    for (let cell = 0; cell < 10; cell += 1) row.append(make("td"));
    const box = make("input", "", { type: "checkbox", "aria-label": `Compare ${run.skill} ${run.path}` });
    box.addEventListener("change", () => { byId("compare").disabled = chosen().length !== 2; });
    row.cells[0].append(box);
    row.cells[4].append(make("progress", "", { "aria-label": "Rollouts of the forecast" }), make("span"));
    const report = make("a", "Report", { href: `run/${run.id}/report`, target: "_blank", rel: "noopener noreferrer" });
    const transcripts = make("button", "Transcripts", { type: "button" });
    transcripts.addEventListener("click", () => openTranscripts(run.id));
    const stop = make("button", "Stop", { type: "button", class: "stop" });
    stop.addEventListener("click", async () => {
      stop.disabled = true;
      if (!(await ask(`run/${run.id}/stop`, { method: "POST" }))) stop.disabled = false;
    });
    const matrix = make("a", "Matrix", { href: `run/${run.id}/matrix`, target: "_blank", rel: "noopener noreferrer", class: "matrix" });
    row.cells[9].append(report, matrix, transcripts, stop);
    rows.set(run.id, row);
    return row;
  };
  const showRun = (run) => {
    const row = rows.get(run.id) || makeRow(run);
    const cells = row.cells;
    cells[1].replaceChildren(make("span", run.skill), make("span", run.path, { class: "path" }));
    cells[2].textContent = run.agent;
    cells[3].textContent = run.state;
    cells[3].className = run.state;
    const [bar, words] = cells[4].children;
    bar.max = Math.max(run.forecast, run.scored, 1);
    bar.value = run.state === "finished" ? bar.max : run.scored;
    words.textContent = ` ${number.format(run.scored)}${run.state === "running" && run.forecast ? ` of about ${number.format(run.forecast)}` : ""}`;
    cells[5].textContent = run.rate == null ? "" : number.format(run.rate);
    cells[6].textContent = time(run.left);
    cells[7].textContent = [run.tokens ? `${number.format(run.tokens)} tokens` : "", run.usd == null ? "" : `$${run.usd.toFixed(2)}`].filter(Boolean).join(", ");
    cells[8].textContent = Object.entries(run.failures).map(([kind, count]) => `${kind}: ${count}`).join(", ");
    const stop = row.querySelector(".stop");
    if (stop.hidden) stop.disabled = false;
    stop.hidden = run.state !== "running";
    stop.textContent = run.stops_matrix ? "Stop matrix" : "Stop";
    stop.title = run.stops_matrix ? "Ends the matrix: all of its agents" : "";
    row.querySelector(".matrix").hidden = !run.matrix;
    if (!row.isConnected) body.append(row);
  };
  const events = new EventSource("events");
  events.addEventListener("open", () => { byId("state").textContent = "live"; });
  events.addEventListener("error", () => { byId("state").textContent = "no connection; trying again"; });
  events.addEventListener("message", (event) => {
    const { runs, gone } = JSON.parse(event.data);
    for (const run of runs) showRun(run);
    for (const id of gone) { rows.get(id)?.remove(); rows.delete(id); }
    byId("none").hidden = rows.size > 0;
    byId("compare").disabled = chosen().length !== 2;
    markGone();
  });

  // What the sections below show was read before; they say where a run of theirs is gone since then.
  const sources = { comparison: [], transcripts: [] };
  const describe = (id) => ({ id, skill: rows.get(id)?.cells[1].firstChild.textContent ?? "", path: rows.get(id)?.querySelector(".path").textContent ?? "" });
  const markGone = () => {
    for (const [section, runs] of Object.entries(sources)) {
      const gone = runs.filter((run) => !rows.has(run.id)).map((run) => run.path);
      const sentence = `${gone.join(" and ")} ${gone.length > 1 ? "are" : "is"} not here any more: what is shown was read before.`;
      const place = byId(`${section}-gone`);
      place.hidden = !gone.length;
      if (gone.length && place.textContent !== sentence) place.textContent = sentence;
    }
  };

  byId("compare").addEventListener("click", async () => {
    const [first, second] = chosen().map(describe);
    const found = await ask(`compare/${first.id}/${second.id}`);
    if (!found) return;
    sources.comparison = [first, second];
    markGone();
    byId("comparison").hidden = false;
    byId("comparison-words").textContent = `First: ${first.path}. Second: ${second.path}. Lift ${found.lift[0]} and ${found.lift[1]}; change of the whole skill's score ${found.score_change}. ` +
      `Tokens ${number.format(found.tokens[0])} and ${number.format(found.tokens[1])}. Cost: ${found.cost[0]}; ${found.cost[1]}.` + (found.same_tasks ? "" : " The runs were valued on different tasks.");
    byId("comparison-units").tBodies[0].replaceChildren(...found.units.map((unit) => {
      const row = make("tr");
      row.append(make("td", unit.unit), make("td", unit.first ?? "–"), make("td", unit.second ?? "–"), make("td", unit.change ?? "–", unit.real ? { class: "real" } : {}));
      return row;
    }));
    const kind = (line) => (/^(\+\+\+|---) /.test(line) ? "" : { "+": "added", "-": "removed" }[line[0]] ?? "");
    const lines = found.diff.length ? found.diff : ["Nothing: both runs have the same files."];
    byId("comparison-diff").replaceChildren(...lines.map((line) => make("span", `${line}\n`, { class: kind(line) })));
    byId("comparison").scrollIntoView();
  });

  // Transcripts: a virtual list. Only the rows in sight are fetched and shown.
  const HEIGHT = 30, SHOWN = 40, PAGE = 100;
  const list = byId("list");
  const state = { run: "", total: 0, pages: new Map(), searched: null, tree: "", open: null, version: 0 };
  const query = (more) => {
    const values = { task: byId("task").value, outcome: byId("outcome").value, q: byId("words").value.trim(), tree: byId("same-skill").getAttribute("aria-pressed") === "true" ? state.tree : "", ...more };
    return new URLSearchParams(Object.entries(values).filter(([, value]) => value !== "" && value != null).map(([key, value]) => [key, String(value)]));
  };
  const rowAt = (place) => (state.searched ? state.searched[place] : state.pages.get(Math.floor(place / PAGE))?.[place % PAGE]);
  const draw = () => {
    const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - 5);
    const last = Math.min(state.total, first + SHOWN);
    byId("space").style.setProperty("height", `${state.total * HEIGHT}px`);
    byId("window").style.setProperty("top", `${first * HEIGHT}px`);
    const shown = [];
    for (let place = first; place < last; place += 1) {
      const row = rowAt(place);
      const button = make("button", "", { type: "button", "aria-pressed": String(row != null && row.id === state.open) });
      if (row) {
        const outcome = row.failure ? "failed" : row.score >= 1 ? "right" : row.score <= 0 ? "wrong" : "partly";
        button.append(make("span", `#${row.id}`), make("span", row.task), make("span", outcome, { class: outcome }), make("span", `${row.seconds.toFixed(1)} s`), make("span", row.command));
        button.addEventListener("click", () => openRollout(row));
      }
      shown.push(button);
    }
    byId("window").replaceChildren(...shown);
    if (!state.searched) for (let page = Math.floor(first / PAGE); page * PAGE < last; page += 1) if (!state.pages.has(page)) fetchPage(page);
  };
  const fetchPage = async (page) => {
    const version = state.version;
    state.pages.set(page, []);
    const found = await ask(`run/${state.run}/rollouts?${query({ offset: page * PAGE, limit: PAGE })}`);
    if (!found || version !== state.version) return;
    state.pages.set(page, found.rows);
    state.total = found.total;
    byId("found").textContent = `${number.format(found.total)} rollouts`;
    draw();
  };
  const search = async (before) => {
    const version = state.version;
    byId("found").textContent = "searching";
    const found = await ask(`run/${state.run}/rollouts?${query({ offset: before })}`);
    if (!found || version !== state.version) return;
    state.searched = [...(before ? state.searched : []), ...found.rows];
    state.total = state.searched.length;
    byId("found").textContent = `${number.format(state.total)} rollouts hold these words`;
    byId("more").hidden = !found.next;
    byId("more").dataset.before = found.next ?? "";
    draw();
  };
  const restart = () => {
    Object.assign(state, { total: 0, pages: new Map(), searched: null, version: state.version + 1 });
    byId("more").hidden = true;
    list.scrollTop = 0;
    draw();
    if (byId("words").value.trim()) search(0); else fetchPage(0);
  };
  const openTranscripts = async (run) => {
    Object.assign(state, { run, tree: "", open: null });
    const described = describe(run);
    sources.transcripts = [described];
    markGone();
    byId("transcripts-title").replaceChildren(`Transcripts of ${described.skill} `, make("span", described.path, { class: "path" }));
    byId("same-skill").disabled = true;
    byId("same-skill").setAttribute("aria-pressed", "false");
    byId("detail").replaceChildren();
    byId("words").value = "";
    byId("transcripts").hidden = false;
    const tasks = (await ask(`run/${run}/tasks`)) || [];
    byId("task").replaceChildren(make("option", "all tasks", { value: "" }), ...tasks.map((task) => make("option", task.task, { value: task.task })));
    restart();
    byId("transcripts").scrollIntoView();
  };
  const openRollout = async (row) => {
    const found = await ask(`run/${state.run}/rollouts/${row.id}`);
    if (!found) return;
    Object.assign(state, { tree: found.tree, open: row.id });
    byId("same-skill").disabled = false;
    const parts = found.coalition;
    const skill = !parts ? "The partial skill is not among the records." : parts.bare ? "The agent had no skill." : parts.without ? `The agent had ${parts.units} of ${parts.of} units (${parts.operator}), without ${parts.without}.` : "The agent had the whole skill.";
    byId("detail").replaceChildren(
      make("h3", `${found.task}: ${found.failure ? `failed (${found.failure})` : `score ${found.score}`}`), make("p", skill),
      ...(found.message ? [make("p", found.message)] : []),
      make("h3", "Answer"), make("pre", found.answer ?? "(not stored)", { tabindex: "0" }),
      ...(found.transcript ? [make("h3", "Transcript"), make("pre", found.transcript, { tabindex: "0" })] : []),
    );
    draw();
  };
  let waiting;
  list.addEventListener("scroll", () => requestAnimationFrame(draw));
  byId("task").addEventListener("change", restart);
  byId("outcome").addEventListener("change", restart);
  byId("words").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(restart, 250); });
  byId("more").addEventListener("click", () => search(byId("more").dataset.before));
  byId("same-skill").addEventListener("click", () => {
    const pressed = byId("same-skill").getAttribute("aria-pressed") !== "true";
    byId("same-skill").setAttribute("aria-pressed", String(pressed));
    restart();
  });
});
