// One figure of why: question, candidates, passages kept, readings, what was dropped and why.

import { h } from "./dom.js";

export function drawWhy(stages) {
  return h("ol", { class: "why", "aria-label": "What each stage kept and dropped" }, stages.map((stage) =>
    h("li", { class: "why-stage" },
      h("h5", {}, stage.title),
      h("ul", {}, stage.items.map((item) => h("li", { class: item.kept ? "why-item" : "why-item left" },
        item.source ? h("span", { class: "source-number" }, `${item.source}`) : null, " ",
        h("span", {}, item.text),
        item.detail ? h("span", { class: "why-detail" }, item.detail) : null))))));
}
