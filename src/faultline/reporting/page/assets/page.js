"use strict";
/* Theme, the section that is being read, and one key: "/" goes to the nearest search field. */
(() => {
  const root = document.documentElement, button = document.getElementById("theme");
  const order = ["auto", "light", "dark"];
  const read = () => { try { return localStorage.getItem("faultline-theme") || "auto"; } catch { return "auto"; } };

  function show(theme) {
    if (theme === "auto") root.removeAttribute("data-theme"); else root.setAttribute("data-theme", theme);
    button.textContent = "Theme: " + theme;
    try { localStorage.setItem("faultline-theme", theme); } catch { /* a page from disk may have no storage */ }
  }
  show(order.includes(read()) ? read() : "auto");
  button.addEventListener("click", () => show(order[(order.indexOf(read()) + 1) % 3]));

  const links = [...document.querySelectorAll("nav a[href^='#']")];
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links) {
        if (link.getAttribute("href") === "#" + entry.target.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  document.querySelectorAll("main > section").forEach((section) => seen.observe(section));

  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
    const fields = [...document.querySelectorAll("input[type=search]")];
    const distance = (field) => Math.abs(field.getBoundingClientRect().top - innerHeight / 3);
    fields.sort((a, b) => distance(a) - distance(b));
    if (fields[0]) { event.preventDefault(); fields[0].focus(); }
  });

  addEventListener("beforeprint", () => document.querySelectorAll("details.prints").forEach((d) => { d.open = true; }));
})();
