// The history's search, while typing. Without JavaScript the form does the same with a key press more.
export function prepareHistory() {
  const form = document.querySelector("form.search");
  if (!form) return;
  let timer = 0;
  let latest = 0;
  form.elements.q.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const mine = ++latest;
      const address = `/history?q=${encodeURIComponent(form.elements.q.value)}`;
      const reply = await fetch(address);
      if (!reply.ok) return;
      const parsed = new DOMParser().parseFromString(await reply.text(), "text/html");
      if (mine !== latest) return; // an older reply came late
      document.getElementById("results").replaceWith(document.adoptNode(parsed.getElementById("results")));
      history.replaceState(null, "", address);
    }, 200);
  });
}
