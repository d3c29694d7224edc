"use strict";
/* One trajectory: its track, the edit, its stages and passages, what diagnosers said, a review chain's envelopes. */
const FLView = (() => {
  const { el } = FL;
  const SIGNALS = [["sfv", "SFV"], ["csct", "CSCT"], ["cpm", "CPM"], ["p", "trigger"]];
  const number = (x) => (x === null || x === undefined ? "–" : Number(x).toFixed(2));
  const section = (title, ...content) => el("section", {}, el("h4", {}, title), ...content);

  function show(place, t, related, open) {
    const parts = [head(t), track(t), edit(t), diagnosers(t), envelopes(t),
      section("Stages", t.stages.map((stage, i) => stageBlock(t, stage, i))),
      others(related, open), el("p", { class: "id" }, t.run, " · ", t.id)];
    place.replaceChildren(...parts.filter(Boolean));
    place.scrollTop = 0;
  }

  function head(t) {
    const chips = [t.dataset, t.condition, "backbone " + t.backbone, t.route ? "route " + t.route : "", t.type ? "type " + t.type : ""];
    return el("header", {},
      el("h3", {}, t.question),
      el("p", { class: "chips" }, chips.filter(Boolean).map((c) => el("span", { class: "chip" }, c))),
      el("dl", { class: "facts" },
        el("div", {}, el("dt", {}, "Answer"), el("dd", {}, t.answer === null ? el("em", {}, "none: " + (t.missing || "not given")) : t.answer)),
        el("div", {}, el("dt", {}, "Accepted"), el("dd", {}, t.accepted.length ? t.accepted.join(" · ") : "not stored")),
        el("div", {}, el("dt", {}, "Outcome"), el("dd", {}, t.outcome)),
        el("div", {}, el("dt", {}, "Detection"), el("dd", {}, t.caught, t.first ? ", first flag at stage " + t.first : ""))));
  }

  function track(t) {
    const cards = t.stages.map((stage, i) => {
      const index = i + 1, injected = t.injected === index, first = t.first === index;
      const marks = [injected && el("span", { class: "mark injected" }, "fault enters"), first && el("span", { class: "mark flag" }, "first flag"),
        stage.flagged && !first && el("span", { class: "mark again" }, "flag")];
      return el("li", { class: "card" + (injected ? " is-injected" : "") + (stage.flagged ? " is-flagged" : "") },
        el("a", { href: "#t-stage-" + index, onclick: (event) => { event.preventDefault(); const s = document.getElementById("t-stage-" + index); s.open = true; s.scrollIntoView({ block: "nearest" }); s.firstChild.focus(); } },
          index + " · " + stage.kind.replace("_", " ")),
        el("div", { class: "marks" }, marks),
        SIGNALS.filter(([key]) => stage[key] !== undefined).map(([key, label]) => meter(label, stage[key], key === "p" ? t.theta : null)));
    });
    const scored = t.stages.some((stage) => stage.p !== undefined);
    return section("Track", el("ol", { class: "track" }, cards),
      scored && el("p", { class: "hint" }, "Anomalies in [0, 1]; the trigger fires at ", number(t.theta), " (the tick)."));
  }

  function meter(label, value, theta) {
    const known = value !== null;
    const fill = el("span", { class: "fill" + (theta !== null && known && value >= theta ? " over" : "") });
    fill.style.width = (known ? Math.max(0, Math.min(1, value)) * 100 : 0) + "%";
    const bar = el("span", { class: "bar" + (known ? "" : " absent") }, fill);
    if (theta !== null && theta !== undefined) {
      const tick = el("span", { class: "tick" });
      tick.style.left = theta * 100 + "%";
      bar.append(tick);
    }
    return el("div", { class: "meter" }, el("span", {}, label), bar, el("span", { class: "number" }, number(value)));
  }

  const runs = (pieces) => pieces.map(([kind, text]) => (kind === "same" ? text : el(kind === "out" ? "del" : "ins", {}, text)));

  function edit(t) {
    const c = t.certificate;
    if (!c) return section("Fault", el("p", { class: "hint" }, "None: this is a clean run."));
    const facts = [["fault", c.fault], ["cascade type", c.cascade_type], ["scope", c.scope], ["enters at", "stage " + c.stage], ["in", c.target], ["made by", c.generator], ["value lent by", c.donor || "–"]];
    return section("Fault",
      el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
      c.edits.length ? el("ul", { class: "edits" }, c.edits.map((e) => el("li", {}, el("code", {}, e.where + " @" + e.start), " ", el("del", {}, e.before), " ", el("ins", {}, e.after)))) : null);
  }

  function stageBlock(t, stage, i) {
    const index = i + 1;
    const value = stage.value === null ? (stage.missing ? "none (" + stage.missing + ")" : "none") : stage.value;
    const about = [["value", value], ["confidence", stage.confidence === null ? "none stated" : number(stage.confidence) + " (" + stage.source + ")"]];
    const scores = Object.entries(stage.scores || {}).filter(([, v]) => v !== null);
    return el("details", { class: "stage", id: "t-stage-" + index, open: index === t.injected || index === t.first || (index === 1 && !t.injected) || index === t.stages.length },
      el("summary", {}, el("b", {}, index + " · " + stage.kind.replace("_", " ")), stage.flagged ? el("span", { class: "mark flag" }, "flag") : null,
        t.injected === index ? el("span", { class: "mark injected" }, "fault enters") : null, el("span", { class: "peek" }, stage.text)),
      stage.query ? el("p", { class: "query" }, el("span", {}, "searched for "), stage.query) : null,
      el("blockquote", {}, stage.text || el("em", {}, "no text")),
      el("dl", { class: "facts" }, [...about, ...scores.map(([name, v]) => [name, number(v)])].map(([name, v]) => el("div", {}, el("dt", {}, name), el("dd", {}, v)))),
      stage.hits.length ? el("ol", { class: "hits" }, stage.hits.map(hit)) : null);
  }

  function hit(passage) {
    return el("li", {}, el("details", { open: passage.changed },
      el("summary", {}, el("span", { class: "number" }, passage.rank + "."), " ", runs(passage.title).length ? runs(passage.title) : passage.id,
        passage.changed ? el("span", { class: "mark injected" }, "edited") : null, el("span", { class: "number score" }, number(passage.score))),
      el("p", {}, runs(passage.text))));
  }

  function diagnosers(t) {
    if (!t.said.length) return null;
    const truth = t.case.depth;
    const body = t.said.map((s) => el("tr", { class: s.said_hop === truth ? "right" : "" },
      el("td", {}, s.system, s.needs_gold ? el("small", {}, " sees gold") : null),
      el("td", { class: "number" }, s.said_hop ? s.said_hop : "none"),
      el("td", {}, s.said_hop === truth ? "right" : s.said_hop ? "wrong" : s.reason || "named none"),
      el("td", { class: "number" }, number(s.confidence)), el("td", { class: "number" }, s.probes), el("td", { class: "number" }, s.tokens)));
    return section("Which hop? The fault entered at hop " + truth,
      el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ["diagnoser", "hop", "", "confidence", "probes", "tokens"].map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, body))));
  }

  function envelopes(t) {
    const chain = t.envelopes || [];
    if (!chain.length) return null;
    return section("Review chain", el("ol", { class: "chain" }, chain.map((e) => el("li", {},
      el("p", { class: "chips" }, el("span", { class: "chip" }, e.from), "→", el("span", { class: "chip" }, e.to), e.note ? el("span", { class: "chip" }, e.note) : null),
      el("blockquote", {}, e.text), e.whisper ? el("p", { class: "query" }, el("span", {}, "whispered to the next agent: "), e.whisper) : null,
      e.raw ? el("details", {}, el("summary", {}, "envelope"), el("pre", {}, e.raw)) : null))));
  }

  function others(related, open) {
    if (!related.length) return null;
    return section("The same question elsewhere in this run", el("ul", { class: "others" }, related.map(([i, condition, outcome, caught]) =>
      el("li", {}, el("button", { type: "button", class: "link", onclick: () => open(i) }, condition), " ", outcome, ", ", caught))));
  }

  return { show };
})();
