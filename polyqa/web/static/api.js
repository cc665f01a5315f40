// What the page asks the server: JSON, and the events of an answer.

const TOKEN = "polyqa.token";

/** What went wrong, in a sentence; `after` says in how many seconds to try again. */
export class ServerError extends Error {
  constructor(message, kind, after = 0) {
    super(message);
    this.kind = kind;
    this.after = after;
  }
}

async function request(path, options = {}) {
  for (;;) {
    const token = sessionStorage.getItem(TOKEN);
    const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    let response;
    try {
      response = await fetch(path, { ...options, headers, cache: "no-store" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ServerError("The server does not answer. Is polyqa serve still running? Start it, and ask again.", "gone");
    }
    if (response.ok) return response;
    const error = await told(response);
    if (error.kind !== "unauthorized") throw error;
    sessionStorage.removeItem(TOKEN);
    if (!(await askForToken(error))) throw error;
  }
}

async function told(response) {
  const after = Number(response.headers.get("Retry-After") || 0);
  try {
    const { error } = await response.json();
    return new ServerError(error.message, error.kind, after);
  } catch {
    return new ServerError(`The server answered with status ${response.status}. Try again.`, "failed", after);
  }
}

let asking = null;

/** Ask the user for the token, once for all requests that want it. */
function askForToken() {
  asking ??= new Promise((resolve) => {
    const dialog = document.getElementById("token");
    const text = document.getElementById("token-text");
    text.value = "";
    dialog.addEventListener(
      "close",
      () => {
        asking = null;
        const given = dialog.returnValue === "send" && text.value.trim();
        if (given) sessionStorage.setItem(TOKEN, given);
        resolve(Boolean(given));
      },
      { once: true },
    );
    dialog.returnValue = "";
    dialog.showModal();
  });
  return asking;
}

/** Return the JSON at a path. */
export async function get(path, signal) {
  return (await request(path, { signal })).json();
}

/** Ask a question; yield [name, data] for every event. */
export async function* ask(question, signal) {
  const response = await request("/ask", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify(question),
    signal,
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let whole = false;
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      part = { done: true };
    }
    if (part.done) break;
    text += part.value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const event of blocks.map(parsed).filter(Boolean)) {
      if (event[0] === "error") throw new ServerError(event[1].error.message, event[1].error.kind);
      whole ||= event[0] === "result";
      yield event;
    }
  }
  if (!whole) throw new ServerError("The server stopped before the answer was whole. Ask again.", "gone");
}

function parsed(block) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  return data.length ? [name, JSON.parse(data.join("\n"))] : null;
}
