// Two answers to one question: what both found, what only one did, what each took.

import { h } from "./dom.js";
import { COVERAGE, number, seconds } from "./words.js";

const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();

export function drawComparison([first, second]) {
  const answers = ({ result }) => new Map(result.interpretations.map((one) => [plain(one.answer), one.answer]));
  const [left, right] = [answers(first), answers(second)];
  const both = [...left.keys()].filter((key) => right.has(key));
  const only = (mine, others) => [...mine].filter(([key]) => !others.has(key)).map(([, answer]) => answer).join("; ") || "–";
  const row = (name, told) => h("tr", {}, h("th", { scope: "row" }, name), [first, second].map((one) => h("td", {}, told(one))));
  return h("section", { class: "comparison", "aria-labelledby": "comparison-title" },
    h("h3", { id: "comparison-title" }, "Side by side"),
    h("p", {}, both.length ? `Both give: ${both.map((key) => left.get(key)).join("; ")}.` : "They have no answer in common."),
    h("div", { class: "table-box", tabindex: 0, role: "group", "aria-label": "What each gave" }, h("table", {},
      h("thead", {}, h("tr", {}, h("td", {}), [first, second].map((one) => h("th", { scope: "col" }, one.asked.program)))),
      h("tbody", {},
        h("tr", {}, h("th", { scope: "row" }, "Only here"), h("td", {}, only(left, right)), h("td", {}, only(right, left))),
        row("Readings", ({ result }) => number(result.interpretations.length)),
        row("Sources", ({ result }) => number(result.evidence.filter((one) => one.cited).length)),
        row("Coverage", ({ result }) => COVERAGE[result.coverage] ?? "not checked"),
        row("Calls", ({ result }) => number(result.calls)),
        row("Tokens", ({ result }) => number(result.input_tokens + result.output_tokens)),
        row("Time", ({ result }) => seconds(result.seconds))))));
}
