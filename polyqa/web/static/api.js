// Talks to the server: JSON, server-sent events read with fetch, errors as sentences, the token when one is wanted.

const TOKEN = "polyqa.token";

class ApiError extends Error {
  constructor(message, { kind, retryAfter = null }) {
    super(message);
    Object.assign(this, { kind, retryAfter });
  }
}

export class Api {
  /** `askToken(wrong)` shows a form and returns a promise of a token, or of null if the reader has none. */
  constructor(askToken) {
    this.askToken = askToken;
    this.asking = null;
    this.token = session("get");
  }

  async get(path) {
    return (await this.request(path)).json();
  }

  /** Asks, and calls `on(name, data)` for each event; resolves when the stream has ended with a result. */
  async ask(body, { signal, on }) {
    const response = await this.request("/ask", {
      method: "POST",
      signal,
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify(body),
    });
    let ended = false;
    for await (const { name, data } of events(response.body)) {
      if (name === "error") throw failure(data, 0, null);
      ended ||= name === "result";
      on(name, data);
    }
    if (!ended) throw broken();
  }

  async request(path, options = {}) {
    const used = this.token;
    const headers = { ...options.headers, ...(used ? { authorization: `Bearer ${used}` } : {}) };
    let response;
    try {
      response = await fetch(path, { ...options, headers });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError(
        `The server at ${location.host} does not answer. Start it with “polyqa serve”, then try again.`,
        { kind: "gone" },
      );
    }
    if (response.ok) return response;
    const error = await failed(response);
    if (response.status !== 401) throw error;
    if (used === this.token && !(await this.newToken(used !== null))) throw error;
    return this.request(path, options);
  }

  /** Several requests that are refused at once ask for one token. */
  async newToken(wrong) {
    this.asking ??= this.askToken(wrong).finally(() => (this.asking = null));
    const token = await this.asking;
    if (token === null) return false;
    this.token = token;
    session("set", token);
    return true;
  }
}

function session(how, value) {
  try {
    return how === "get" ? sessionStorage.getItem(TOKEN) : sessionStorage.setItem(TOKEN, value);
  } catch {
    return null; // the browser keeps nothing: the token lives as long as the page
  }
}

const broken = () =>
  new ApiError("The connection broke before the answer was there. Try again; the server may have been stopped.", {
    kind: "gone",
  });

async function failed(response) {
  const after = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  let body = null;
  try {
    body = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
  }
  return failure(body, response.status, Number.isNaN(after) ? null : after);
}

function failure(body, status, retryAfter) {
  const told = body?.error ?? {};
  const message = told.message ?? `The server answered with the status ${status}, and did not say why.`;
  return new ApiError(message, { kind: told.kind ?? "failed", retryAfter });
}

/** Yields the events of a stream: `{name, data}`, data parsed. */
async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        throw error instanceof TypeError ? broken() : error;
      });
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop();
      for (const block of blocks) {
        const event = parsed(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // an aborted stream is already cancelled, and says so here
  }
}

function parsed(block) {
  let name = "message";
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { name, data: JSON.parse(data.join("\n")) } : null;
}
