// The view that asks: the form, one or two panels, the link to share.

import { drawComparison } from "./compare.js";
import { announce, byId, h } from "./dom.js";
import { History } from "./history.js";
import { Panel } from "./panel.js";
import { problem } from "./problem.js";
import { keepTable } from "./sure.js";

const EXAMPLES = ["When did Titanic come out?", "Who directed Titanic?", "What river runs through Perth?"];
const EXAMPLES_INDEX = "homonyms"; // the shipped one; of other documents only the names that they share are known
const CHOICES = ["program", "index", "beside"];

export class AskView {
  constructor(api) {
    this.api = api;
    this.panels = [];
    this.programs = new Map();
    this.wanted = {};
    this.form = byId("ask");
    this.question = byId("question");
    this.history = new History((one) => this.askAgain({ beside: "", ...one }));
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
    for (const name of CHOICES) byId(name).addEventListener("change", () => this.about());
    byId("program").addEventListener("change", () => this.over());
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
    keepTable(programs.confidence);
    this.programs = new Map(programs.programs.map((one) => [one.name, one]));
    this.indexes = new Map(indexes.indexes.map((one) => [one.name, one]));
    this.defaults = { program: programs.default, index: indexes.default, beside: "" };
    const options = (compiled) => programs.programs.filter((one) => Boolean(one.compiled) === compiled)
      .map((one) => h("option", { value: one.name }, one.name));
    const groups = () => [["Programs", false], ["Compiled", true]]
      .map(([label, compiled]) => [label, options(compiled)])
      .filter(([, inside]) => inside.length)
      .map(([label, inside]) => h("optgroup", { label }, inside));
    byId("program").replaceChildren(...groups());
    byId("beside").replaceChildren(h("option", { value: "" }, "nothing"), ...groups());
    byId("index").replaceChildren(...indexes.indexes.map((one) =>
      h("option", { value: one.name }, `${one.name} (${one.passages.toLocaleString("en")})`)));
    this.choose(this.wanted);
  }

  /** Questions over the shipped index; over other documents names that several passages share, to begin a question with. */
  examples() {
    const index = byId("index").value;
    const names = this.indexes?.get(index)?.names ?? [];
    const chip = (text, onclick) => h("li", {}, h("button", { type: "button", onclick }, text));
    const chips = index === EXAMPLES_INDEX
      ? EXAMPLES.map((q) => chip(q, () => this.askAgain({ q, index })))
      : names.map((name) => chip(name, () => this.begin(name)));
    byId("examples-title").textContent = index === EXAMPLES_INDEX ? "For example" : "Names with more than one meaning here";
    byId("examples").querySelector("ul").replaceChildren(...chips);
    byId("examples").hidden = this.panels.length > 0 || !chips.length;
  }

  /** Puts a name into the question, for the words around it to be written. */
  begin(name) {
    const text = this.question.value.trim().replace(/\?$/, "");
    this.question.value = `${text ? `${text} ` : ""}${name}?`;
    this.fit();
    this.question.focus();
    const at = text ? this.question.value.length - 1 : 0;
    this.question.setSelectionRange(at, at);
  }

  /** A compiled program asks its own index, if that is offered. */
  over() {
    const own = this.programs.get(byId("program").value)?.index;
    if (own && this.indexes.has(own)) byId("index").value = own;
    this.about();
  }

  /** Fills the form; names that this server does not have are said, and replaced by its defaults. */
  choose(wanted) {
    this.wanted = wanted;
    if (!this.programs.size) return;
    const missing = [];
    for (const [name, otherwise] of Object.entries(this.defaults)) {
      const select = byId(name);
      select.value = wanted[name] || otherwise;
      if (select.selectedIndex < 0) {
        select.value = otherwise;
        missing.push(wanted[name]);
      }
    }
    byId("where").value = wanted.where ?? "";
    if (byId("where").value || byId("beside").value) byId("options").open = true;
    if (missing.length) byId("question-error").textContent = `This server has no ${missing.join(" and no ")}; its default is chosen.`;
    if (wanted.index) this.about();
    else this.over();
  }

  about() {
    const beside = byId("beside").value;
    byId("chosen").textContent = `${byId("index").value} · ${byId("program").value}${beside ? ` and ${beside}` : ""}`;
    this.examples();
    for (const name of ["program", "beside"]) {
      const one = this.programs.get(byId(name).value);
      const place = byId(`${name}-about`);
      place.replaceChildren();
      if (!one) continue;
      const paper = /^https:\/\//.test(one.url ?? "")
        ? h("a", { href: one.url, rel: "noreferrer" }, one.paper || "paper") : one.paper;
      const told = [paper, one.calls ? `calls: ${one.calls}` : ""].filter(Boolean);
      place.append(h("strong", {}, one.name), `: ${one.summary} · `,
        h("span", {}, ...told.flatMap((part, at) => (at ? [" · ", part] : [part]))));
    }
    const columns = Object.keys(this.indexes?.get(byId("index").value)?.columns ?? {});
    byId("where-choice").hidden = !columns.length && !byId("where").value;
    byId("where-about").textContent = columns.length
      ? `Columns of ${byId("index").value}: ${columns.join(", ")}. For example: ${columns[0]} = 'a text'` : "";
  }

  fit() {
    this.grow();
    byId("question-error").textContent = "";
    this.question.removeAttribute("aria-invalid");
    byId("linked").hidden = true;
  }

  /** Makes the field as high as its text; a field that is hidden has no height yet. */
  grow() {
    this.question.style.height = "auto";
    this.question.style.height = `${this.question.scrollHeight + 2}px`;
  }

  /** Fills the form from a link. Nothing is asked: a link must not spend anybody's tokens by being opened. */
  fill(params) {
    const wanted = Object.fromEntries([...CHOICES, "where"].map((name) => [name, params.get(name) ?? ""]));
    const q = params.get("q") ?? "";
    if (q !== this.question.value) {
      this.question.value = q;
      this.fit();
    }
    this.choose(wanted);
    byId("linked").hidden = !q;
    this.fold(false);
  }

  async askAgain({ q, where, ...chosen }) {
    this.stop();
    await Promise.all(this.panels.map((panel) => panel.ran));
    this.question.value = q;
    this.fit();
    const now = Object.fromEntries(CHOICES.map((name) => [name, chosen[name] ?? byId(name).value]));
    this.choose({ ...now, where });
    await this.ask();
  }

  /** After asking the form is one line: the question, and what changes it. */
  fold(folded) {
    this.form.hidden = folded;
    document.body.classList.toggle("folded", folded);
    if (!folded) this.grow();
  }

  edit() {
    this.fold(false);
    scrollTo({ top: 0 });
    this.question.focus();
    this.question.select();
  }

  async ask() {
    if (this.running) return;
    const question = this.question.value.trim();
    if (!question) return this.refuse("Write a question first.");
    if (!this.programs.size && !(await (this.ready = this.load()))) return undefined;
    const { program, index, beside: other } = Object.fromEntries(CHOICES.map((name) => [name, byId(name).value]));
    const beside = other === program ? "" : other;
    const where = byId("where").value.trim();
    const asked = { q: question, program, index, ...(beside ? { beside } : {}), ...(where ? { where } : {}) };
    for (const panel of this.panels) panel.stop();
    byId("linked").hidden = true;
    byId("examples").hidden = true;
    const hash = `#/ask?${new URLSearchParams(asked)}`;
    history.replaceState(null, "", hash);
    const accepted = () => this.history.add(asked);
    const names = [program, beside].filter(Boolean);
    this.panels = names.map((name, at) => new Panel(this.api, `panel-${at + 1}`, { question, program: name, index, where }, {
      ended: () => this.changed(), accepted, again: () => this.changed(true), ask: (q) => this.askAgain({ q, where }),
    }));
    this.comparison = h("div", {});
    this.heading = h("h2", { id: "outcome-title", tabindex: -1 }, question);
    this.stopButton = h("button", { type: "button", class: "small", onclick: () => this.stop() }, "Stop");
    const edit = h("button", { type: "button", class: "small", onclick: () => this.edit() }, "Edit");
    byId("outcome").hidden = false;
    byId("outcome").replaceChildren(
      h("div", { class: "outcome-head" }, this.heading, h("p", { class: "share" }, this.stopButton, edit, this.share(hash))),
      this.comparison,
      h("div", { class: names.length > 1 ? "panels two" : "panels" }, this.panels.map((panel) => panel.element)));
    this.fold(true);
    scrollTo({ top: 0 });
    this.heading.focus({ preventScroll: true });
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
    if (!running && document.activeElement === this.stopButton) this.heading.focus();
    this.stopButton.hidden = !running;
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
    return [h("button", { type: "button", class: "small", onclick: copy }, "Copy link"), told];
  }
}
