// What screen readers are told; one sentence at a time.
export function announce(text) {
  const place = document.getElementById("announcer");
  if (place && place.textContent !== text) place.textContent = text;
}
