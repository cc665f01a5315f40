// The view that asks: the form, one or two panels, the link to share.

import { drawComparison } from "./compare.js";
import { announce, byId, h } from "./dom.js";
import { History } from "./history.js";
import { Panel } from "./panel.js";
import { problem } from "./problem.js";
import { counted } from "./words.js";

const EXAMPLES = ["When did Titanic come out?", "Who directed Titanic?", "What river runs through Perth?"];
const EXAMPLES_INDEX = "homonyms"; // the shipped one; over other documents they would have no answer
const COST = { low: "cheap", medium: "moderate cost", high: "expensive" };

export class AskView {
  constructor(api) {
    this.api = api;
    this.panels = [];
    this.programs = new Map();
    this.wanted = {};
    this.form = byId("ask");
    this.question = byId("question");
    this.history = new History((one) => this.askAgain(one));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask();
    });
    this.question.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.ask();
    });
    this.question.addEventListener("input", () => this.fit());
    for (const name of ["program", "beside", "index"]) byId(name).addEventListener("change", () => this.about());
    byId("stop").addEventListener("click", () => this.stop());
    byId("examples").querySelector("ul").append(...EXAMPLES.map((text) =>
      h("li", {}, h("button", { type: "button", onclick: () => this.askAgain({ q: text, index: EXAMPLES_INDEX }) }, text))));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.running && !document.querySelector("dialog[open]")) this.stop();
    });
    this.ready = this.load();
  }

  get running() {
    return this.panels.some((panel) => panel.running);
  }

  get title() {
    return this.panels.length ? `${this.panels[0].asked.question} – polyqa` : "polyqa";
  }

  /** Fetches what can be chosen. Nothing can be asked before it is there. */
  async load() {
    const place = byId("catalog-error");
    try {
      const [programs, indexes] = await Promise.all([this.api.get("/programs"), this.api.get("/indexes")]);
      place.replaceChildren();
      this.offer(programs, indexes);
      return true;
    } catch (error) {
      if (!error.kind) throw error;
      place.replaceChildren(problem(error, () => {
        this.question.focus();
        this.ready = this.load();
      }).element);
      return false;
    }
  }

  offer(programs, indexes) {
    this.programs = new Map(programs.programs.map((one) => [one.name, one]));
    this.columns = new Map(indexes.indexes.map((one) => [one.name, Object.keys(one.columns ?? {})]));
    this.defaults = { program: programs.default, index: indexes.default };
    const options = (compiled) => programs.programs.filter((one) => Boolean(one.compiled) === compiled)
      .map((one) => h("option", { value: one.name }, one.name));
    const groups = () => [["Programs", false], ["Compiled", true]]
      .map(([label, compiled]) => [label, options(compiled)])
      .filter(([, inside]) => inside.length)
      .map(([label, inside]) => h("optgroup", { label }, inside));
    byId("program").replaceChildren(...groups());
    byId("beside").replaceChildren(h("option", { value: "" }, "nothing"), ...groups());
    byId("index").replaceChildren(...indexes.indexes.map((one) =>
      h("option", { value: one.name }, `${one.name} (${counted(one.passages, "passage")})`)));
    byId("examples").hidden = this.panels.length > 0 || !indexes.indexes.some((one) => one.name === EXAMPLES_INDEX);
    this.choose(this.wanted);
  }

  /** Fills the form; names that this server does not have are said, and replaced by its defaults. */
  choose(wanted) {
    this.wanted = wanted;
    if (!this.programs.size) return;
    const missing = [];
    for (const [name, otherwise] of Object.entries({ ...this.defaults, beside: "" })) {
      const select = byId(name);
      select.value = wanted[name] || otherwise;
      if (select.selectedIndex < 0) {
        select.value = otherwise;
        missing.push(wanted[name]);
      }
    }
    byId("where").value = wanted.where ?? "";
    if (missing.length) byId("question-error").textContent = `This server has no ${missing.join(" and no ")}; its default is chosen.`;
    this.about();
  }

  about() {
    for (const name of ["program", "beside"]) {
      const one = this.programs.get(byId(name).value);
      const place = byId(`${name}-about`);
      place.replaceChildren();
      if (!one) continue;
      const paper = /^https:\/\//.test(one.url ?? "")
        ? h("a", { href: one.url, rel: "noreferrer" }, one.paper || "paper") : one.paper;
      const told = [paper, one.calls ? `calls: ${one.calls}` : "", COST[one.cost] ?? ""].filter(Boolean);
      place.append(h("strong", {}, one.name), `: ${one.summary} · `,
        h("span", {}, ...told.flatMap((part, at) => (at ? [" · ", part] : [part]))));
    }
    const columns = this.columns?.get(byId("index").value) ?? [];
    byId("where-choice").hidden = !columns.length && !byId("where").value;
    byId("where-about").textContent = columns.length
      ? `Columns of ${byId("index").value}: ${columns.join(", ")}. For example: ${columns[0]} = 'a text'` : "";
  }

  fit() {
    this.question.style.height = "auto";
    this.question.style.height = `${this.question.scrollHeight + 2}px`;
    byId("question-error").textContent = "";
    this.question.removeAttribute("aria-invalid");
    byId("linked").hidden = true;
  }

  /** Fills the form from a link. Nothing is asked: a link must not spend anybody's tokens by being opened. */
  fill(params) {
    const wanted = Object.fromEntries(["program", "index", "beside", "where"].map((name) => [name, params.get(name) ?? ""]));
    const q = params.get("q") ?? "";
    if (q !== this.question.value) {
      this.question.value = q;
      this.fit();
    }
    this.choose(wanted);
    byId("linked").hidden = !q;
  }

  async askAgain({ q, program, index, beside, where }) {
    if (this.running) this.stop();
    this.question.value = q;
    this.fit();
    this.choose({ program: program ?? byId("program").value, index: index ?? byId("index").value, beside: beside ?? byId("beside").value, where });
    scrollTo({ top: 0 });
    this.question.focus();
    await this.ask();
  }

  async ask() {
    if (this.running) return;
    const question = this.question.value.trim();
    if (!question) return this.refuse("Write a question first.");
    if (!this.programs.size && !(await (this.ready = this.load()))) return undefined;
    const [program, index, other] = ["program", "index", "beside"].map((name) => byId(name).value);
    const beside = other === program ? "" : other;
    const where = byId("where").value.trim();
    for (const panel of this.panels) panel.stop();
    byId("linked").hidden = true;
    byId("examples").hidden = true;
    document.body.classList.add("asked-once");
    const hash = link({ q: question, program, index, beside, where });
    history.replaceState(null, "", hash);
    const accepted = () => this.history.add({ q: question, program, index, beside, ...(where ? { where } : {}) });
    this.panels = [program, beside].filter(Boolean).map((name, at) =>
      new Panel(this.api, `panel-${at + 1}`, { question, program: name, index, where }, () => this.changed(), accepted));
    for (const panel of this.panels) panel.onAgain = () => this.changed(true);
    this.comparison = h("div", {});
    const heading = h("h2", { id: "outcome-title", tabindex: -1 }, question);
    byId("outcome").hidden = false;
    byId("outcome").replaceChildren(
      h("div", { class: "outcome-head" }, heading, this.share(hash)),
      this.comparison,
      h("div", { class: this.panels.length > 1 ? "panels two" : "panels" }, this.panels.map((panel) => panel.element)));
    document.title = this.title;
    const runs = this.panels.map((panel) => panel.run());
    this.changed();
    return Promise.all(runs);
  }

  refuse(text) {
    byId("question-error").textContent = text;
    this.question.setAttribute("aria-invalid", "true");
    this.question.focus();
  }

  stop() {
    for (const panel of this.panels) panel.stop();
  }

  /** Buttons follow what runs; two answers that are there are compared. */
  changed(starts = false) {
    const running = starts || this.running;
    const stop = byId("stop");
    if (!running && document.activeElement === stop) byId("outcome-title").focus();
    stop.hidden = !running;
    byId("go").setAttribute("aria-disabled", String(running));
    const both = this.panels.length === 2 && this.panels.every((panel) => panel.result);
    this.comparison.replaceChildren(...(both && !running ? [drawComparison(this.panels)] : []));
  }

  share(hash) {
    const url = new URL(hash, location.href).href;
    const told = h("span", { class: "muted" });
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(url);
        told.textContent = "Copied";
        announce("The link is copied.");
      } catch {
        // Without https browsers hand out no clipboard: the link is shown, selected, to be copied by hand.
        const field = h("input", { class: "link", readonly: true, "aria-label": "Link to this question" });
        field.value = url;
        told.replaceChildren(field);
        field.select();
      }
    };
    return h("p", { class: "share" }, told, h("button", { type: "button", class: "small", onclick: copy }, "Copy link"));
  }
}

function link({ q, program, index, beside, where }) {
  const params = new URLSearchParams({ q, program, index, ...(beside ? { beside } : {}), ...(where ? { where } : {}) });
  return `#/ask?${params}`;
}
