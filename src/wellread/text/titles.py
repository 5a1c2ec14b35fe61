"""Titles as they stand in running text."""

from __future__ import annotations

from wellread.types import Passage

SHORTEST = 4  # characters; shorter titles are found everywhere


def bare_title(title: str) -> str:
    """A title without what tells it from others of the same name: "Titan (moon)" is written Titan."""
    whole = title.rstrip()
    if not whole.endswith(")"):
        return title
    opens = whole.find("(", whole.rfind(")", 0, -1) + 1)
    return title if opens < 0 else whole[:opens].rstrip()


def mentions(text: str, title: str) -> bool:
    """Whether a text writes a title as a name: as whole words, capitals included."""
    name = bare_title(title)
    place = text.find(name) if len(name) >= SHORTEST else -1
    while place >= 0:
        end = place + len(name)
        if not (text[max(place - 1, 0) : place].isalnum() or text[end : end + 1].isalnum()):
            return True
        place = text.find(name, end)
    return False


def leads_to(passage: Passage, title: str) -> bool:
    """Whether a passage of one document links to another one, which has this title, or writes it as a name."""
    return title != passage.title and (title in passage.links or mentions(passage.text, title))
