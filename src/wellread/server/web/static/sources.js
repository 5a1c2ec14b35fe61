// [n] opens the source with its quote highlighted in the passage.
export function prepareSources() {
  document.addEventListener("click", (event) => {
    const cite = event.target.closest(".cite");
    if (!cite) return;
    event.preventDefault();
    openSource(cite.closest("article"), cite.dataset.number);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== " " || !event.target.matches?.(".cite")) return;
    event.preventDefault(); // a role of button promises that the space bar works
    event.target.click();
  });
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog || event.target.closest('[data-action="close"]')) dialog.close();
    });
  }
}

export function openSource(article, number) {
  const source = article?.querySelector(`.source[data-number="${CSS.escape(number)}"]`);
  if (!source) return;
  const shown = document.createElement("div");
  shown.className = "source";
  shown.append(...source.cloneNode(true).childNodes);
  shown.querySelector("details")?.setAttribute("open", "");
  const viewer = document.getElementById("viewer");
  document.getElementById("viewer-title").textContent = `Source ${number}`;
  document.getElementById("viewer-body").replaceChildren(shown);
  viewer.showModal(); // keeps the focus inside, and gives it back to the number on closing
  viewer.querySelector("mark")?.scrollIntoView({ block: "center" });
}
