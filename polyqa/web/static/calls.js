// What the language model was sent, what it replied, what each call took.

import { counted, h, seconds } from "./dom.js";

/** Return every call with its messages and its reply, folded. */
export function prompts(result) {
  if (!result.log.length) return h("p", { class: "quiet" }, "The language model was not asked.");
  return h(
    "div",
    {},
    result.log.map((call, at) =>
      h(
        "details",
        { class: "call" },
        h("summary", {}, `${at + 1}. ${call.name || "call"} `, h("span", { class: "quiet" }, `${tokens(call)} · ${seconds(call.seconds)}`)),
        call.messages.map((message) => [h("h4", {}, message.role), h("pre", { tabindex: 0 }, message.content)]),
        h("h4", {}, "reply"),
        h("pre", { tabindex: 0 }, call.reply || "(nothing came)"),
      ),
    ),
  );
}

function tokens({ input_tokens: sent, output_tokens: got }) {
  return sent === null || sent === undefined ? "tokens not told" : `${sent.toLocaleString("en")} + ${(got ?? 0).toLocaleString("en")} tokens`;
}

/** Return a table of what each call took. */
export function calls(result) {
  const most = Math.max(1, ...result.log.map((call) => (call.input_tokens ?? 0) + (call.output_tokens ?? 0)));
  const number = (value) => h("td", { class: "number" }, value === null || value === undefined ? "–" : value.toLocaleString("en"));
  const rows = result.log.map((call) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, call.name || "call"),
      number(call.input_tokens),
      number(call.output_tokens),
      h("td", { class: "number" }, seconds(call.seconds)),
      h("td", {}, bar(((call.input_tokens ?? 0) + (call.output_tokens ?? 0)) / most)),
    ),
  );
  return h(
    "div",
    { class: "wide", tabindex: 0, role: "group", "aria-label": "Tokens and time of each call" },
    h(
      "table",
      {},
      h("caption", {}, `${result.lm}${result.helper_lm ? ` + ${result.helper_lm}` : ""}: ${counted(result.calls, "call")}`),
      h(
        "thead",
        {},
        h("tr", {}, ["call", "tokens in", "tokens out", "time"].map((text, at) => h("th", { scope: "col", class: at ? "number" : "" }, text)), h("td", {})),
      ),
      h("tbody", {}, rows),
      h(
        "tfoot",
        {},
        h("tr", {}, h("th", { scope: "row" }, "together"), number(result.input_tokens), number(result.output_tokens), h("td", { class: "number" }, seconds(result.seconds)), h("td", {})),
      ),
    ),
    h("p", { class: "quiet" }, "Calls that do not wait for each other run at once, so the times of the calls can add up to more than the whole."),
  );
}

function bar(share) {
  const made = h("span", { class: "bar", "aria-hidden": "true" });
  made.style.width = `${Math.round(100 * share)}%`;
  return made;
}
