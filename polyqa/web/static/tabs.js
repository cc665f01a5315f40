// Tabs as the ARIA practices have them: arrow keys move, Home and End jump.

import { h } from "./dom.js";

let made = 0;

/** Return tabs over panels: tabs("Answer", [["Answer", element], …]). */
export function tabs(label, panels) {
  const name = `tabs-${++made}`;
  const buttons = panels.map(([title], at) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `${name}-${at}`,
        "aria-controls": `${name}-${at}-panel`,
        "aria-selected": at === 0,
        tabindex: at === 0 ? 0 : -1,
        onclick: () => pick(at),
        onkeydown: move,
      },
      title,
    ),
  );
  const bodies = panels.map(([, body], at) =>
    h("div", { role: "tabpanel", id: `${name}-${at}-panel`, "aria-labelledby": `${name}-${at}`, hidden: at > 0, tabindex: 0 }, body),
  );

  function pick(chosen, focus = false) {
    buttons.forEach((button, at) => {
      button.setAttribute("aria-selected", String(at === chosen));
      button.tabIndex = at === chosen ? 0 : -1;
      bodies[at].hidden = at !== chosen;
    });
    if (focus) buttons[chosen].focus();
  }

  function move(event) {
    const at = buttons.indexOf(event.currentTarget);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    pick((to + buttons.length) % buttons.length, true);
  }

  buttons.forEach((button, at) => button.setAttribute("aria-selected", String(at === 0)));
  return h("div", { class: "tabs" }, h("div", { role: "tablist", "aria-label": label }, buttons), bodies);
}
