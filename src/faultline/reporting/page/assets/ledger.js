"use strict";
/* The ledger: searched, filtered and sorted in the page. */
(() => {
  const { el, options, counts, later } = FL;
  const body = document.getElementById("ledger-body");
  if (!body) return;
  const search = document.getElementById("ledger-search"), told = document.getElementById("ledger-count");
  const filters = { paper: "ledger-paper", kind: "ledger-kind", status: "ledger-status" };
  for (const name in filters) filters[name] = document.getElementById(filters[name]);
  const surprising = document.getElementById("ledger-unexpected");
  let rows = [], order = "", down = false;

  function row(claim) {
    const ours = claim.ours ? [el("b", {}, claim.ours), claim.interval ? " " + claim.interval : ""] : "–";
    const who = [claim.backbone, claim.n].filter(Boolean).join(", n = ");
    return el("tr", { id: "claim-" + claim.paper + "-" + claim.id },
      el("td", { "data-label": "Paper" }, claim.paper),
      el("td", { "data-label": "Where" }, claim.where, el("small", { class: "id" }, claim.id)),
      el("td", { "data-label": "Claim", class: "wide" }, claim.text,
        claim.why && el("details", { class: "why" }, el("summary", {}, "why"), claim.why)),
      el("td", { "data-label": "Published", class: "number" }, claim.printed || "–"),
      el("td", { "data-label": "Ours", class: "number" }, ours, who && el("small", {}, who)),
      el("td", { "data-label": "Kind" }, claim.kind.replace("_", " ")),
      el("td", { "data-label": "Status" },
        el("span", { class: "status s-" + claim.status }, claim.status.replace("_", " ")),
        claim.unexpected && el("small", { class: "warn" }, "unexpected")));
  }

  function show() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { claim, text, node } of rows) {
      const fits = words.every((word) => text.includes(word)) && (!surprising.checked || claim.unexpected)
        && Object.entries(filters).every(([name, select]) => !select.value || claim[name] === select.value);
      node.hidden = !fits;
      shown += fits;
    }
    told.textContent = shown.toLocaleString("en") + " of " + rows.length.toLocaleString("en") + " claims";
  }

  function sort(name) {
    down = order === name ? !down : false;
    order = name;
    const value = (entry) => (name === "printed" ? entry.claim.number : entry.claim[name]);
    const compare = (a, b) => {
      const x = value(a), y = value(b);
      if (x === null || y === null) return (x === null) - (y === null);
      return (x < y ? -1 : x > y ? 1 : a.at - b.at) * (down ? -1 : 1);
    };
    const sorted = [...rows].sort(compare);
    body.replaceChildren(...sorted.map((entry) => entry.node));
    document.querySelectorAll("#ledger-table th button").forEach((button) => {
      const own = button.dataset.sort === name;
      button.parentElement.setAttribute("aria-sort", own ? (down ? "descending" : "ascending") : "none");
    });
  }

  FL.load("ledger", 0, "data/ledger.js").then((claims) => {
    rows = claims.map((claim, at) => ({
      claim, at, node: row(claim),
      text: [claim.paper, claim.id, claim.where, claim.text, claim.printed, claim.why, claim.status, claim.kind].join(" ").toLowerCase(),
    }));
    body.replaceChildren(...rows.map((entry) => entry.node));
    for (const name in filters) options(filters[name], counts(claims.map((c) => c[name])), "all");
    show();
  }).catch((error) => { told.textContent = error.message; });

  search.addEventListener("input", later(show, 120));
  for (const name in filters) filters[name].addEventListener("change", show);
  surprising.addEventListener("change", show);
  document.querySelectorAll("#ledger-table th button").forEach((button) => button.addEventListener("click", () => sort(button.dataset.sort)));
  document.querySelectorAll("[data-status]").forEach((link) => link.addEventListener("click", () => {
    filters.status.value = link.dataset.status;
    filters.paper.value = link.dataset.paper || "";
    show();
  }));
})();
