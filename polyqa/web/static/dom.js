// Elements are made here and nowhere else. Strings become text nodes, so nothing that a corpus holds is ever markup.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** A short-lived mark on what was jumped to; it needs `tabindex` to take the focus. */
export function jumpTo(element) {
  for (let above = element.parentElement; above; above = above.parentElement) {
    if (above.tagName === "DETAILS") above.open = true;
  }
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  element.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
  element.focus({ preventScroll: true });
  for (const other of document.querySelectorAll(".jumped")) other.classList.remove("jumped");
  element.classList.add("jumped");
}

let kept = [];
let last = "";
let timer = 0;

/** Tells a screen reader, politely: of what comes within half a second the last is read, and all that matters. */
export function announce(text, matters = false) {
  if (matters) kept.push(text);
  last = matters ? "" : text;
  timer ||= setTimeout(() => {
    byId("live").textContent = [...kept, last].filter(Boolean).join(" ");
    [kept, last, timer] = [[], "", 0];
  }, 500);
}
