// Runs before the page is drawn, so that nobody sees the wrong colours flash by.
(() => {
  let kept = null;
  try { kept = localStorage.getItem("theme"); } catch { /* storage may be forbidden */ }
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
})();
