// A step of an answer, in words.

import { counted, h, seconds } from "./dom.js";

const KINDS = {
  AmbSub: "who or what is meant",
  AmbObj: "what it is about",
  AmbPred: "what happens",
  AmbTime: "which time is meant",
  AmbLoc: "which place is meant",
  "N/A": "nothing is ambiguous",
};

/** Return the list item of a step. */
export function stepItem(step) {
  return h(
    "li",
    { class: step.failed ? "failed" : "" },
    h("span", { class: "step" }, step.title),
    h("span", { class: "quiet" }, ` ${step.name} · ${seconds(step.seconds)}`),
    step.failed ? h("p", {}, step.failed) : found(step),
  );
}

function found({ kind, data }) {
  if (kind === "passages") return passages(data);
  if (kind === "typing" && data.ambiguity_types) {
    return h("p", {}, `Ambiguous: ${data.ambiguity_types.map((one) => KINDS[one] ?? one).join("; ")}.`);
  }
  const readings = data.interpretations ?? data.readings ?? data.refinements;
  if (readings) return list(readings.map((one) => [one.question, " → ", h("b", {}, one.answer)]));
  if (data.interpretation !== undefined) {
    if (!data.interpretation || data.interpretation === "null") return h("p", { class: "quiet" }, "This passage abstains.");
    return list([[data.interpretation, " → ", h("b", {}, data.short_answer ?? "")]]);
  }
  if (data.pseudo_interpretations) return list(data.pseudo_interpretations);
  return list(Object.entries(data).map(([name, value]) => `${name.replaceAll("_", " ")}: ${said(value)}`));
}

function passages({ query, passages: shown, found: number }) {
  const titles = shown.slice(0, 5).map((one) => one.title || one.pid);
  return h("p", {}, `${counted(number, "passage")} for “${query}”`, titles.length ? `: ${titles.join(", ")} …` : "");
}

function list(items) {
  return h("ul", {}, items.map((item) => h("li", {}, item)));
}

function said(value) {
  if (value === true) return "yes";
  if (value === false) return "no";
  if (Array.isArray(value)) return value.length ? value.map(said).join(", ") : "none";
  return value !== null && typeof value === "object" ? JSON.stringify(value) : String(value);
}
