// Runs before the first paint, so that a dark page does not flash white. Not a module: modules run too late for that.
(function () {
  var kept = null;
  try {
    kept = JSON.parse(localStorage.getItem("polyqa.theme"));
  } catch (refused) {
    kept = null; // the browser keeps nothing for this page: it follows the system's colours
  }
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
})();
