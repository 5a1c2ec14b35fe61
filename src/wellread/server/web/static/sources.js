// [n] opens the source with its quote highlighted: in its document where we can show that, else in its passage.
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

export function prepareDocument() {
  const outline = document.querySelector(".outline details");
  if (outline && matchMedia("(max-width: 68rem)").matches) outline.removeAttribute("open"); // there it stands above the text
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
  if (source.dataset.document) showDocument(viewer, shown, source.dataset.document);
}

async function showDocument(viewer, shown, path) {
  const reply = await fetch(path).catch(() => null);
  if (!reply?.ok || !shown.isConnected) return; // its passage is there already
  const parsed = new DOMParser().parseFromString(await reply.text(), "text/html");
  const paper = parsed.querySelector(".document .paper");
  if (!paper || !shown.isConnected) return;
  const notes = parsed.querySelectorAll(".document > .note");
  const whole = document.createElement("p");
  const link = document.createElement("a");
  link.href = path;
  link.textContent = "Open the whole document";
  whole.append(link);
  whole.className = "whole";
  const words = paper.querySelector("#words");
  for (const one of paper.querySelectorAll("[id]")) one.removeAttribute("id"); // the page may have the same ones
  shown.querySelector("details")?.replaceWith(whole, ...notes, document.adoptNode(paper));
  words?.scrollIntoView({ block: "center" });
}
