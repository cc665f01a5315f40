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

export function drawCosts(log) {
  if (!log.length) return nothing();
  const sum = (name) => log.reduce((total, call) => total + (call[name] ?? 0), 0);
  const most = (name) => Math.max(...log.map((call) => call[name] ?? 0), 1e-9);
  const tokens = (call) => (call.input_tokens ?? 0) + (call.output_tokens ?? 0);
  const mostTokens = Math.max(...log.map(tokens), 1);
  const mostSeconds = most("seconds");
  const cell = (...inside) => h("td", { class: "number" }, inside);
  const rows = log.map((call, at) => h("tr", {},
    h("th", { scope: "row" }, `${at + 1}. ${stepName(call)}`),
    cell(number(call.input_tokens)), cell(number(call.output_tokens)),
    h("td", { class: "bar-cell" }, bar(tokens(call) / mostTokens, "tokens")),
    cell(seconds(call.seconds)),
    h("td", { class: "bar-cell" }, bar((call.seconds ?? 0) / mostSeconds, "time"))));
  const head = (text, attributes = {}) => h("th", { scope: "col", ...attributes }, text);
  return h("div", { class: "table-box", tabindex: 0, role: "group", "aria-label": "Tokens and time, per call" },
    h("table", { class: "costs" },
      h("caption", {}, `${counted(log.length, "call")} of the language model, in the order in which they ended. Calls run beside each other, so their times add up to more than the wait.`),
      h("thead", {}, h("tr", {}, head("Step"), head("Tokens in", { class: "number" }), head("Tokens out", { class: "number" }),
        h("td", { class: "bar-cell" }), head("Time", { class: "number" }), h("td", { class: "bar-cell" }))),
      h("tbody", {}, rows),
      h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, "All"), cell(number(sum("input_tokens"))), cell(number(sum("output_tokens"))),
        h("td", { class: "bar-cell" }), cell(seconds(sum("seconds"))), h("td", { class: "bar-cell" })))));
}

/** Widths go through the CSS object model: the page's policy refuses style attributes. */
export function bar(share, kind) {
  const inner = h("span", { class: `bar-inner ${kind}` });
  inner.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return h("span", { class: "bar", "aria-hidden": "true" }, inner);
}
