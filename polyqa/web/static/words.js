// What happened, in words that need no paper to be understood.

const PARTS = {
  AmbSub: "who or what is meant",
  AmbObj: "which thing it is about",
  AmbPred: "what is meant to happen",
  AmbTime: "which time is meant",
  AmbLoc: "which place is meant",
};
export const COVERAGE = {
  Useful: "The passages answer every reading",
  PartialUseful: "The passages answer some of the readings",
  Useless: "The passages answer none of the readings",
};

export const counted = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;
export const seconds = (s) => (s === null || s === undefined ? "–" : s < 0.005 ? "< 0.01 s" : `${s.toFixed(s < 0.095 ? 2 : 1)} s`);
export const number = (n) => (n === null || n === undefined ? "–" : n.toLocaleString("en"));
const cut = (text, most = 180) => (text.length > most ? `${text.slice(0, most).trimEnd()}…` : text);
const quoted = (text) => `“${cut(text, 120)}”`;

/** The sentences of a step, and the lines of its list: `{told, lines}`. */
export function wordsOf(step) {
  const { data, kind } = step;
  if (step.failed) return { told: step.failed, lines: [] };
  if (kind === "passages") return passages(step);
  if (kind === "typing") return { told: typing(data), lines: [] };
  if (kind === "readings") return readings(data);
  if (kind === "verdicts") return { told: verdicts(data), lines: [] };
  if (kind === "answer") {
    const words = String(data.answer ?? "").split(/\s+/).filter(Boolean).length;
    return { told: words ? `${counted(words, "word")}.` : "There is no answer to write.", lines: [] };
  }
  return { told: fields(data), lines: [] };
}

function passages({ name, data }) {
  const best = data.passages.slice(0, 3).map((one) => one.title || one.pid);
  const listed = best.length ? ` Best: ${best.join(", ")}.` : "";
  const queries = data.query ? data.query.split(" · ") : [];
  const asked = queries.length > 1 ? `${queries.length} possible questions` : quoted(data.query ?? "");
  if (name === "search") return { told: `${counted(data.found, "passage")} for ${asked}.${listed}`, lines: [] };
  return { told: `${counted(data.found, "passage")} read again with ${asked}.${listed}`, lines: [] };
}

function typing(data) {
  const types = data.ambiguity_types ?? [];
  const open = types.map((type) => PARTS[type]).filter(Boolean);
  const reason = typeof data.reason === "string" ? data.reason.replace(/^\s*(\[[^\]]*\]\s*)+/, "") : "";
  if (Array.isArray(data.ambiguity_types)) {
    return `${open.length ? `Open: ${open.join("; ")}.` : "One reading only."} ${reason}`.trim();
  }
  return fields(data);
}

function readings(data) {
  if ("interpretation" in data) {
    const found = !isNone(data.interpretation);
    return { told: found ? pair(data.interpretation, data.short_answer ?? data.answer) : "It answers no reading.", lines: [] };
  }
  const list = Object.values(data).find(Array.isArray);
  if (!list) return { told: fields(data), lines: [] };
  const lines = list.map((one) => {
    if (typeof one === "string") return one;
    return one.question ? pair(one.question, one.answer) : fields(one);
  });
  return { told: lines.length ? `${counted(lines.length, "reading")}:` : "None.", lines };
}

const isNone = (value) => value === null || value === undefined || value === "" || value === "null";
const pair = (question, answer) => (isNone(answer) ? String(question) : `${question} — ${answer}`);

function verdicts(data) {
  if (Array.isArray(data.answered)) {
    const listed = data.answered;
    if (!listed.length) return "The passages answer none of the readings.";
    return `The passages answer ${listed.length === 1 ? "reading" : "readings"} ${listed.join(", ")}.`;
  }
  const values = Object.values(data); // one field says what the step's title asks
  return values.length === 1 ? `${sentenceCase(short(values[0]))}.` : fields(data);
}

/** Output fields of any program, also of one that is not known here. */
function fields(data) {
  const told = Object.entries(data).map(([name, value]) => {
    return `${sentenceCase(name.replaceAll("_", " "))}: ${short(value)}`;
  });
  return told.join(" · ") || "Done.";
}

const sentenceCase = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function short(value) {
  if (isNone(value)) return "none";
  if (value === true) return "yes";
  if (value === false) return "no";
  if (Array.isArray(value)) return value.length ? cut(value.map(short).join(", ")) : "none";
  if (typeof value === "object") return cut(Object.values(value).map(short).join(", "));
  return cut(String(value));
}
