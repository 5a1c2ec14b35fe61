"""Words that stand for something said before: those of a question that refer out of it, and how a name takes their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wellread.questions.mentions import names, phrases
from wellread.text import patterns as re

Stands = Literal["person", "thing", "several", "place", "date", "any"]

_NOUNS = "country|city|town|person|planet|man|woman|place|river|island|state|book|film|movie|company|team|language|animal"
_AFTER_HER = "in|on|at|to|for|with|and|or|from|by|of|when|after|before|as|so|too"  # before these "her" does not say whose
_PRONOUN = re.compile(
    rf"\b(?:(?P<any>(?:that|this|the same) (?:{_NOUNS})(?P<anys>['’]s)?)"
    rf"|(?P<person>he|she|him|himself|herself|(?P<persons>his|her(?= (?!(?:{_AFTER_HER})\b)\w)|hers)|her)"
    r"|(?P<thing>it|itself|(?P<things>its))"
    r"|(?P<several>they|them|themselves|(?:these|those)(?= (?:two|ones)\b| *[?.!]*$)|(?P<severals>their|theirs))"
    r"|(?P<place>(?<!is )(?<!are )(?<!was )(?<!were )there(?= *[?.!]*$| (?:in|on|by|during|before|after|every|each)\b))"
    r"|(?P<date>(?:at|by|since|before|after) that time|in that year|back then|then(?= *[?.!]*$)))\b(?!['’]s)",
    re.IGNORECASE,
)
# "it" that stands for nothing: is it safe to, it takes, it rains.
_EMPTY = re.compile(
    r"\bit (?:is |was |would be |will be )?(?:[\w-]+ ){1,3}?(?:to|that|if|for|when)\b|\btime is it\b|\bcalled it\b"
    r"|\bit(?:['’]?s)? (?:take|takes|took|rain\w*|snow\w*|seems?|matters?|true|possible|necessary|ok|okay|worth|mean)\b",
    re.IGNORECASE,
)
_AUX = "is|are|was|were|do|does|did|can|could|should|will|would|has|have|had"
_CLAUSE = re.compile(
    r"[,;.?!:]|\b(?:and|but|or|when|if|after|before|while|because|until|since|although|that|who|which|how|so|as)\b", re.I
)
_PREPOSITION = re.compile(r"\b(?:with|to|for|from|behind|around|by|on|in|of|inside|over|under|about|into|through) \Z", re.I)
_DETERMINED = re.compile(r"\b(?:the|a|an|my|your|our|each|every|someone|somebody|anyone|everyone|people)\b", re.I)
_PLURAL = re.compile(
    r"\b(?!(?:is|was|does|has|this|its|as|his|us|yes|always|perhaps|besides)\b)\w{2,}(?<![sui])s\b"
    r"|\b(?:people|children|men|women|\w+ and \w+)\b",
    re.I,
)
_WH_PHRASE = re.compile(rf"^\W*(?:(?:in|on|at|for|by|to|from) )?(?:what|which|how)\b(?: [\w'’-]+){{0,4}}? (?=(?:{_AUX})\b)", re.I)
_WHO_DID = re.compile(rf"who (?!(?:{_AUX})\b)", re.I)
_APART = 3  # words between a name and what stands for it in the same clause: "Apple sells it" is about something else
_ASKED = {
    "person": "Who is meant by “{word}”?",
    "thing": "What is meant by “{word}”?",
    "several": "Who or what is meant by “{word}”?",
    "any": "What is meant by “{word}”?",
    "place": "Which place is meant by “{word}”?",
    "date": "",
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A word of a question that stands for something outside it."""

    word: str
    kind: Stands
    own: bool  # it says whose
    start: int
    end: int

    @property
    def asked(self) -> str:
        """What to ask where nobody knows what it stands for."""
        return _ASKED[self.kind].format(word=self.word)


def references(question: str) -> list[Reference]:
    """The words that refer to something outside the question, the first of each kind, in their order."""
    found: dict[str, Reference] = {}
    for match in _PRONOUN.finditer(question):
        kind: Stands = next(one for one in ("any", "person", "thing", "several", "place", "date") if match[one])
        own = kind in ("any", "person", "thing", "several") and match[f"{kind}s"] is not None
        one = Reference(match[0], kind, own, match.start(), match.end())
        if kind not in found and not _stands_for_nothing(question, one) and not _is_inside(question, one):
            found[kind] = one
    return list(found.values())


def put(question: str, reference: Reference, name: str) -> str:
    """The question with a name in the place of a word."""
    if reference.own:
        name = f"{name}’" if name.endswith("s") and reference.kind == "several" else f"{name}’s"
    elif reference.kind == "place":
        name = f"in {name}"
    elif reference.kind == "date":
        name = (
            f"in {name}"
            if " " not in reference.word or reference.word.casefold().startswith(("in", "at", "back"))
            else (f"{reference.word.split()[0]} {name}")
        )
    return question[: reference.start] + name + question[reference.end :]


def _stands_for_nothing(question: str, one: Reference) -> bool:
    return one.kind == "thing" and any(empty.start() <= one.start < empty.end() for empty in _EMPTY.finditer(question))


def _is_inside(question: str, one: Reference) -> bool:
    """Whether what it stands for is named in the question itself."""
    if one.kind in ("any", "date"):
        return bool(names(question[: one.start]))
    if one.word.casefold().endswith(("self", "selves")):
        return True
    before = _WH_PHRASE.sub("", question[: one.start]) if not one.own else question[: one.start]
    if one.kind == "person" and _WHO_DID.match(question):
        return True  # "Who announced that she …?"
    if one.own and names(question[one.end :].partition(",")[2] or question[one.end :]):
        return True  # "Other than his discoveries, what was Tesla known for?"
    return _is_before(before, one)


def _is_before(before: str, one: Reference) -> bool:
    """In the words before it: near ones count where it says whose, behind "with" and the like, and in another clause."""
    ends = [match.start() for match in _CLAUSE.finditer(before)]
    earlier = before[: ends[-1]] if ends else ""
    apart = one.own or _PREPOSITION.search(before) is not None
    seen = before if apart else earlier
    if names(seen) or any(len(before.rpartition(name)[2].split()) >= _APART for name in names(before)):
        return True
    if one.kind == "several":
        return _PLURAL.search(seen if one.own else before) is not None
    determined = _DETERMINED.search(seen) is not None
    return determined or (bool(phrases(seen)) and (one.own or seen == earlier))
