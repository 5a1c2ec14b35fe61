// [n] opens the source with its quote highlighted: in its document where we can show that, else in its passage.
// Where there is room it stands beside the answer, which stays in use; else above it.
import { announce } from "./announce.js";

const beside = matchMedia("(min-width: 1100px)");
let opened = null; // the article and the number whose source is shown

export function prepareSources() {
  const viewer = document.getElementById("viewer");
  viewer.addEventListener("close", () => {
    document.body.classList.remove("beside");
    point(null);
  });
  beside.addEventListener("change", () => viewer.close());
  for (const event of ["mouseover", "focusin"]) document.addEventListener(event, (happened) => peek(happened.target));
  for (const event of ["mouseout", "focusout", "scroll"]) document.addEventListener(event, () => peek(null));
  document.addEventListener("click", (event) => {
    const cite = event.target.closest(".cite");
    if (!cite) return;
    event.preventDefault();
    openSource(cite.closest("article") ?? opened?.article, cite.dataset.number);
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

// The quote of a number, while one is on it.
function peek(target) {
  document.getElementById("peek")?.remove();
  const cite = target?.closest?.(".cite");
  const quote = cite && sourceOf(cite.closest("article") ?? opened?.article, cite.dataset.number)?.querySelector("blockquote, .passage mark");
  if (!quote) return;
  const shown = Object.assign(document.createElement("div"), { id: "peek", textContent: quote.textContent });
  shown.setAttribute("aria-hidden", "true"); // the number's own label says what it is
  document.body.append(shown);
  const place = cite.getBoundingClientRect();
  const below = place.bottom + shown.offsetHeight + 12 < innerHeight;
  shown.style.top = `${below ? place.bottom + 6 : place.top - shown.offsetHeight - 6}px`;
  shown.style.left = `${Math.max(8, Math.min(place.left, innerWidth - shown.offsetWidth - 8))}px`;
}

const sourceOf = (article, number) => article?.querySelector(`.source[data-number="${CSS.escape(number)}"]`);

function point(now) {
  for (const cite of document.querySelectorAll(".cite[aria-current]")) cite.removeAttribute("aria-current");
  const before = opened;
  opened = now;
  const cites = (one) => one?.article.querySelectorAll(`.cite[data-number="${CSS.escape(one.number)}"]`) ?? [];
  for (const cite of cites(now)) cite.setAttribute("aria-current", "true");
  if (!now && before) (before.from?.isConnected ? before.from : cites(before)[0])?.focus();
}

// To the source before or after the one that is open; false where none is.
export function turn(step) {
  if (!opened || !document.getElementById("viewer").open) return false;
  const numbers = [...opened.article.querySelectorAll(".source")].map((one) => one.dataset.number);
  const next = numbers[numbers.indexOf(opened.number) + step];
  if (next) {
    openSource(opened.article, next);
    announce(document.getElementById("viewer-title").textContent);
  }
  return true;
}

export function openSource(article, number) {
  const source = sourceOf(article, number);
  if (!source) return;
  const shown = document.createElement("div");
  shown.className = "source";
  shown.append(...source.cloneNode(true).childNodes);
  shown.querySelector("details")?.setAttribute("open", "");
  const viewer = document.getElementById("viewer");
  document.getElementById("viewer-title").textContent = source.dataset.title ?? `Source ${number}`;
  document.getElementById("viewer-body").replaceChildren(shown);
  const from = opened?.from ?? (document.activeElement?.matches(".cite") ? document.activeElement : null);
  if (!viewer.open && beside.matches) viewer.show();
  else if (!viewer.open) viewer.showModal(); // keeps the focus inside
  document.body.classList.toggle("beside", beside.matches);
  peek(null);
  point({ article, number, from });
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
