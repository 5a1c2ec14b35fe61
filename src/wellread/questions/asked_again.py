"""The last question once more: asked otherwise ("Why?"), or about something else ("And in 1990?", "What about rice?")."""

from __future__ import annotations

from wellread.questions.mentions import Mention, names, phrases
from wellread.text import patterns as re

_AUX = "is|are|was|were|do|does|did|can|could|will|would|shall|should|may|might|must|has|have|had"
_WORDS = (
    "why not|why|when|where|who|whom|how come|how much|how many|how long|how often|how|since when|until when|by whom|what for"
)
_BARE = re.compile(rf"(?P<word>{_WORDS})(?: exactly| (?:is|was) (?:that|it|this))?", re.IGNORECASE)
_ASKING = r"(?:by |in |on |at |for |from |to |since |until )?(?:who|whom|whose|what|which|when|where|why|how)\b"
_INVERTED = re.compile(rf"(?P<word>{_ASKING}(?: (?!(?:{_AUX})\b)[\w-]+){{0,3}}?) (?P<aux>{_AUX})\b(?P<rest>.*)", re.IGNORECASE)
_SUBJECT = re.compile(rf"(?P<word>(?:who|what|which(?: [\w-]+)?)) (?P<rest>(?!(?:{_AUX})\b).+)", re.IGNORECASE)
_YES_NO = re.compile(rf"(?:{_AUX})\b.*", re.IGNORECASE)
_ABOUT = re.compile(r"(?:what|how) about (?P<thing>.+)", re.IGNORECASE)
_PLACED = re.compile(
    r"(?:(?P<how>in|on|at|for|with|from|to|by|under|of|since|after|before) )?(?P<thing>(?:[\w'’.-]+ ?){1,5})", re.I
)
_OWN = re.compile(r"(?:his|her|its|their) ", re.IGNORECASE)
_COUNTED = re.compile(r"how (many|much) (.+)", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:1\d{3}|20\d\d)\b")
_MOST = re.compile(r"\bthe (?:(?:most|least) \w+|\w+est|first|last)\b", re.IGNORECASE)
_VERBAL = re.compile(rf"\b(?:{_AUX}|who|what|when|where|why|how|which|i|you|he|she|it|they|we|that|there)\b", re.IGNORECASE)


def asked_again(bare: str, last: str, named: Mention | None) -> str | None:
    """The last question with this question word; None where there is more than a question word."""
    match = _BARE.fullmatch(bare)
    if match is None:
        return None
    word, base = match["word"].capitalize(), last.strip(" ?!.")
    if inverted := _INVERTED.fullmatch(base):
        counted = _COUNTED.fullmatch(inverted["word"])
        so = f" so {counted[1]} {counted[2]}" if counted else ""
        return f"{word} {inverted['aux']} {_who_was(inverted, named)}{inverted['rest'].strip()}{so}?"
    if subject := _SUBJECT.fullmatch(base):
        someone = named.text if named else "someone" if subject["word"].casefold() == "who" else "something"
        return f"{word} {'is' if word.startswith(('Why', 'How')) else 'was'} it that {someone} {subject['rest']}?"
    if _YES_NO.fullmatch(base):
        return f"{word} {base[0].lower()}{base[1:]}?"
    return f"{word}: {base}?"


def instead(bare: str, last: str, *, joined: bool) -> str | None:
    """The last question about another thing, time or place; `joined`: it began with "and"."""
    about = _ABOUT.fullmatch(bare)
    placed = _PLACED.fullmatch(about["thing"] if about else bare)
    if placed is None or (about is None and (_VERBAL.search(bare) or not (joined or placed["how"] or _YEAR.fullmatch(bare)))):
        return None
    base, thing = last.strip(" ?!."), placed["thing"].strip()
    for pattern in (_YEAR, _MOST):
        if pattern.search(thing) and (found := pattern.search(base)):
            return f"{base[: found.start()]}{thing}{base[found.end() :]}?"
    if placed["how"] and (found := re.search(rf"\b{placed['how']} (?:the )?(?:[\w'’-]+)(?: [A-Z][\w'’-]*)*", base)):
        return f"{base[: found.start()]}{placed['how']} {thing}{base[found.end() :]}?"
    if placed["how"]:
        return f"{base} {placed['how']} {thing}?"
    others = _alike(thing, base)
    if not others:
        return f"{base} ({thing})?"
    if own := _OWN.match(thing):  # "and his brother": of the one whom the last question was about
        thing = f"{others[-1]}’s {thing[own.end() :]}"
    before, _, after = base.rpartition(others[-1])
    thing = thing.removeprefix("the ") if before.endswith(("the ", "The ")) else thing
    return f"{before}{thing}{after}?"


def _alike(thing: str, base: str) -> list[str]:
    """What of the last question a thing could take the place of: a name that of a name."""
    capitals = names(base)
    if capitals and (thing[0].isupper() or _OWN.match(thing)):
        return capitals
    return [one for one in phrases(base) if not any(name in one for name in capitals)] or capitals


def _who_was(inverted: re.Match[str], named: Mention | None) -> str:
    """In "Who was the first president", the answer is what "was" speaks of; "When was the first president" is not."""
    asked_for = inverted["word"].casefold().startswith(("who", "what", "which"))
    being = inverted["aux"].casefold() in ("is", "are", "was", "were")
    return f"{named.text} " if asked_for and being and named else ""
