// The question box: grows with its text, sends on Enter, says what went wrong.
export function prepareForms() {
  for (const form of document.querySelectorAll("form.ask")) prepare(form);
  for (const example of document.querySelectorAll(".example")) {
    example.addEventListener("click", () => {
      const form = document.querySelector("form.ask");
      form.elements.question.value = example.dataset.question;
      form.requestSubmit();
    });
  }
}

function prepare(form) {
  const area = form.elements.question;
  const grow = () => {
    if (CSS.supports("field-sizing", "content")) return;
    area.rows = Math.min(10, area.value.split("\n").length);
  };
  area.addEventListener("input", grow);
  if (matchMedia("(max-width: 34rem)").matches) form.querySelector(".options").removeAttribute("open"); // there is little room
  form.querySelectorAll(".picker select").forEach(shorten);
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (area.value.trim()) form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
  // a page that comes back from the browser's cache must be usable again
  addEventListener("pageshow", () => busy(form, false));
}

// A choice is told in one line while one chooses, and by its name afterwards.
function shorten(select) {
  const lines = [...select.options].map((option) => option.textContent);
  const brief = () => [...select.options].forEach((option) => { option.textContent = option.dataset.shown; });
  const whole = () => [...select.options].forEach((option, number) => { option.textContent = lines[number]; });
  for (const event of ["pointerdown", "keydown"]) select.addEventListener(event, whole);
  for (const event of ["change", "blur"]) select.addEventListener(event, brief);
  brief();
}

async function send(form) {
  const fields = form.elements;
  if (!form.querySelector('input[name="source"]:checked')) return complain(form, "Tick at least one source to search in.");
  const body = {
    question: fields.question.value,
    strategy: fields.strategy.value || null,
    sources: [...form.querySelectorAll('input[name="source"]:checked')].map((box) => box.value),
    model: fields.model.value || null,
    effort: fields.effort.value || null,
    parent: fields.parent ? fields.parent.value : null,
  };
  busy(form, true);
  complain(form, "");
  try {
    const reply = await fetch("/api/runs", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const said = await reply.json();
    if (!reply.ok) throw new Error(said.error);
    location.assign(fields.again ? `/compare/${fields.again.value}/${said.id}` : said.page);
  } catch (problem) {
    busy(form, false);
    complain(form, problem instanceof TypeError ? "The server cannot be reached." : problem.message);
  }
}

function busy(form, yes) {
  form.querySelector(".send").disabled = yes;
}

function complain(form, text) {
  const place = form.querySelector(".problem");
  place.textContent = text;
  place.hidden = !text;
}
