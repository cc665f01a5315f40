// The questions that were asked here, in this browser only.

const KEY = "polyqa.history";
const MOST = 50;

/** Return what was asked, the latest first: {q, program, beside, index}. */
export function asked() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) || "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one?.q === "string") : [];
  } catch {
    return [];
  }
}

/** Keep a question as the latest one. */
export function remember(question) {
  const same = JSON.stringify(question);
  const kept = [question, ...asked().filter((one) => JSON.stringify(one) !== same)].slice(0, MOST);
  localStorage.setItem(KEY, JSON.stringify(kept));
}

/** Forget all questions. */
export function forget() {
  localStorage.removeItem(KEY);
}

/** Return the part of the URL that names a question: opening it fills the form, and asks nothing. */
export function link(question) {
  const set = Object.entries(question).filter(([, value]) => value);
  return `#/ask?${new URLSearchParams(set)}`;
}
