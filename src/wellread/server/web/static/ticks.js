// Sources that are ticked: the closed list says which, and closes when one turns to something else.
export function prepareTicks() {
  for (const list of document.querySelectorAll("details.ticks")) {
    list.addEventListener("change", () => tell(list));
    list.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !list.open) return;
      list.open = false;
      list.querySelector("summary").focus();
    });
    tell(list); // a browser may have kept other ticks than the server sent
  }
  document.addEventListener("click", (event) => {
    for (const list of document.querySelectorAll("details.ticks[open]")) {
      if (!list.contains(event.target)) list.open = false;
    }
  });
}

function tell(list) {
  const ticked = [...list.querySelectorAll("input:checked")].map((box) => box.parentElement.textContent);
  list.querySelector(".ticked").textContent = ticked.length ? ticked.join(", ") : "nothing";
}
