"use strict";
/* The trajectory viewer: a list of which only the rows in sight exist, and one trajectory open beside it. */
(() => {
  const { el, options, counts, later } = FL;
  const list = document.getElementById("t-list");
  if (!list) return;
  const inner = document.getElementById("t-inner"), told = document.getElementById("t-count");
  const search = document.getElementById("t-search"), detail = document.getElementById("t-detail");
  const HEIGHT = 62, AROUND = 6;
  const facets = ["run", "dataset", "fault", "scope", "condition", "outcome", "caught", "backbone"];
  const labels = { run: "Run", dataset: "Data set", fault: "Fault", scope: "Scope", condition: "Condition", outcome: "Answer", caught: "Detection", backbone: "Backbone" };
  let data = null, size = 1, total = 0, texts = [], shown = [], at = -1, wanted = -1;
  const selects = {};

  function setUp(index) {
    data = index.columns;
    size = index.size;
    total = data.id.length;
    for (let i = 0; i < total; i++) texts.push([data.question[i], data.answer[i], data.id[i]].join(" ").toLowerCase());
    const place = document.getElementById("t-facets");
    for (const name of facets) {
      const values = counts(data[name]);
      if (values.length < 2) continue;
      const select = el("select", { id: "t-" + name });
      options(select, values, "all");
      select.addEventListener("change", filter);
      selects[name] = select;
      place.append(el("label", {}, labels[name], select));
    }
    filter();
    follow();
  }

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = Object.entries(selects).filter(([, select]) => select.value);
    shown = [];
    for (let i = 0; i < total; i++) {
      if (chosen.every(([name, select]) => data[name][i] === select.value) && words.every((word) => texts[i].includes(word))) shown.push(i);
    }
    at = shown.indexOf(wanted);
    inner.style.height = shown.length * HEIGHT + "px";
    list.scrollTop = at > 0 ? Math.max(0, (at - 1) * HEIGHT) : 0;
    told.textContent = shown.length.toLocaleString("en") + " of " + total.toLocaleString("en") + " trajectories";
    draw();
  }

  function draw() {
    const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - AROUND);
    const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / HEIGHT) + AROUND);
    const rows = [];
    for (let place = first; place < last; place++) rows.push(entry(place));
    inner.replaceChildren(...rows);
    list.setAttribute("aria-activedescendant", at >= first && at < last ? "t-row-" + shown[at] : "");
  }

  function entry(place) {
    const i = shown[place];
    const fault = data.fault[i] === "none" ? "clean" : data.fault[i] + " at " + data.injected[i];
    const row = el("div", { class: "t-row", role: "option", id: "t-row-" + i, "aria-selected": place === at, "aria-setsize": shown.length, "aria-posinset": place + 1, onclick: () => open(place) },
      el("span", { class: "t-question" }, data.question[i]),
      el("span", { class: "t-meta" }, data.dataset[i], el("span", { class: "chip" }, fault),
        el("span", { class: "chip o-" + slug(data.outcome[i]) }, data.outcome[i]),
        el("span", { class: "chip c-" + slug(data.caught[i]) }, data.caught[i])));
    row.style.top = place * HEIGHT + "px";
    return row;
  }

  const slug = (text) => String(text).replace(/[^a-z]+/g, "-");

  function open(place, quietly) {
    if (place < 0 || place >= shown.length) return;
    at = place;
    const i = wanted = shown[place];
    const top = place * HEIGHT;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + HEIGHT - list.clientHeight;
    draw();
    const part = Math.floor(i / size);
    FL.load("trajectories", part, "data/trajectories-" + part + ".js").then((records) => {
      if (wanted !== i) return;
      FLView.show(detail, records[i % size], related(i), openIndex);
      if (quietly) return;
      try { history.replaceState(null, "", "#trajectory=" + encodeURIComponent(data.run[i] + "|" + data.id[i] + "|" + data.condition[i])); } catch { /* some browsers refuse it on disk */ }
      if (detail.getBoundingClientRect().top > innerHeight - 80) detail.scrollIntoView({ block: "start" });
    }).catch((error) => { detail.replaceChildren(el("p", { class: "warn" }, error.message)); });
  }

  function openIndex(i) {
    if (!shown.includes(i)) {
      search.value = "";
      for (const name in selects) selects[name].value = "";
      wanted = i;
      filter();
    }
    open(shown.indexOf(i));
  }

  /* Other trajectories of the same question in the same run. */
  function related(i) {
    const found = [];
    for (let j = 0; j < total && found.length < 12; j++) {
      if (j !== i && data.task[j] === data.task[i] && data.run[j] === data.run[i]) found.push([j, data.condition[j], data.outcome[j], data.caught[j]]);
    }
    return found;
  }

  function follow() {
    const named = location.hash.match(/^#trajectory=(.*)$/);
    if (!named) { if (total) open(0, true); return; }
    let name = "";
    try { name = decodeURIComponent(named[1]); } catch { /* a broken link opens nothing */ }
    for (let i = 0; i < total; i++) {
      if (data.run[i] + "|" + data.id[i] + "|" + data.condition[i] === name) {
        document.getElementById("trajectories").scrollIntoView();
        return openIndex(i);
      }
    }
    if (total) open(0, true);
  }

  list.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  list.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(list.clientHeight / HEIGHT) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: page, PageUp: -page, Home: -shown.length, End: shown.length };
    if (event.key === "Enter") { event.preventDefault(); detail.focus(); return; }
    if (!(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    open(Math.min(shown.length - 1, Math.max(0, at + steps[event.key])));
  });
  detail.addEventListener("keydown", (event) => { if (event.key === "Escape") list.focus(); });
  search.addEventListener("input", later(filter, 120));
  addEventListener("resize", later(draw, 100));
  FL.load("index", 0, "data/index.js").then(setUp).catch((error) => { told.textContent = error.message; });
})();
