// An answer: what the question may mean, the readings as cards, the whole text, sources, and how this was found.

import { h, jumpTo } from "./dom.js";
import { drawCosts, drawLog } from "./log.js";
import { drawSure, HALF } from "./sure.js";
import { drawTree } from "./tree.js";
import { drawWhy } from "./why.js";
import { COVERAGE, counted, number, seconds } from "./words.js";

const AROUND = 150; // characters of a passage shown beside what is marked

/** Pieces of an answer as nodes; `mark(n)` makes the mark of passage n. */
function drawPieces(pieces, mark) {
  return pieces.map((piece) =>
    piece.text !== undefined ? piece.text : h("span", { class: "marks" }, piece.cites.map(mark)));
}

/** Draws a result; `around` has the `steps` that led to it, the `place` where they searched, and `ask(q)`. */
export function drawResult(result, id, around) {
  return new Drawing(result, id, around).element();
}

class Drawing {
  constructor(result, id, around) {
    Object.assign(this, { result, id, around });
    this.cameFrom = null;
    this.numbers = new Map(result.passages.map((passage, at) => [passage.pid, at + 1]));
    this.sources = new Map();
    this.cards = [];
  }

  element() {
    const { result } = this;
    const cited = result.evidence.filter((one) => one.cited);
    const others = result.evidence.filter((one) => !one.cited);
    for (const one of result.evidence) this.sources.set(one.number, this.source(one));
    this.cards = result.interpretations.map((one, at) => this.card(one, at));
    const listed = (some) => h("ol", { class: "sources" }, some.map((one) => this.sources.get(one.number)));
    this.others = others.length ? h("details", { class: "others" },
      h("summary", {}, others.length === 1 ? "1 other passage that was read" : `${others.length} other passages that were read`), listed(others)) : null;
    this.text = h("section", { class: "whole" },
      this.cards.length ? h("h4", {}, "In one text") : null,
      h("p", { class: "answer-text" }, result.answer ? drawPieces(result.pieces, (n) => this.mark(n))
        : "No answer was found. Ask in other words, or choose another program or index."));
    return h("div", { class: "answer" },
      this.lead(),
      result.cautions.length ? h("div", { class: "cautions", role: "note" }, h("h4", {}, "Before you trust this"),
        h("ul", {}, result.cautions.map((one) => h("li", {}, one)))) : null,
      this.follow(),
      this.cards.length ? h("ol", { class: "readings" }, this.cards) : null,
      this.text,
      h("section", { class: "evidence" }, h("h4", {}, "Sources"),
        cited.length ? listed(cited) : h("p", { class: "muted" }, "The answer cites no passage."), this.others),
      this.how());
  }

  /** The sentence before the readings; green where every reading is sure, amber where one is not. */
  lead() {
    const { confidence, standing } = this.result;
    if (standing === "unanswered") return h("p", { class: "lead doubt" }, "Not answered");
    const sure = confidence.length && confidence.every((share) => typeof share === "number" && share >= HALF);
    const said = this.result.opening || (standing === "unsure" ? "Not sure" : "");
    return said ? h("p", { class: sure ? "lead good" : "lead doubt" }, said) : null;
  }

  /** Chips that narrow what is shown, without asking anything, and one for each choice of a question back. */
  follow() {
    const { result } = this;
    if (result.interpretations.length < 2) return null;
    const chips = ["All", ...result.titles].map((title, at) => h("button", {
      type: "button", class: "chip", "aria-pressed": String(at === 0), onclick: () => this.only(at - 1, chips),
    }, title));
    const all = this.others ? h("button", { type: "button", class: "chip", onclick: () => this.showOthers(chips) }, "All sources") : null;
    return h("div", { class: "chips", role: "group", "aria-label": result.clarification?.question ?? "Show only one reading" }, chips, all);
  }

  showOthers(chips) {
    this.only(-1, chips);
    jumpTo(this.others.querySelector(".source"));
  }

  /** Shows one reading alone (of all if `at` is -1): its card, its source, and what asks it by itself. */
  only(at, chips) {
    chips.forEach((chip, number) => chip.setAttribute("aria-pressed", String(number === at + 1)));
    this.cards.forEach((card, number) => { card.hidden = at >= 0 && number !== at; });
    this.cards.forEach((card, number) => { card.querySelector(".alone").hidden = number !== at; });
    this.text.hidden = at >= 0;
    for (const one of this.result.evidence) this.sources.get(one.number).hidden = at >= 0 && !one.readings.includes(at + 1);
    if (this.others) this.others.hidden = at >= 0;
  }

  card(one, at) {
    const { titles, confidence, sure } = this.result;
    const n = this.numbers.get(one.pid);
    const evidence = n ? this.result.evidence[n - 1] : null;
    const doubt = typeof confidence[at] === "number" && confidence[at] < HALF;
    return h("li", { class: doubt ? "reading doubtful" : "reading", id: `${this.id}-reading-${at + 1}`, tabindex: -1 },
      h("h4", { class: "reading-title", title: one.question }, titles[at]),
      h("p", { class: "reading-answer" }, one.answer || "no answer"),
      drawSure(confidence[at], sure[at], Boolean(evidence)),
      evidence ? h("blockquote", {}, excerpt(evidence.text, at + 1), " ", this.mark(n)) : null,
      evidence ? h("p", { class: "reading-source muted" }, evidence.place || this.result.passages[n - 1].title) : null,
      ...this.backing(at),
      h("p", { class: "alone", hidden: true }, h("button", { type: "button", class: "small", onclick: () => this.around.ask(one.question) }, `Ask “${one.question}”`)));
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
    const source = this.sources.get(n);
    source.hidden = false;
    if (this.others?.contains(source)) this.others.hidden = false;
    source.firstElementChild.open = true;
    jumpTo(source);
  }

  source({ number: n, readings, title, place, text }) {
    const back = h("button", { type: "button", class: "small back", hidden: true, onclick: () => jumpTo(this.cameFrom) }, "Back to where you were");
    const used = readings.map((at) => h("button", {
      type: "button", class: "small", onclick: () => jumpTo(this.cards[at - 1]),
    }, this.result.titles[at - 1]));
    return h("li", { class: "source", id: `${this.id}-source-${n}`, tabindex: -1, "data-number": n }, h("details", {},
      h("summary", { class: "source-head" }, h("span", { class: "source-number" }, `${n}`), " ",
        h("strong", { class: "source-title" }, title.length ? parts(title) : this.result.passages[n - 1].pid),
        place ? h("span", { class: "source-place muted" }, ` ${place}`) : null),
      h("p", { class: "source-text" }, parts(text)),
      h("p", { class: "source-foot" }, used, back)));
  }

  how() {
    const { result } = this;
    const lm = result.helper_lm ? `${result.lm} + ${result.helper_lm}` : result.lm;
    const folded = (title, inside) => h("details", {}, h("summary", {}, title), inside);
    return h("details", { class: "how" },
      h("summary", {}, "How this was found", h("span", { class: "muted" }, ` ${result.program} · ${seconds(result.seconds)}`)),
      h("p", { class: "took" }, [
        `${result.program} ${this.around.place}`, lm, counted(result.calls, "call"),
        `${number(result.input_tokens)} tokens in, ${number(result.output_tokens)} out`, seconds(result.seconds),
        ...(result.coverage ? [COVERAGE[result.coverage] ?? result.coverage] : []),
      ].join(" · ")),
      drawWhy(result.why),
      Array.isArray(result.tree?.children) ? h("section", {}, h("h4", {}, "Tree of clarifications"), drawTree(result.tree, { cite: (pid) => this.markOf(pid) })) : null,
      this.around.steps,
      folded("Prompts and replies", drawLog(result.log)),
      folded("Tokens and time", drawCosts(result.log, result.seconds)));
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
