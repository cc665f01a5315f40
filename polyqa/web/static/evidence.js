// The answer with its marks, the readings, the tree, the passages; a mark leads to its passage and back.

import { counted, h } from "./dom.js";
import { tree } from "./tree.js";

let made = 0;
const COVERAGE = {
  Useful: "Every reading that was looked for is answered by the passages.",
  PartialUseful: "The passages answer some of the readings that were looked for.",
  Useless: "The passages answer none of the readings that were looked for.",
};

/** Return what a result says. */
export function evidence(result) {
  const name = `evidence-${++made}`;
  const open = (number, from) => reveal(document.getElementById(`${name}-${number}`), from);
  const mark = (number) =>
    h(
      "button",
      { type: "button", class: "cite", "aria-label": `Show passage ${number}`, onclick: (event) => open(number, event.currentTarget) },
      `[${number}]`,
    );
  const cited = result.evidence.filter((one) => one.cited);
  const rest = result.evidence.filter((one) => !one.cited);
  const shown = (one) => passage(one, result.passages[one.number - 1], `${name}-${one.number}`);
  return h(
    "div",
    {},
    result.cautions.map((text) => h("p", { class: "caution" }, text)),
    h("p", { class: "text" }, result.pieces.map((piece) => ("text" in piece ? joined(piece.text) : piece.cites.map(mark)))),
    result.coverage ? h("p", { class: "quiet" }, COVERAGE[result.coverage] ?? result.coverage) : null,
    result.interpretations.length ? h("h3", {}, "Readings") : null,
    h("ol", { class: "cards" }, result.interpretations.map((one, at) => reading(one, at + 1, result, mark))),
    result.tree ? [h("h3", {}, "Tree of clarifications"), tree(result.tree)] : null,
    result.evidence.length ? h("h3", {}, "Passages") : null,
    cited.map(shown),
    rest.length ? h("details", {}, h("summary", {}, `${counted(rest.length, "more passage")}, not cited`), rest.map(shown)) : null,
    result.evidence.length ? null : h("p", { class: "quiet" }, "This program looks nothing up: the answer is what the language model remembers."),
  );
}

/** Keep a mark and the full stop after it on one line. */
function joined(text) {
  return /^[.,;:!?)]/.test(text) ? `\u2060${text}` : text;
}

function reading(one, number, result, mark) {
  const own = result.evidence.find(({ readings }) => readings.includes(number));
  const sure = result.confidence[number - 1];
  return h(
    "li",
    { class: "card" },
    h("p", { class: "of" }, one.question),
    h("p", { class: "short" }, one.answer),
    own ? h("p", { class: "snippet" }, mark(own.number), " ", snippet(own.text, number)) : h("p", { class: "quiet" }, "No passage says so."),
    sure === null || sure === undefined ? null : h("p", { class: "quiet" }, `likely right: ${Math.round(100 * sure)}%`),
  );
}

const AROUND = 60;

/** Return the part of a passage around the answer of a reading. */
function snippet(parts, number) {
  const at = parts.findIndex((part) => part.mark && part.readings.includes(number));
  if (at < 0) return cut(parts.map((part) => part.text).join(""), 2 * AROUND, false);
  const before = parts.slice(0, at).map((part) => part.text).join("");
  const after = parts.slice(at + 1).map((part) => part.text).join("");
  return ["…", cut(before, AROUND, true), h("mark", {}, parts[at].text), cut(after, AROUND, false), "…"];
}

function cut(text, most, end) {
  const letters = [...text];
  return (end ? letters.slice(-most) : letters.slice(0, most)).join("");
}

function passage(one, { pid, score }, id) {
  const marked = (parts) => parts.map((part) => (part.mark ? h("mark", {}, part.text) : part.text));
  return h(
    "article",
    { class: "passage", id, tabindex: -1 },
    h("h4", {}, `[${one.number}] `, one.title.length ? marked(one.title) : pid),
    h("p", {}, marked(one.text)),
    h("p", { class: "quiet" }, `${pid} · score ${score.toFixed(3)} `),
  );
}

/** Go to a passage, and leave a button there that goes back. */
function reveal(target, from) {
  const folded = target.closest("details");
  if (folded) folded.open = true;
  target.querySelector(".back")?.remove();
  const back = h("button", { type: "button", class: "plain small back", onclick: () => (back.remove(), from.focus()) }, "Back to the answer");
  target.append(back);
  target.focus();
  target.scrollIntoView({ block: "center" });
  target.classList.remove("seen");
  requestAnimationFrame(() => target.classList.add("seen"));
}
