// The tree of clarifications: branches fold.

import { h } from "./dom.js";

const STATUS = { pruned: "left out: the answer does not fit the question", restored: "left out at first, and taken back" };

/** Return the tree below a node. */
export function tree(root) {
  return h("ul", { class: "tree" }, node(root));
}

function node(one) {
  const told = [
    h("span", { class: one.status === "pruned" ? "pruned" : "" }, one.question),
    one.answer ? [" ", h("b", {}, one.answer)] : null,
    STATUS[one.status] ? h("span", { class: "quiet" }, ` (${STATUS[one.status]})`) : null,
  ];
  if (!one.children.length) return h("li", {}, h("span", { class: "leaf" }, told));
  return h("li", {}, h("details", { open: true }, h("summary", {}, told), h("ul", {}, one.children.map(node))));
}
