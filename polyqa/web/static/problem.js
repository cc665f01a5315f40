// What went wrong, as a sentence with what can be done about it.

import { h } from "./dom.js";

/** Shows an error; `again` is offered, and done by itself when a busy server has said when. Returns `{element, stop}`. */
export function problem(error, again) {
  const box = h("div", { class: "problem", role: "alert" }, h("p", {}, error.message));
  if (!["gone", "busy", "failed", "too_slow", "unauthorized"].includes(error.kind)) {
    return { element: box, stop() {} }; // asking the same once more would change nothing
  }
  let timer = 0;
  const stop = () => clearInterval(timer);
  const retry = h("button", { type: "button", class: "plain", onclick: () => { stop(); again(); } }, "Try again");
  const buttons = h("p", { class: "buttons" }, retry);
  if (error.kind === "busy" && error.retryAfter !== null) {
    let left = error.retryAfter;
    // The seconds are not read aloud one by one; the sentence above says how long it takes.
    const told = h("span", { class: "countdown", "aria-hidden": "true" });
    const tick = () => { told.textContent = `Asking again in ${left} s`; };
    const leave = h("button", {
      type: "button", class: "plain",
      onclick: () => { stop(); told.textContent = "It is not asked again."; leave.remove(); retry.focus(); },
    }, "Do not ask again");
    timer = setInterval(() => {
      left -= 1;
      tick();
      if (left <= 0) { stop(); again(); }
    }, 1000);
    tick();
    buttons.append(leave, told);
  }
  box.append(buttons);
  return { element: box, stop };
}
