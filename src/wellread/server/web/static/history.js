// The history's search, while typing. Without JavaScript the form does the same with a key press more.
let latest = 0;

export function prepareHistory() {
  const form = document.querySelector("form.search");
  if (!form) return;
  const field = form.elements.q;
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => search(field.value), 200);
  });
  if (field.value !== field.defaultValue) search(field.value); // typed before this module was there
}

async function search(words) {
  const mine = ++latest;
  const address = `/history?q=${encodeURIComponent(words)}`;
  const reply = await fetch(address);
  if (!reply.ok) return;
  const parsed = new DOMParser().parseFromString(await reply.text(), "text/html");
  if (mine !== latest) return; // an older reply came late
  document.getElementById("results").replaceWith(document.adoptNode(parsed.getElementById("results")));
  history.replaceState(null, "", address);
}
