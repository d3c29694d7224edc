"use strict";
/* Data arrive as classic scripts that call FL.add; a chunk is asked for once, when something needs it. */
const FL = (() => {
  const store = new Map(), waiting = new Map(), asked = new Set();
  const key = (name, part) => name + "/" + part;

  function add(name, part, text) {
    const k = key(name, part);
    store.set(k, JSON.parse(text));
    (waiting.get(k) || []).forEach((call) => call(store.get(k)));
    waiting.delete(k);
  }

  function load(name, part, file) {
    const k = key(name, part);
    if (store.has(k)) return Promise.resolve(store.get(k));
    return new Promise((resolve, reject) => {
      waiting.set(k, [...(waiting.get(k) || []), resolve]);
      if (asked.has(k)) return;
      asked.add(k);
      const element = document.createElement("script");
      element.src = file;
      element.onerror = () => { asked.delete(k); waiting.delete(k); reject(new Error(file + " is missing beside this page")); };
      document.body.append(element);
    });
  }

  /* The only way text gets onto the page: as text. */
  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children.flat(3)) {
      if (child === null || child === undefined || child === false) continue;
      node.append(child instanceof Node ? child : String(child));
    }
    return node;
  }

  function options(select, values, all) {
    select.replaceChildren(el("option", { value: "" }, all));
    for (const [value, count] of values) select.append(el("option", { value }, value + " (" + count.toLocaleString("en") + ")"));
  }

  function counts(values) {
    const found = new Map();
    for (const value of values) found.set(value, (found.get(value) || 0) + 1);
    return [...found].sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1));
  }

  function later(call, ms) {
    let timer = 0;
    return (...given) => { clearTimeout(timer); timer = setTimeout(() => call(...given), ms); };
  }

  return { add, load, el, options, counts, later };
})();
