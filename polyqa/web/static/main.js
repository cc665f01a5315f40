// The link that was followed, the colours, the token; everything else is in the view of questions.

import { Api } from "./api.js";
import { AskView } from "./ask.js";
import { byId } from "./dom.js";
import { keep } from "./store.js";

const api = new Api(askToken);
const ask = new AskView(api);

/** Shows a form for the token; resolves to null if it is cancelled. */
function askToken(wrong) {
  const [dialog, field] = [byId("token-dialog"), byId("token")];
  byId("token-error").textContent = wrong ? "The server did not take that token." : "";
  field.value = "";
  dialog.showModal();
  field.focus();
  return new Promise((resolve) => {
    let given = null;
    byId("token-form").onsubmit = (event) => {
      event.preventDefault();
      given = field.value.trim();
      // A header holds nothing else; a browser would refuse to send it.
      if (!/^[\x21-\x7e]+$/.test(given)) {
        given = null;
        byId("token-error").textContent = "A token is one word of letters, digits and signs.";
        field.focus();
      } else dialog.close();
    };
    byId("token-cancel").onclick = () => dialog.close();
    dialog.onclose = () => resolve(given);
  });
}

function route() {
  const [, ...query] = location.hash.slice(1).split("?"); // a link written by hand may hold more question marks
  const params = new URLSearchParams(query.join("?"));
  if (params.has("q")) ask.fill(params);
  document.title = ask.title;
}

function theme() {
  const dark = byId("dark");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const now = () => document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light");
  const show = () => dark.setAttribute("aria-checked", String(now() === "dark"));
  dark.addEventListener("click", () => {
    const chosen = now() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = chosen;
    keep("polyqa.theme", chosen);
    show();
  });
  system.addEventListener("change", show);
  show();
}

async function footer() {
  try {
    const { version, lm } = await api.get("/health");
    byId("about-server").append(`polyqa ${version} · ${lm}`,
      lm === "polyqa/extractive" ? ": a small engine that finds and quotes answers; a language model writes better ones" : "");
  } catch (error) {
    if (!error.kind) throw error; // what is wrong with the server is said at the form
  }
}

/** On paper everything is unfolded; afterwards it is as it was. */
function printing() {
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("#outcome details:not([open])")];
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of folded) one.open = false;
  });
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the hash holds the question
  byId("main").focus();
});
addEventListener("hashchange", route);
theme();
printing();
footer();
route();
