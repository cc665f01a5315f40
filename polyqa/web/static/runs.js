// Stored evaluations: the list, one run, two compared, one question in several runs, reports of compilations.

import { h } from "./dom.js";
import { counted } from "./words.js";

const link = (path, params, ...text) => h("a", { href: `#/runs${path}?${new URLSearchParams(params)}` }, ...text);
const value = (one) => (one === null || one === undefined ? "–" : one.toFixed(1));
const range = (one) => (one.low === null ? "" : ` [${value(one.low)}, ${value(one.high)}]`);

/** Shows the view that the rest of the hash names; `api.get` returns JSON, and throws errors for people. */
export async function show(place, { rest, params }, api) {
  const views = { run: oneRun, compare: compared, question: oneQuestion };
  const made = await (views[rest[0]] ?? list)(params, api);
  const back = rest.length ? h("p", {}, h("a", { href: "#/runs" }, "All runs")) : null;
  place.replaceChildren(h("div", { class: "runs" }, back, made));
  const title = place.querySelector("h1");
  document.title = `${title.textContent} – polyqa`;
  if (rest.length) title.focus();
}

const heading = (text) => h("h1", { tabindex: -1 }, text);

function table(label, heads, rows) {
  const cell = (one, at) => (at === 0 ? h("th", { scope: "row" }, one) : h("td", { class: typeof one === "string" && /^[–+\-\d]/.test(one) ? "n" : "" }, one));
  return h("div", { class: "scroll", role: "region", "aria-label": label, tabindex: 0 },
    h("table", {},
      h("thead", {}, h("tr", {}, heads.map((head) => (head === "" ? h("td", {}) : h("th", { scope: "col" }, head))))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell))))));
}

async function list(params, api) {
  const [{ runs, measures }, { reports }] = await Promise.all([api.get("/runs"), api.get("/reports")]);
  const good = runs.filter((run) => !run.fault);
  const shown = Object.entries(measures).filter(([name]) => good.some((run) => name in run.scores));
  const picked = new Set();
  const compare = h("button", { type: "button", class: "primary", "aria-disabled": "true", onclick: go }, "Compare two");
  const told = h("p", { class: "muted", role: "status" }, "Choose two runs; the first that you choose is the one to beat.");

  function pick(event) {
    picked[event.target.checked ? "add" : "delete"](event.target.value);
    compare.setAttribute("aria-disabled", String(picked.size !== 2));
    told.textContent = picked.size === 2 ? `${[...picked].join(", then ")}.` : "Choose two runs; the first that you choose is the one to beat.";
  }

  function go() {
    if (picked.size !== 2) return;
    const [a, b] = picked;
    location.hash = `#/runs/compare?${new URLSearchParams({ a, b })}`;
  }

  const rows = good.map((run) => [
    link("/run", { name: run.name }, run.name),
    h("input", { type: "checkbox", value: run.name, "aria-label": `Choose ${run.name}`, onchange: pick }),
    run.program ?? "outputs of another system",
    run.lm ?? "–",
    run.source ?? "–",
    `${run.answered.toLocaleString("en")}${run.answered < run.of ? ` of ${run.of.toLocaleString("en")}` : ""}${run.failed ? `, ${run.failed} failed` : ""}`,
    ...shown.map(([name]) => (name in run.scores ? `${value(run.scores[name].value)}${range(run.scores[name])}` : "–")),
  ]);
  return [
    heading("Runs"),
    good.length ? [
      told,
      h("p", { class: "buttons" }, compare),
      table("Runs", ["run", "", "program", "language model", "questions", "answered", ...shown.map(([, label]) => label)], rows),
    ] : h("p", {}, "There is no run in this folder yet: polyqa evaluate --runs FOLDER makes them."),
    runs.filter((run) => run.fault).map((run) => h("p", { class: "notice" }, h("b", {}, run.name), `: ${run.fault}`)),
    h("h2", {}, "Compiled programs"),
    reports.length
      ? h("ul", {}, reports.map((name) => h("li", {}, h("a", { href: `/report?${new URLSearchParams({ name })}` }, `Report of ${name}`))))
      : h("p", { class: "muted" }, "None has a report here: polyqa compile writes one beside the card."),
  ];
}

const PAGE = 50;

async function oneRun(params, api) {
  const name = params.get("name");
  const offset = Number(params.get("offset") ?? 0);
  const asked = { name, offset, limit: PAGE, find: params.get("find") ?? "", sort: params.get("sort") ?? "" };
  const run = await api.get(`/run?${new URLSearchParams(asked)}`);
  const settings = Object.entries(run.settings ?? {}).filter(([, one]) => typeof one === "string" && one);
  const find = h("input", { id: "find", type: "search", value: asked.find });
  const form = h("form", { class: "buttons", onsubmit: (event) => {
    event.preventDefault();
    location.hash = `#/runs/run?${new URLSearchParams({ name, sort: asked.sort, find: find.value })}`;
  } }, h("label", { for: "find" }, "Questions with"), find, h("button", { class: "plain" }, "Find"));
  const rows = run.questions.map((one) => [
    link("/question", { id: one.id, run: name }, one.question),
    one.error ? `failed: ${one.error}` : value(one.value),
    `${one.readings[0]} of ${one.readings[1]}`,
  ]);
  const more = (to, text) => link("/run", { name, sort: asked.sort, find: asked.find, offset: to }, text);
  return [
    heading(name),
    h("dl", {}, settings.map(([key, one]) => [h("dt", {}, key.replaceAll("_", " ")), h("dd", {}, one)])),
    h("h2", {}, counted(run.total, "question")),
    form,
    asked.sort ? null : h("p", {}, link("/run", { name, sort: run.headline, find: asked.find }, "Show the worst first")),
    table("Questions", ["question", run.headline, "readings found"], rows),
    h("p", { class: "buttons" },
      offset ? more(Math.max(0, offset - PAGE), "Those before") : null,
      offset + PAGE < run.total ? more(offset + PAGE, "Those after") : null),
  ];
}

async function compared(params, api) {
  const asked = Object.fromEntries(["a", "b", "measure"].filter((name) => params.get(name)).map((name) => [name, params.get(name)]));
  const made = await api.get(`/compare?${new URLSearchParams(asked)}`);
  const main = made.metrics[made.headline];
  const rows = Object.entries(made.metrics).map(([name, one]) => [
    link("/compare", { a: made.a, b: made.b, measure: name }, made.labels[name]),
    value(one.a),
    value(one.b),
    `${one.difference > 0 ? "+" : ""}${value(one.difference)}${range(one)}`,
    one.p < 0.001 ? "< 0.001" : one.p.toFixed(3),
  ]);
  const questions = made.questions.map((one) => [
    link("/question", [["id", one.id], ["run", made.a], ["run", made.b]], one.question),
    value(one.a),
    value(one.b),
  ]);
  return [
    heading(`${made.b} against ${made.a}`),
    h("p", {}, sentence(made, main)),
    made.cautions.map((text) => h("p", { class: "notice" }, text)),
    interval(main),
    balance(main),
    h("h2", {}, "All measures"),
    table("All measures", ["measure", made.a, made.b, "difference", "p"], rows),
    h("h2", {}, `${counted(questions.length, "question")} on which ${made.labels[made.headline]} differs`),
    table("Questions", ["question", made.a, made.b], questions),
  ];
}

function sentence(made, one) {
  const sure = one.p < 0.05;
  const [up, down] = { true: ["better", "worse"], false: ["worse", "better"] }[made.higher_is_better] ?? ["higher", "lower"];
  const label = made.labels[made.headline];
  const told = sure
    ? `${made.b} is ${one.difference > 0 ? up : down} by ${label}`
    : `Which of the two is ${up === "higher" ? up : "better"} by ${label} cannot be told with ${counted(made.n, "question")}`;
  return `${told}: ${value(one.a)} → ${value(one.b)}, a difference of ${value(one.difference)}${range(one)}, p = ${one.p.toFixed(3)}.`;
}

/** The interval of a difference as a picture, with 0 in the middle. */
function interval(one) {
  if (one.low === null) return null;
  const most = Math.max(Math.abs(one.low), Math.abs(one.high), 1e-9);
  const at = (x) => `${50 + (45 * x) / most}%`;
  const part = (name, left, width) => {
    const made = h("span", { class: name });
    made.style.left = left;
    if (width) made.style.width = width;
    return made;
  };
  return h("div", { class: "interval", role: "img", "aria-label": `Difference ${value(one.difference)}, 95% interval${range(one)}` },
    part("zero", "50%"),
    part("span", at(one.low), `${(45 * (one.high - one.low)) / most}%`),
    part("dot", at(one.difference)));
}

/** Wins, ties and losses as one bar. */
function balance(one) {
  const all = one.wins + one.ties + one.losses;
  if (!all) return null;
  const told = `${counted(one.wins, "question")} won, ${one.ties} even, ${one.losses} lost`;
  const part = (name, number) => {
    const made = h("span", { class: name });
    made.style.width = `${(100 * number) / all}%`;
    return made;
  };
  return [h("div", { class: "balance", "aria-hidden": "true" }, part("won", one.wins), part("even", one.ties), part("lost", one.losses)), h("p", { class: "muted" }, told)];
}

async function oneQuestion(params, api) {
  const asked = new URLSearchParams([["id", params.get("id")], ...params.getAll("run").map((name) => ["run", name])]);
  const made = await api.get(`/questions?${asked}`);
  const panel = (one) => h("article", { class: "panel" },
    h("h2", {}, one.run),
    one.error ? h("p", { class: "notice" }, `Failed: ${one.error.message}`) : h("p", { class: "answer-text" }, one.answer ?? ""),
    h("h3", {}, counted(one.interpretations.length, "reading")),
    h("ul", {}, one.interpretations.map((reading) => h("li", {}, reading.question, " ", h("b", {}, reading.answer), h("span", { class: "muted" }, reading.pid ? ` ${reading.pid}` : "")))),
    h("h3", {}, "Scores"),
    h("dl", {}, Object.entries(one.scores).map(([name, score]) => [h("dt", {}, name), h("dd", {}, score === null ? "–" : Number(score).toFixed(3))])),
    h("p", { class: "muted" }, `${counted(one.calls, "call")}, ${one.input_tokens} + ${one.output_tokens} tokens, ${one.seconds.toFixed(1)} s`),
    h("details", {}, h("summary", {}, counted(one.passages.length, "passage")),
      one.passages.map((passage) => h("p", {}, h("b", {}, passage.title || passage.pid), ` ${passage.text}`))));
  return [heading(made.question), h("div", { class: "beside" }, made.runs.map(panel))];
}
