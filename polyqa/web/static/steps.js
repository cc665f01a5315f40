// The steps as they end. Calls of one kind that follow each other (a passage each) are one entry that counts.

import { h } from "./dom.js";
import { counted, seconds, wordsOf } from "./words.js";

const SHOWN = 3;
const DRAFT = 300; // characters

export class Steps {
  constructor() {
    this.list = h("ol", { class: "steps-list" });
    this.drafts = new Map();
    this.label = h("span", { class: "steps-label" }, "Asking…");
    this.clock = h("span", { class: "steps-clock", "aria-hidden": "true" });
    this.element = h("details", { class: "steps busy", open: true }, h("summary", {}, this.label, this.clock), this.list);
    const began = performance.now();
    this.timer = setInterval(() => {
      this.clock.textContent = ` ${Math.round((performance.now() - began) / 1000)} s`;
    }, 1000);
    this.count = 0;
    this.last = null;
  }

  say(text) {
    this.label.textContent = text;
  }

  /** Shows the end of what a call is writing, until its step ends. */
  write({ name, text }) {
    const draft = this.drafts.get(name) ?? { text: "", element: h("p", { class: "step-draft", "aria-hidden": "true" }) };
    draft.text = (draft.text + text).slice(-DRAFT);
    draft.element.textContent = draft.text;
    if (!this.drafts.has(name)) this.element.append(draft.element);
    this.drafts.set(name, draft);
  }

  add(step) {
    this.count += 1;
    this.drafts.get(step.name)?.element.remove();
    this.drafts.delete(step.name);
    const key = `${step.name}/${step.title}`;
    if (this.last?.key !== key) this.open(step, key);
    const entry = this.last;
    entry.times += 1;
    // Calls run beside each other: what counts is from the first one's start to the last one's end.
    entry.began = Math.min(entry.began, step.at - step.seconds);
    entry.ended = Math.max(entry.ended, step.at);
    entry.count.textContent = entry.times > 1 ? ` ×${entry.times}` : "";
    entry.time.textContent = seconds(Math.max(0, entry.ended - entry.began));
    const { told, lines } = wordsOf(step);
    const body = h(
      "div",
      { class: step.failed ? "step-told failed" : "step-told" },
      h("p", {}, told),
      lines.length ? h("ul", {}, lines.map((line) => h("li", {}, line))) : null,
    );
    if (entry.times <= SHOWN) entry.shown.append(body);
    else {
      entry.more ??= entry.shown.appendChild(h("details", { class: "step-more" }, h("summary", {})));
      entry.more.firstChild.textContent = `${entry.times - SHOWN} more`;
      entry.more.append(body);
    }
    this.say(`${step.title}…`);
  }

  open(step, key) {
    const count = h("span", { class: "step-count" });
    const time = h("span", { class: "step-time" });
    const shown = h("div", {});
    const head = h("p", { class: "step-head" }, h("span", { class: "step-title" }, step.title, count), time);
    this.list.append(h("li", { class: `step step-${step.kind}` }, head, shown));
    this.last = { key, times: 0, began: Infinity, ended: 0, count, time, shown, more: null };
  }

  end(text, { fold = false } = {}) {
    clearInterval(this.timer);
    for (const draft of this.drafts.values()) draft.element.remove();
    this.clock.textContent = "";
    this.element.classList.remove("busy");
    this.say(text);
    if (fold) this.element.open = false;
    if (!this.count) this.element.hidden = true;
  }

  told(total) {
    return `${counted(this.count, "step")} in ${seconds(total)}`;
  }
}
