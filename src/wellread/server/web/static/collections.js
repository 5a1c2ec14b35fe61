// Documents on their way in: dropped or chosen, sent with a bar that can be stopped, and then how far reading is.
import { announce } from "./announce.js";

export function prepareCollections() {
  document.querySelectorAll("form.sending").forEach(prepare);
  watch();
}

function prepare(form) {
  const drop = form.querySelector(".drop");
  const input = drop.querySelector("input");
  const words = drop.querySelector(".drop-words");
  const folder = form.querySelector(".whole-folder input");
  words.textContent = "Drop documents or a folder here, or choose them";
  for (const one of [input, folder]) one.addEventListener("change", () => take(form, words, [...input.files, ...folder.files]));
  for (const event of ["dragenter", "dragover"]) {
    drop.addEventListener(event, (happened) => {
      happened.preventDefault();
      drop.classList.add("over");
    });
  }
  for (const event of ["dragleave", "drop"]) drop.addEventListener(event, () => drop.classList.remove("over"));
  drop.addEventListener("drop", async (event) => {
    event.preventDefault();
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
    const found = entries.length ? (await Promise.all(entries.map(inside))).flat() : [...event.dataTransfer.files];
    if (!found.length) return;
    take(form, words, found);
    if (form.checkValidity()) form.requestSubmit();
    else form.reportValidity();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
}

// The files of what was dropped, each with its path from there on; hidden ones stay out.
async function inside(entry) {
  if (entry.name.startsWith(".")) return [];
  if (entry.isFile) {
    const file = await new Promise((found, failed) => entry.file(found, failed));
    return [Object.assign(file, { path: entry.fullPath.slice(1) })];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) { // it gives a hundred at a time
    const some = await new Promise((read, failed) => reader.readEntries(read, failed));
    if (!some.length) return found;
    found.push(...(await Promise.all(some.map(inside))).flat());
  }
}

function take(form, words, files) {
  form.chosen = files;
  words.textContent = files.length === 1 ? files[0].name : `${files.length} documents`;
}

function send(form) {
  const files = form.chosen ?? [];
  const size = files.reduce((sum, file) => sum + file.size, 0);
  if (!files.length) return complain(form, "Choose documents to begin with.");
  if (size > Number(form.dataset.most)) return complain(form, "That is too much at once: send fewer documents.");
  complain(form, "");
  const sent = form.querySelector(".sent");
  const bar = sent.querySelector("progress");
  const cancel = sent.querySelector("button");
  const request = new XMLHttpRequest(); // fetch does not tell how much has been sent
  const ended = (problem) => {
    sent.hidden = true;
    form.querySelector(".primary").disabled = false;
    cancel.onclick = null;
    if (problem) complain(form, problem);
  };
  request.upload.onprogress = (news) => { if (news.lengthComputable) bar.value = (100 * news.loaded) / news.total; };
  request.onload = () => arrived(form, request, ended);
  request.onerror = () => ended("The server cannot be reached, or did not take so much.");
  request.onabort = () => ended("Cancelled; nothing was added.");
  cancel.onclick = () => request.abort();
  request.open("POST", form.action);
  request.setRequestHeader("Accept", "text/html");
  bar.value = 0;
  sent.hidden = false;
  form.querySelector(".primary").disabled = true;
  const data = new FormData(form);
  data.delete("documents");
  for (const file of files) data.append("documents", file, file.path || file.webkitRelativePath || file.name);
  request.send(data);
}

function arrived(form, request, ended) {
  const page = new DOMParser().parseFromString(request.responseText, "text/html");
  const note = page.querySelector(".shelf > .note");
  if (request.status < 400 && !note) return location.assign(request.responseURL);
  const fresh = page.getElementById("collection");
  if (!fresh) return ended(note?.textContent ?? page.querySelector("h1")?.textContent ?? said(request));
  history.pushState(null, "", fresh.dataset.path); // some are in, some are not: the page says which
  document.getElementById("main").replaceWith(document.adoptNode(page.getElementById("main")));
  announce(note.textContent);
  prepareCollections();
}

function said(request) {
  try {
    return JSON.parse(request.responseText).error;
  } catch {
    return "The documents were not taken.";
  }
}

function complain(form, text) {
  const place = form.querySelector(".problem");
  place.textContent = text;
  place.hidden = !text;
}

function replace(fresh) {
  document.getElementById("collection").replaceWith(document.adoptNode(fresh));
  watch();
}

// While documents are being read the page asks how far that is.
function watch() {
  const shown = document.getElementById("collection");
  if (shown?.dataset.working === undefined) return;
  setTimeout(async () => {
    const reply = await fetch(location.pathname).catch(() => null);
    if (!shown.isConnected) return;
    const page = reply?.ok ? new DOMParser().parseFromString(await reply.text(), "text/html") : null;
    const fresh = page?.getElementById("collection");
    if (!fresh) return watch(); // it comes back, or one leaves
    if (shown.contains(document.activeElement) && fresh.dataset.working !== undefined) {
      shown.querySelector(".standing").replaceWith(document.adoptNode(fresh.querySelector(".standing"))); // keep the focus
      return watch();
    }
    if (fresh.dataset.working === undefined) announce("All documents have been read.");
    replace(fresh);
  }, 700);
}
