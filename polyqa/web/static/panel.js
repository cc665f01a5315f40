// One program answering one question: its steps as they end, its answer.

import { announce, h } from "./dom.js";
import { problem } from "./problem.js";
import { drawResult } from "./result.js";
import { Steps } from "./steps.js";
import { counted } from "./words.js";

export class Panel {
  /** `does` has what is to be done: `ended()`, `accepted()` when the server took the question, `again()`, `ask(q)`. */
  constructor(api, id, asked, does) {
    Object.assign(this, { api, id, asked, does });
    this.result = null;
    this.problem = null;
    this.title = h("h3", { id: `${id}-title`, tabindex: -1 }, asked.program);
    this.body = h("div", { class: "panel-body" });
    this.element = h("article", { class: "panel", "aria-labelledby": this.title.id, "aria-busy": "false" },
      h("div", { class: "panel-head" }, this.title, h("span", { class: "muted" }, place(asked))), this.body);
  }

  get running() {
    return this.element.getAttribute("aria-busy") === "true";
  }

  run() {
    return (this.ran = this.answer());
  }

  async answer() {
    this.problem?.stop();
    this.problem = null;
    this.result = null;
    this.abort = new AbortController();
    this.steps = new Steps();
    this.element.classList.remove("done");
    this.body.replaceChildren(this.steps.element);
    this.element.setAttribute("aria-busy", "true");
    try {
      const { question, program, index, where } = this.asked;
      await this.api.ask({ question, program, index, ...(where ? { where } : {}) }, { signal: this.abort.signal, on: (name, data) => this.on(name, data) });
    } catch (error) {
      this.failed(error);
    } finally {
      this.element.setAttribute("aria-busy", "false");
      this.does.ended();
    }
  }

  stop() {
    this.problem?.stop();
    this.abort?.abort();
  }

  on(name, data) {
    if (name === "waiting" || name === "started") this.does.accepted();
    if (name === "waiting") {
      this.say(`Waiting: ${data.place === 1 ? "you are next" : `${counted(data.place - 1, "question")} before yours`}…`);
    } else if (name === "started") {
      this.say(`${data.program} has begun…`);
    } else if (name === "step") {
      this.steps.add(data);
      announce(`${this.asked.program}: ${data.title}`);
    } else if (name === "writing") {
      this.steps.write(data);
    } else if (name === "result") {
      this.show(data);
    }
  }

  say(text) {
    this.steps.say(text);
    announce(`${this.asked.program}: ${text}`);
  }

  show(result) {
    this.result = result;
    this.steps.end(this.steps.told(result.seconds), { fold: true });
    this.body.replaceChildren(drawResult(result, this.id, { steps: this.steps.element, place: place(this.asked), ask: this.does.ask }));
    this.element.classList.add("done");
    announce(`${this.asked.program} has answered: ${counted(result.interpretations.length, "reading")}, `
      + `${counted(result.evidence.filter((one) => one.cited).length, "source")}.`, true);
  }

  failed(error) {
    if (error.name === "AbortError") {
      this.steps.end("Stopped.");
      this.body.append(h("p", { class: "muted" }, "Stopped. Press Edit to ask again."));
      announce("Stopped.");
      return;
    }
    if (!error.kind) throw error; // a fault of the page's own belongs into the console
    this.steps.end("No answer");
    this.problem = problem(error, () => this.again());
    this.body.append(this.problem.element);
  }

  again() {
    this.title.focus(); // the button that was pressed goes away
    this.does.again();
    this.run();
  }
}

const place = ({ index, where }) => `on ${index}${where ? ` where ${where}` : ""}`;
