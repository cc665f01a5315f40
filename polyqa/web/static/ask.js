// The view that asks: a form, one answer or two beside each other, the history.

import { answering } from "./answer.js";
import { counted, fill, h } from "./dom.js";
import { asked, forget, link, remember } from "./history.js";

const EXAMPLES = ["When did Titanic come out?", "Who directed Titanic?", "What river runs through Perth?"];
const LONGEST = 2000;
let view = null;

/** Show the view; what was asked stays when only the hash changes. */
export async function show(main, { params, again }, api) {
  document.title = "polyqa";
  if (!(again && view)) view = await made(main, api);
  if (params.get("q")) view.take(Object.fromEntries(params));
  else if (!again) view.focus();
}

async function made(main, api) {
  const [programs, indexes] = await Promise.all([api.get("/programs"), api.get("/indexes")]);
  const question = h("input", {
    id: "question",
    type: "text",
    maxlength: LONGEST,
    required: true,
    autocomplete: "off",
    placeholder: EXAMPLES[0],
    "aria-describedby": "question-help",
  });
  const program = picker("program", "Program", programs.programs, programs.default);
  const beside = picker("beside", "Beside it", [{ name: "", label: "nothing" }, ...programs.programs], "");
  const index = picker("index", "Documents", indexes.indexes, indexes.default, (one) => `${one.name} (${counted(one.passages, "passage")})`);
  const about = h("p", { class: "quiet", id: "about" });
  const button = h("button", { type: "submit" }, "Ask");
  const stop = h("button", { type: "button", class: "plain", hidden: true, onclick: () => running?.abort() }, "Stop");
  const share = h("button", { type: "button", class: "plain", onclick: copyLink }, "Copy link");
  const told = h("p", { class: "quiet", role: "status" });
  const answers = h("div", { class: "answers" });
  const past = h("ol", { class: "past" });
  const history = h(
    "details",
    { class: "history" },
    h("summary", {}, "Asked before"),
    h("p", { class: "quiet" }, "Kept in this browser only. ", h("button", { type: "button", class: "plain small", onclick: clear }, "Forget all")),
    past,
  );
  const form = h(
    "form",
    { onsubmit: submitted, "aria-label": "Ask a question" },
    h("label", { for: "question", class: "big" }, "What do you want to know?"),
    h("div", { class: "row question" }, question, button, stop),
    h("p", { class: "quiet", id: "question-help" }, "One question. If it can be read in several ways, each reading is answered."),
    h("div", { class: "row pickers" }, program.field, index.field, beside.field, share),
    about,
    told,
  );
  const examples = h(
    "p",
    { class: "examples" },
    "Try: ",
    EXAMPLES.map((text) => h("button", { type: "button", class: "plain", onclick: () => askThis({ q: text }) }, text)),
  );
  let running = null;

  function picked() {
    return { q: question.value.trim(), program: program.select.value, index: index.select.value, beside: beside.select.value };
  }

  function describe() {
    const one = programs.programs.find(({ name }) => name === program.select.value);
    const calls = one.calls ? ` Calls of the language model: ${one.calls}.` : "";
    fill(about, h("b", {}, one.name), `: ${one.summary}.${calls} `, one.url ? h("a", { href: one.url, rel: "noreferrer" }, one.paper) : one.paper);
  }

  function take(values) {
    question.value = values.q || "";
    for (const [name, { select }] of [["program", program], ["index", index], ["beside", beside]]) {
      if ([...select.options].some(({ value }) => value === values[name])) select.value = values[name];
    }
    describe();
    button.focus();
  }

  function askThis(values) {
    take({ ...picked(), ...values });
    form.requestSubmit();
  }

  async function submitted(event) {
    event.preventDefault();
    const one = picked();
    question.setCustomValidity(one.q ? "" : "Write a question first.");
    if (!form.reportValidity()) return;
    running?.abort();
    const own = (running = new AbortController());
    remember(one);
    list();
    examples.remove();
    stop.hidden = false;
    told.textContent = "";
    const names = [one.program, ...(one.beside && one.beside !== one.program ? [one.beside] : [])];
    const panes = names.map((name) => answering(api, { question: one.q, program: name, index: one.index }, own.signal));
    answers.classList.toggle("two", panes.length > 1);
    fill(answers, panes.map(({ element }) => element));
    await Promise.allSettled(panes.map(({ done }) => done));
    if (running === own) {
      stop.hidden = true;
      running = null;
    }
  }

  async function copyLink() {
    const url = new URL(link(picked()), location.href).href;
    window.history.replaceState(null, "", url);
    try {
      await navigator.clipboard.writeText(url);
      told.textContent = "The link is copied. It fills this form; nothing is asked until somebody presses Ask.";
    } catch {
      told.textContent = "The link is in the address bar now; copy it from there.";
    }
  }

  function clear() {
    forget();
    list();
  }

  function list() {
    const every = asked();
    history.hidden = every.length === 0;
    fill(
      past,
      every.map((one) =>
        h(
          "li",
          {},
          h("button", { type: "button", class: "plain", onclick: () => askThis(one) }, one.q),
          h("span", { class: "quiet" }, ` ${[one.program, one.beside, one.index].filter(Boolean).join(" · ")}`),
        ),
      ),
    );
  }

  question.addEventListener("input", () => question.setCustomValidity(""));
  program.select.addEventListener("change", describe);
  describe();
  list();
  fill(main, h("h1", { class: "hidden" }, "Ask"), form, examples, answers, history);
  return { take, focus: () => question.focus() };
}

function picker(id, label, every, chosen, text = (one) => one.label ?? one.name) {
  const options = every.map((one) => h("option", { value: one.name, selected: one.name === chosen }, text(one)));
  const select = h("select", { id }, options);
  return { select, field: h("div", { class: "field" }, h("label", { for: id }, label), select) };
}
