// What the browser keeps. A browser may refuse to keep anything (private windows, blocked storage): the page then works
// without memory, which is all that can be done, so reading gives the default and writing does nothing.

export function kept(key, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function keep(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {} // the page works without memory
}
