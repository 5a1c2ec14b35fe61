"""Pages that the test searx knows: title, address, text."""

from __future__ import annotations

DOCUMENTS = [
    (
        "Penicillin - a history",
        "https://example.org/penicillin",
        "Fleming discovered <b>penicillin</b> in 1928 &amp; told it.",
    ),
    (
        "How antibiotics work",
        "https://example.net/antibiotics",
        "Penicillin keeps bacteria from building walls.",
    ),
    ("Café Zürich", "https://example.com/caf%C3%A9", "Crème brûlée in 東京."),
    ("Trap", "javascript:alert(1)", "A zugzwangling trap whose address is a script."),
    *((f"Lighthouse {n}", f"https://example.org/lighthouse/{n}", f"Lighthouse {n} of many.") for n in range(1, 26)),
]
