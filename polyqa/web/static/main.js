// The views by the URL's hash, and light or dark.

import * as api from "./api.js";
import { fill, h } from "./dom.js";

const VIEWS = { ask: () => import("./ask.js"), runs: () => import("./runs.js") };
const THEME = "polyqa.theme";
const main = document.getElementById("main");
let shown = null;

/** Return the view and its parameters that the hash names. */
function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/");
  return { view: view in VIEWS ? view : "ask", rest: rest.map(decodeURIComponent), params: new URLSearchParams(query) };
}

async function show() {
  const { view, rest, params } = place();
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const module = await VIEWS[view]();
  const again = shown === view;
  shown = view;
  try {
    await module.show(main, { rest, params, again }, api);
  } catch (error) {
    fill(main, h("p", { class: "error", role: "alert" }, error.message));
  }
}

function dark() {
  const chosen = localStorage.getItem(THEME);
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function paint() {
  document.documentElement.dataset.theme = dark() ? "dark" : "light";
  document.getElementById("theme").textContent = dark() ? "Light" : "Dark";
}

document.getElementById("theme").addEventListener("click", () => {
  localStorage.setItem(THEME, dark() ? "light" : "dark");
  paint();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the hash names the view
  main.focus();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
addEventListener("hashchange", show);
paint();
show();
