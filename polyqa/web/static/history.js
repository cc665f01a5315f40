// What was asked in this browser; it stays in this browser.

import { byId, h } from "./dom.js";
import { keep, kept } from "./store.js";

const KEY = "polyqa.history";
const MOST = 50;
const same = (one, other) => ["q", "program", "index", "beside", "where"].every((name) => (one[name] ?? "") === (other[name] ?? ""));

export class History {
  constructor(askAgain) {
    this.askAgain = askAgain;
    this.element = byId("history");
    const list = kept(KEY, []);
    this.list = Array.isArray(list) ? list : [];
    this.draw();
  }

  add(entry) {
    this.set([entry, ...this.list.filter((one) => !same(one, entry))].slice(0, MOST));
  }

  set(list) {
    this.list = list;
    keep(KEY, list);
    this.draw();
  }

  draw() {
    const { list } = this;
    this.element.hidden = !list.length;
    const open = this.element.querySelector("details")?.open ?? false;
    let sure = false;
    const clear = h("button", {
      type: "button", class: "small",
      onclick: () => {
        if (sure) {
          this.set([]);
          byId("question").focus();
        }
        sure = true;
        clear.textContent = "Really clear all?";
      },
      onblur: () => {
        sure = false;
        clear.textContent = "Clear";
      },
    }, "Clear");
    this.element.replaceChildren(h("details", { open },
      h("summary", {}, h("h2", { id: "history-title" }, "Asked before"), h("span", { class: "muted" }, ` ${list.length}`)),
      h("ul", { class: "asked" }, list.map((one) => h("li", {},
        h("button", { type: "button", class: "asked-again", "aria-label": `Ask again: ${one.q}`, onclick: () => this.askAgain(one) },
          h("span", {}, one.q),
          h("span", { class: "muted" }, [one.beside ? `${one.program} and ${one.beside}` : one.program, one.index, one.where].filter(Boolean).join(" · "))),
        h("button", {
          type: "button", class: "small", "aria-label": `Forget: ${one.q}`,
          onclick: () => {
            this.set(this.list.filter((other) => other !== one));
            (this.element.querySelector("summary") ?? byId("question")).focus();
          },
        }, "Forget")))),
      h("p", { class: "asked-foot" }, clear, h("span", { class: "muted" }, "Kept in this browser only."))));
  }
}
