// A run that is going on: status, steps and words as they come. The server makes the HTML of steps and
// of the answer, unfinished and finished.
import { announce } from "./announce.js";

export function followAll() {
  for (const article of document.querySelectorAll('article[data-state="running"]')) follow(article);
}

function follow(article) {
  const run = article.dataset.run;
  // the browser reconnects by itself and tells the server which event it had last
  const stream = new EventSource(`/r/${run}/live?offset=${article.dataset.offset}`);
  stream.onmessage = (message) => {
    const news = JSON.parse(message.data);
    draw(article, news);
    if (news.ended) {
      stream.close();
      finish(article, run);
    }
  };
  stream.onerror = () => {
    if (stream.readyState === EventSource.CLOSED) finish(article, run);
    else setStatus(article, "The connection was lost; trying again");
  };
}

function draw(article, news) {
  if (news.status) setStatus(article, news.status);
  if (news.step) article.querySelector(".steps").insertAdjacentHTML("beforeend", news.step);
  if (news.draft) article.querySelector(".draft").innerHTML = news.draft;
}

function setStatus(article, text) {
  const place = article.querySelector(".status-text");
  if (place && place.textContent !== text) {
    place.textContent = text;
    announce(text);
  }
}

async function finish(article, run, tries = 0) {
  try {
    const reply = await fetch(`/r/${run}/article`);
    if (!reply.ok) throw new Error(String(reply.status));
    const parsed = new DOMParser().parseFromString(await reply.text(), "text/html");
    const fresh = parsed.querySelector("article");
    if (fresh.dataset.state === "running") throw new Error("not yet");
    article.replaceWith(document.adoptNode(fresh));
    const words = fresh.querySelector(".answer");
    announce(words ? `Answer: ${words.textContent}` : fresh.querySelector(".note")?.textContent ?? "The run has ended.");
  } catch {
    if (tries < 20) setTimeout(() => finish(article, run, tries + 1), 150 * (tries + 1));
    else setStatus(article, "The answer cannot be loaded; reload the page.");
  }
}
