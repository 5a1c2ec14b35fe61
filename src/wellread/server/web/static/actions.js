// Buttons: stop, copy, link, print, theme; and a question before something is deleted.
import { announce } from "./announce.js";

const actions = {
  async stop(button) {
    button.disabled = true;
    const run = button.closest("article").dataset.run;
    try {
      await fetch(`/api/runs/${run}`, { method: "DELETE" });
    } catch {
      button.disabled = false;
      announce("The server cannot be reached.");
    }
  },
  copy: (button) => copy(button, button.dataset.text),
  link: (button) => copy(button, new URL(button.dataset.path, location.href).href),
  print: () => print(),
  theme() {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", document.documentElement.dataset.theme); } catch { /* not kept, then */ }
  },
};

export function prepareActions() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-action]");
    actions[button?.dataset.action]?.(button);
  });
  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (question && !confirm(question)) event.preventDefault();
  });
}

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyThroughSelection(text); // the clipboard's own interface needs https or localhost
  }
  const label = button.lastChild;
  const before = label.textContent;
  label.textContent = "Copied";
  announce("Copied");
  setTimeout(() => { label.textContent = before; }, 1500);
}

function copyThroughSelection(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
