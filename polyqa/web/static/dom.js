// Elements from plain values. Every text becomes a text node: nothing that comes from elsewhere is ever markup.

const NAMESPACE = "http://www.w3.org/2000/svg";
const SHAPES = new Set(["svg", "line", "rect", "path", "circle", "text", "g", "title"]);

/** Make an element: h("p", {class: "quiet", onclick: …}, "text", child, [more]). */
export function h(name, given = {}, ...children) {
  const made = SHAPES.has(name) && name !== "title" ? document.createElementNS(NAMESPACE, name) : document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** Put children in the place of all that an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Return a number with its noun: counted(1, "call") is "1 call". */
export function counted(number, noun, plural = `${noun}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}

/** Return seconds for people. */
export function seconds(value) {
  return value === null || value === undefined ? "–" : `${value.toFixed(value < 9.95 ? 1 : 0)} s`;
}
