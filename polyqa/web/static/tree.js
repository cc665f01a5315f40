// The tree of clarifications: nested lists with lines. A node with children is a button that folds them; arrow keys
// move from node to node, left folds, right unfolds.

import { h } from "./dom.js";

const STATUS = {
  root: "",
  valid: "",
  pruned: "dropped: does not answer the question",
  restored: "dropped, then taken back",
};

export function drawTree(tree, { cite }) {
  const list = h("ul", { class: "tree" }, node(tree, cite));
  const all = (open) => () => {
    for (const button of list.querySelectorAll("button[aria-expanded]")) fold(button, open);
  };
  list.addEventListener("keydown", (event) => {
    const nodes = [...list.querySelectorAll(".tree-node")].filter((one) => one.checkVisibility());
    const at = nodes.indexOf(event.target.closest(".tree-node"));
    if (at < 0) return;
    const { key } = event;
    if (key === "ArrowDown") nodes[at + 1]?.focus();
    else if (key === "ArrowUp") nodes[at - 1]?.focus();
    else if ((key === "ArrowLeft" || key === "ArrowRight") && nodes[at].hasAttribute("aria-expanded"))
      fold(nodes[at], key === "ArrowRight");
    else return;
    event.preventDefault();
  });
  return h(
    "div", {},
    h("p", { class: "tree-tools" },
      h("button", { type: "button", class: "small", onclick: all(true) }, "Unfold all"),
      h("button", { type: "button", class: "small", onclick: all(false) }, "Fold all")),
    list,
  );
}

function fold(button, open) {
  button.setAttribute("aria-expanded", String(open));
  button.closest("li").querySelector(":scope > ul").hidden = !open;
}

function node(one, cite) {
  const told = [
    h("span", { class: "tree-question" }, one.question),
    one.answer ? h("span", { class: "tree-answer" }, one.answer) : null,
    STATUS[one.status] ? h("span", { class: "tree-status" }, STATUS[one.status]) : null,
  ];
  const status = `tree-item tree-${one.status}`;
  const mark = one.pid ? cite(one.pid) : null;
  if (!one.children.length) {
    return h("li", { class: status }, h("span", { class: "tree-node", tabindex: -1 }, told), mark);
  }
  const button = h("button", {
    type: "button", class: "tree-node", "aria-expanded": "true",
    onclick: (event) => {
      const at = event.currentTarget;
      fold(at, at.getAttribute("aria-expanded") !== "true");
    },
  }, told);
  return h("li", { class: status }, button, mark, h("ul", {}, one.children.map((child) => node(child, cite))));
}
