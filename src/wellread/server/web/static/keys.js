// Keys for those who prefer them; never while something is being typed.
import { openSource, turn } from "./sources.js";

const lastArticle = () => [...document.querySelectorAll("article.run")].pop();
const press = (selector) => lastArticle()?.querySelector(selector)?.click();

const keys = {
  "/": () => document.querySelector(".hero form.ask textarea, .follow-up textarea, form.search input")?.focus(),
  n: () => location.assign("/"),
  h: () => location.assign("/history"),
  s: () => press('[data-action="stop"]'),
  c: () => press('[data-action="copy"]'),
  "?": () => document.getElementById("keys").showModal(),
};

export function prepareKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && event.target.matches("textarea, input")) event.target.blur();
    if (event.target.matches("textarea, input, select")) return;
    const viewer = document.getElementById("viewer");
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && turn(step)) return event.preventDefault();
    if (event.key === "Escape" && viewer.open && !viewer.matches(":modal")) viewer.close();
    if (document.querySelector("dialog:modal")) return;
    if (/^[1-9]$/.test(event.key)) openSource(lastArticle(), event.key);
    else if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
}
