// Tabs after the ARIA pattern: one tab stop, arrow keys, Home and End; what is not looked at is drawn when it is.

import { h } from "./dom.js";

export function tabs(id, label, pages) {
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": label });
  const made = pages.map(({ name, draw }, at) => {
    const tab = h("button", {
      type: "button", role: "tab", id: `${id}-tab-${at}`, "aria-controls": `${id}-page-${at}`,
      onclick: () => show(at),
    }, name);
    const page = h("div", { class: "tab-page", role: "tabpanel", id: `${id}-page-${at}`, "aria-labelledby": tab.id });
    list.append(tab);
    return { tab, page, draw };
  });
  function show(chosen, focus = false) {
    made.forEach(({ tab, page, draw }, at) => {
      const on = at === chosen;
      if (on && !page.childElementCount) page.append(draw());
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      page.hidden = !on;
      if (on && focus) tab.focus();
    });
  }
  list.addEventListener("keydown", (event) => {
    const at = made.findIndex(({ tab }) => tab === document.activeElement);
    const last = made.length - 1;
    const to = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    show(to, true);
  });
  show(0);
  return { element: h("div", {}, list, made.map(({ page }) => page)), show };
}
