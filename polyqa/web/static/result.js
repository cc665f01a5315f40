// An answer with its sources: marks that jump to the evidence and back, readings as cards, passages, the tree.

import { h, jumpTo } from "./dom.js";
import { bar, drawCosts, drawLog } from "./log.js";
import { tabs } from "./tabs.js";
import { drawTree } from "./tree.js";
import { COVERAGE, counted, number, percent, seconds } from "./words.js";

const AROUND = 150; // characters of a passage shown beside what is marked

/** Pieces of an answer as nodes; `mark(n)` makes the mark of passage n. */
export function drawPieces(pieces, mark) {
  return pieces.map((piece) =>
    piece.text !== undefined ? piece.text : h("span", { class: "marks" }, piece.cites.map(mark)));
}

export const plainMark = (n) => h("span", { class: "mark" }, `[${n}]`);

export function drawResult(result, id) {
  const shown = tabs(id, "About this answer", [
    { name: "Answer", draw: () => new Drawing(result, id).answer() },
    { name: "Prompts and replies", draw: () => drawLog(result.log) },
    { name: "Tokens and time", draw: () => drawCosts(result.log) },
  ]);
  return shown.element;
}

class Drawing {
  constructor(result, id) {
    this.result = result;
    this.id = id;
    this.cameFrom = null;
    this.numbers = new Map(result.passages.map((passage, at) => [passage.pid, at + 1]));
    this.sources = new Map();
    this.readings = [];
  }

  answer() {
    const { result } = this;
    const cited = result.evidence.filter((one) => one.cited);
    const others = result.evidence.filter((one) => !one.cited);
    for (const one of result.evidence) this.sources.set(one.number, this.source(one));
    this.readings = result.interpretations.map((one, at) => this.reading(one, at));
    return h("div", { class: "answer-page" },
      h("div", { class: "answer-main" },
        result.cautions.length ? h("div", { class: "cautions", role: "note" }, h("h4", {}, "Before you trust this"),
          h("ul", {}, result.cautions.map((one) => h("li", {}, one)))) : null,
        result.answer
          ? h("p", { class: "answer-text" }, drawPieces(result.pieces, (n) => this.mark(n)))
          : h("p", { class: "answer-text muted" }, "No answer was found. Ask in other words, or choose another program or index."),
        result.coverage ? h("p", { class: `coverage coverage-${result.coverage}` }, COVERAGE[result.coverage] ?? result.coverage) : null,
        h("p", { class: "took" }, this.took()),
        this.readings.length ? h("section", {}, h("h4", {}, counted(this.readings.length, "reading")), h("ol", { class: "readings" }, this.readings)) : null,
        result.tree ? h("section", {}, h("h4", {}, "Tree of clarifications"), drawTree(result.tree, { cite: (pid) => this.markOf(pid) })) : null),
      h("div", { class: "answer-side" },
        h("section", {}, h("h4", {}, "Sources"),
          cited.length ? h("ol", { class: "sources" }, cited.map((one) => this.sources.get(one.number)))
            : h("p", { class: "muted" }, "The answer cites no passage.")),
        others.length ? h("details", { class: "others" },
          h("summary", {}, `${counted(others.length, "other passage")} that were read`.replace("passage that were", "passage that was")),
          h("ol", { class: "sources" }, others.map((one) => this.sources.get(one.number)))) : null));
  }

  took() {
    const { result } = this;
    return [
      result.helper_lm ? `${result.lm} + ${result.helper_lm}` : result.lm,
      counted(result.calls, "call"),
      `${number(result.input_tokens)} + ${number(result.output_tokens)} tokens`,
      seconds(result.seconds),
    ].join(" · ");
  }

  /** A mark: goes to the passage, which then leads back to it. */
  mark(n) {
    const title = this.result.evidence[n - 1]?.place || (this.result.passages[n - 1]?.title ?? "");
    return h("button", {
      type: "button", class: "mark", "aria-label": `Source ${n}: ${title}`, title, "data-source": n,
      onclick: (event) => this.open(n, event.currentTarget),
    }, `[${n}]`);
  }

  markOf(pid) {
    const n = this.numbers.get(pid);
    return n ? this.mark(n) : null;
  }

  open(n, from) {
    this.cameFrom = from;
    for (const [number, element] of this.sources) element.querySelector(".back").hidden = number !== n;
    jumpTo(this.sources.get(n));
  }

  source({ number: n, readings, title, place, text }) {
    const { score } = this.result.passages[n - 1];
    const back = h("button", {
      type: "button", class: "small back", hidden: true,
      onclick: () => jumpTo(this.cameFrom),
    }, "Back to where you were");
    const used = readings.map((at) => h("button", {
      type: "button", class: "small", onclick: () => jumpTo(this.readings[at - 1]),
    }, `Reading ${at}`));
    return h("li", { class: "source", id: `${this.id}-source-${n}`, tabindex: -1, "data-number": n },
      h("p", { class: "source-head" }, h("span", { class: "source-number" }, `${n}`), " ",
        h("strong", { class: "source-title" }, title.length ? parts(title) : this.result.passages[n - 1].pid),
        typeof score === "number" ? h("span", { class: "score", title: "How well the passage fits the question" }, `score ${score.toFixed(2)}`) : null),
      place ? h("p", { class: "source-place muted" }, place) : null,
      h("p", { class: "source-text" }, parts(text)),
      h("p", { class: "source-foot" }, used, back));
  }

  reading(one, at) {
    const sure = this.result.confidence[at];
    const n = this.numbers.get(one.pid);
    const evidence = n ? this.result.evidence[n - 1] : null;
    return h("li", { class: "reading", id: `${this.id}-reading-${at + 1}`, tabindex: -1 },
      h("p", { class: "reading-question" }, one.question),
      h("p", { class: "reading-answer" }, one.answer || "no answer"),
      typeof sure === "number"
        ? h("p", { class: "confidence", title: "How sure the reader is that the passage gives this answer to this reading" },
          bar(sure, "sure"), `${percent(sure)} sure`)
        : h("p", { class: "confidence muted" }, evidence ? "Certainty unknown" : "No passage backs this reading"),
      evidence ? h("blockquote", {}, excerpt(evidence.text, at + 1), " ", this.mark(n)) : null,
      ...this.backing(at));
  }

  /** How many independent passages back a reading, and which say otherwise. */
  backing(at) {
    const { pids = [], otherwise = [] } = this.result.sources?.[at] ?? {};
    const marks = (some) => some.map((pid) => this.markOf(pid));
    return [
      pids.length > 1 ? h("p", { class: "backing" }, `${pids.length} independent sources say so `, marks(pids)) : null,
      ...otherwise.map((other) => h("p", { class: "otherwise" }, h("strong", {}, "Otherwise: "), other.answer, " ", marks(other.pids))),
    ];
  }
}

const parts = (list) => list.map((part) => (part.mark ? h("mark", {}, part.text) : part.text));

/** The part of a passage around the answer of a reading, marked; the beginning if the answer does not stand in it. */
function excerpt(list, reading) {
  const at = list.findIndex((part) => part.mark && part.readings.includes(reading));
  const whole = (some) => some.map((part) => part.text).join("");
  if (at < 0) return cutAfter(whole(list), 2 * AROUND);
  return [cutBefore(whole(list.slice(0, at))), h("mark", {}, list[at].text), cutAfter(whole(list.slice(at + 1)), AROUND)];
}

function cutBefore(text) {
  const sentence = Math.max(text.lastIndexOf(". "), text.lastIndexOf("? "), text.lastIndexOf("! "));
  const from = text.length - sentence - 2 <= AROUND && sentence >= 0 ? sentence + 2 : text.length - AROUND;
  if (from <= 0) return text;
  if (sentence >= 0 && from === sentence + 2) return text.slice(from);
  return `… ${text.slice(from).replace(/^\S*\s/, "")}`;
}

function cutAfter(text, most) {
  const end = text.search(/[.!?](\s|$)/);
  if (end >= 0 && end < most) return text.slice(0, end + 1);
  return text.length <= most ? text : `${text.slice(0, most).replace(/\s\S*$/, "")} …`;
}
