// One answer: its steps as they end, then the whole of it in three tabs.

import { calls, prompts } from "./calls.js";
import { counted, fill, h, seconds } from "./dom.js";
import { evidence } from "./evidence.js";
import { stepItem } from "./steps.js";
import { tabs } from "./tabs.js";

/** Ask, and show what comes: {element, done}. */
export function answering(api, asked, signal) {
  const status = h("p", { class: "status", role: "status" }, "Asking …");
  const steps = h("ol", { class: "steps" });
  const progress = h("details", { class: "progress", open: true }, h("summary", {}, "Steps"), steps);
  const body = h("div", {});
  const title = h("h2", { tabindex: -1 }, asked.program);
  const element = h("section", { class: "answer", "aria-label": `Answer of ${asked.program}` }, title, status, progress, body);
  const write = h("p", { class: "text" });

  async function run() {
    fill(body);
    fill(steps);
    progress.open = true;
    element.setAttribute("aria-busy", "true");
    try {
      for await (const [name, data] of api.ask(asked, signal)) {
        if (name === "waiting") status.textContent = `Place ${data.place} in the queue …`;
        else if (name === "started") status.textContent = `${data.lm} is reading ${data.index} …`;
        else if (name === "step") {
          steps.append(stepItem(data));
          status.textContent = `${data.title} (step ${data.number}, ${seconds(data.at)}) …`;
        } else if (name === "sentence") {
          if (!write.isConnected) fill(body, write);
          write.append(...data.pieces.map((piece) => ("text" in piece ? piece.text : `[${piece.cites.join(", ")}]`)), " ");
        } else if (name === "result") whole(data);
      }
    } catch (error) {
      failed(error);
    } finally {
      element.removeAttribute("aria-busy");
    }
  }

  function whole(result) {
    progress.open = false;
    fill(progress.querySelector("summary"), counted(steps.children.length, "step"));
    const readings = counted(result.interpretations.length, "reading");
    status.textContent = `Answered: ${readings}, ${counted(result.calls, "call")}, ${seconds(result.seconds)}.`;
    const panels = [
      ["Answer", evidence(result)],
      ["Prompts and replies", prompts(result)],
      ["Tokens and time", calls(result)],
    ];
    fill(body, tabs(`Answer of ${asked.program}`, panels));
  }

  function failed(error) {
    status.textContent = "";
    if (error.name === "AbortError") {
      status.textContent = "Stopped.";
      return;
    }
    const again = h("button", { type: "button", onclick: () => (done = run()) }, "Try again");
    const message = h("p", { class: "error", role: "alert" }, error.message, " ");
    fill(body, message, again);
    if (error.after) countdown(again, error.after);
  }

  let done = run();
  return { element, done };
}

function countdown(button, left) {
  button.disabled = left > 0;
  button.textContent = left > 0 ? `Try again in ${left} s` : "Try again";
  if (left > 0) setTimeout(countdown, 1000, button, left - 1);
}
