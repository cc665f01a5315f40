// How sure a reading is: words beside it, and behind "?" what such words were worth when they were counted.

import { byId, h } from "./dom.js";

export const HALF = 0.5;

export function drawSure(share, said, backed) {
  if (typeof share !== "number") return h("p", { class: "sure muted" }, backed ? "How sure is not known" : "No passage backs this reading");
  const text = share < HALF ? `Not sure: ${said}` : said.charAt(0).toUpperCase() + said.slice(1);
  const help = h("button", { type: "button", class: "help", "aria-label": "What does this mean?", popovertarget: "how-sure", onclick: () => explain(share) }, "?");
  return h("p", { class: share < HALF ? "sure doubt" : "sure" }, text, " ", help);
}

let table = [];

/** Keeps what the server counted: `[{readings, said, right}]`. */
export function keepTable(rows) {
  table = rows;
}

function explain(share) {
  const percent = (one) => `${Math.round(100 * one)}%`;
  const head = (text) => h("th", { scope: "col", class: "number" }, text);
  byId("how-sure").replaceChildren(
    h("h2", { id: "how-sure-title" }, `${percent(share)}: how likely this reading is right`),
    h("p", {}, "A small model reads the cited passage again and says how clearly this answer stands in it. It cannot know whether the passage itself is right."),
    table.length ? h("table", {},
      h("caption", {}, "Counted on questions whose answers are known:"),
      h("thead", {}, h("tr", {}, head("Readings"), head("It said"), head("Were right"))),
      h("tbody", {}, table.map((row) => h("tr", {}, [row.readings, percent(row.said), percent(row.right)].map((cell) => h("td", { class: "number" }, `${cell}`)))))) : null);
}
