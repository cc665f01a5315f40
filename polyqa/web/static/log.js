// What the language model was asked and replied, and what each call took.

import { h } from "./dom.js";
import { counted, number, seconds } from "./words.js";

const ROLES = { system: "Instructions", user: "What is asked", assistant: "An earlier reply" };
const stepName = (call) => call.name.replaceAll("_", " ") || "call";
const nothing = () => h("p", { class: "muted" }, "The language model was not asked anything.");

export function drawLog(log) {
  if (!log.length) return nothing();
  return h("ol", { class: "calls" }, log.map((call, at) =>
    h("li", {}, h("details", { open: log.length === 1 },
      h("summary", {},
        h("span", { class: "call-name" }, `${at + 1}. ${stepName(call)}`),
        h("span", { class: "muted" }, `${number(call.input_tokens)} + ${number(call.output_tokens)} tokens, ${seconds(call.seconds)}`)),
      call.messages.map((message) => h("div", { class: "message" },
        h("h5", {}, ROLES[message.role] ?? message.role), h("pre", {}, textOf(message.content)))),
      h("div", { class: "message reply" },
        h("h5", {}, "Reply"), call.reply ? h("pre", {}, call.reply) : h("p", { class: "muted" }, "No reply came."))))));
}

const textOf = (content) => (typeof content === "string" ? content : JSON.stringify(content, null, 2));

/** The tokens and the time of each call; `wait` is what the whole question took, in seconds. */
export function drawCosts(log, wait) {
  if (!log.length) return nothing();
  const sum = (name) => log.reduce((total, call) => total + (call[name] ?? 0), 0);
  const cell = (text) => h("td", { class: "number" }, text);
  const cells = (call) => [cell(number(call.input_tokens)), cell(number(call.output_tokens)), cell(seconds(call.seconds))];
  const head = (text) => h("th", { scope: "col", class: "number" }, text);
  const whole = { input_tokens: sum("input_tokens"), output_tokens: sum("output_tokens"), seconds: sum("seconds") };
  const beside = whole.seconds > wait ? " Some ran at the same time, so their times add up to more than the wait." : "";
  return h("div", { class: "table-box", tabindex: 0, role: "group", "aria-label": "Tokens and time, per call" },
    h("table", { class: "costs" },
      h("caption", {}, `${counted(log.length, "call")} of the language model, in the order in which they ended.${beside}`),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Call"), head("Tokens in"), head("Tokens out"), head("Time"))),
      h("tbody", {}, log.map((call, at) => h("tr", {}, h("th", { scope: "row" }, `${at + 1}. ${stepName(call)}`), cells(call)))),
      h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, "All"), cells(whole)))));
}
