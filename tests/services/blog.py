"""Entries of the test blog, for the ReAct recipe's blog search."""

from __future__ import annotations

LONG = "<p>" + "The keeper climbs the stairs each evening. " * 60 + "The last lamp is in Portland.</p>"
ENTRIES = [
    (
        "How bread was baked in the village",
        "bread",
        "<p>Every Saturday the <b>oven</b> was lit at four. The sourdough had rested &amp; risen overnight.</p>"
        "<script>alert(1)</script>",
        "2021-03-04T08:00:00",
    ),
    (
        "A year with a hand press",
        "press",
        "<p>Printing with lead type taught me patience. The first sheet took a whole day; "
        "the sourdough joke is another story.</p>",
        "2022-07-01T10:30:00",
    ),
    ("Café notes", "cafe", "<p>Crème brûlée in 東京, and why the cat is called 'Ωmega'.</p>", "2023-01-15T09:00:00"),
    (
        "On lighthouses",
        "lighthouses",
        "<p>" + "The keeper climbs the stairs each evening. " * 60 + "The last lamp is in Portland.</p>",
        "2020-05-05",
    ),
    ("Penicillin in a jar", "penicillin", "<p>Fleming found penicillin on a mouldy plate in 1928.</p>", "2019-09-28"),
]
NOTES = [
    ("2021-01-01", "Buy flour and water for the sourdough starter."),
    ("2021-01-02", "The lighthouse keeper wrote back."),
]
