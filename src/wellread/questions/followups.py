"""Follow-up questions (coreference), by rules: the last answer or the last subject is put in where a question only hints at it.

    "When was he born?"   behind "Who discovered Titan?"            the one who was named
    "And in 1990?"        behind "Who was president in 1980?"       the last question with the other year
    "Why?"                behind "Is Pluto a planet?"               the last question, asked so
    "What about rice?"    behind "How do I reheat potatoes?"        the last question about the other thing

A question that stands alone is left as it is. One that refers to something that nobody has named is not guessed at:
it is asked back. The questions of a conversation are understood one after the other, so nothing has to be kept of how.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from wellread.core.values import frozen
from wellread.questions.kinds import ASKING, AUXILIARY, Kind
from wellread.questions.mentions import Mention, answered, names, phrases, says_nothing, spoken_of, topic
from wellread.text import patterns as re
from wellread.text.dates import dates_in

Stands = Literal["person", "thing", "several", "place", "date", "any"]

_TURNS = 3  # that are looked back on
_LONGEST = 30  # words; what is longer explains itself
_OPENING = re.compile(r"^(?:(?:and|so|but|ok|okay|well|then|also|thanks|thank you|great|i see)\b[,.! ]*)+", re.IGNORECASE)
_SMALL = r"\w[\w'’-]*"
_FRAGMENT = re.compile(rf"(?:the |a |an )?{_SMALL}(?: {_SMALL}){{0,4}}", re.UNICODE)
_VERBAL = re.compile(rf"\b(?:{AUXILIARY}|{ASKING})\b", re.I)
_SIDES = frozenset(("he", "him", "his")), frozenset(("she", "her", "hers"))
_MORE = re.compile(r"\b(?:else|another|others?|more|examples?)\b", re.IGNORECASE)
_WHICH = re.compile(r"which (?:one |of them )?(?:is|are|was|were) the [\w ]+\W*$", re.IGNORECASE)

# words that stand for something said before
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
_CLAUSE = re.compile(
    r"[,;.?!:]|\b(?:and|but|or|when|if|after|before|while|because|until|since|although|that|who|which|how|so|as)\b", re.I
)
_PLURAL = re.compile(
    r"\b(?!(?:is|was|does|has|this|its|as|his|us|yes|always|perhaps|besides)\b)\w{2,}(?<![sui])s\b"
    r"|\b(?:people|children|men|women|\w+ and \w+)\b",
    re.I,
)
_APART = 2  # words between a name and what stands for it in the same clause: "Apple sells it" is about something else
_FITTING: Mapping[Stands, tuple[Kind, ...]] = {
    "person": ("person",), "thing": ("thing",), "place": ("place", "thing"), "date": ("date",),
    "several": ("person", "thing"), "any": ("person", "place", "thing"),
}  # fmt: skip
_ASKED = {
    "person": "Who is meant by “{word}”?",
    "thing": "What is meant by “{word}”?",
    "several": "Who or what is meant by “{word}”?",
    "any": "What is meant by “{word}”?",
    "place": "Which place is meant by “{word}”?",
    "date": "",
}

# the last question once more
_WORDS = (
    "why not|why|when|where|who|whom|how come|how much|how many|how long|how often|how|since when|until when|by whom|what for"
)
_BARE = re.compile(rf"(?P<word>{_WORDS})(?: exactly| (?:is|was) (?:that|it|this))?", re.IGNORECASE)
_WORD = rf"(?:by |in |on |at |for |from |to |since |until )?(?:{ASKING})\b(?: (?!(?:{AUXILIARY})\b)[\w-]+){{0,3}}?"
_INVERTED = re.compile(rf"(?P<word>{_WORD}) (?P<aux>{AUXILIARY})\b(?P<rest>.*)", re.IGNORECASE)
_SUBJECT = re.compile(rf"(?P<word>(?:who|what|which(?: [\w-]+)?)) (?P<rest>(?!(?:{AUXILIARY})\b).+)", re.IGNORECASE)
_YES_NO = re.compile(rf"(?:{AUXILIARY})\b.*", re.IGNORECASE)
_ABOUT = re.compile(r"(?:what|how) about (?P<thing>.+)", re.IGNORECASE)
_PLACED = re.compile(
    r"(?:(?P<how>in|on|at|for|with|from|to|by|under|of|since|after|before) )?(?P<thing>(?:[\w'’.-]+ ?){1,5})", re.I
)
_OWN = re.compile(r"(?:his|her|its|their) ", re.IGNORECASE)
_COUNTED = re.compile(r"how (many|much) (.+)", re.IGNORECASE)
_MOST = re.compile(r"\bthe (?:(?:most|least) \w+|\w+est|first|last)\b", re.IGNORECASE)
_CLAUSAL = re.compile(rf"\b(?:{AUXILIARY}|{ASKING}|i|you|he|she|it|they|we|that|there)\b", re.IGNORECASE)


@frozen
class Reference:
    """A word of a question that stands for something outside it."""

    word: str
    kind: Stands
    own: bool  # it says whose
    start: int
    end: int

    @property
    def asked(self) -> str:
        """The question back, where nobody knows what it stands for."""
        return _ASKED[self.kind].format(word=self.word)


@frozen
class Understood:
    """A question that stands alone, or what has to be asked before it does."""

    question: str
    asks: str = ""
    open: Reference | None = None  # the word that nobody could place
    placed: tuple[tuple[str, str], ...] = ()  # words and what they were taken for


Turn = tuple[Understood, str]  # a question as it was understood, and what was answered


def understand(question: str, history: Sequence[tuple[str, str]]) -> Understood:
    """The question as it is meant after these questions and answers."""
    turns: list[Turn] = []
    for earlier, answer in history:
        turns.append((_after(earlier, turns), answer))
    return _after(question, turns)


def _after(question: str, turns: Sequence[Turn]) -> Understood:
    if not turns or len(question.split()) > _LONGEST:
        return Understood(question)
    last, answer = turns[-1]
    bare = _OPENING.sub("", question).strip(" ?!.") or question.strip(" ?!.")
    if last.open is not None and _FRAGMENT.fullmatch(bare) and not _VERBAL.search(bare):  # what was asked back is told
        return Understood(put(last.question, last.open, bare))
    again = asked_again(bare, last.question, answered(last.question, answer))
    if again is None:
        again = instead(bare, last.question, joined=bare != question.strip(" ?!."))
    return _placed(question, turns) if again is None else Understood(again)


def _placed(question: str, turns: Sequence[Turn]) -> Understood:
    """With what its pronouns stand for; each kind is put in once: what follows refers to that."""
    changed, placed = question, list[tuple[str, str]]()
    for reference in references(question):
        if found := _meant(reference, turns[::-1][:_TURNS]):
            same = (one for one in references(changed) if (one.word, one.kind) == (reference.word, reference.kind))
            changed = next((put(changed, one, found.text) for one in same), changed)
            placed.append((reference.word.casefold(), found.text))
        elif changed == question and reference.asked and (question.rstrip().endswith("?") or _VERBAL.match(question)):
            return Understood(question, reference.asked, reference)
    # one that asks for others of what the last question was about, and names nothing itself
    more = _WHICH.match(question) or (_MORE.search(question) and says_nothing(question))
    about = topic(turns[-1][0].question) if changed == question and more else ""
    return Understood(f"{question.rstrip(' ?!.')} ({about})?" if about else changed, placed=tuple(placed))


def _meant(reference: Reference, turns: Sequence[Turn]) -> Mention | None:
    """Its antecedent, from the latest turn back: what was named there or, where that is of another kind, spoken of."""
    others = [side for side in _SIDES if reference.word.casefold() not in side] if reference.kind == "person" else []
    called = {name for asked, _ in turns for word, name in asked.placed if len(others) == 1 and word in others[0]}
    for asked, answer in turns:
        named, spoken = answered(asked.question, answer), spoken_of(asked.question, answer)
        fitting = [one for one in (named, *spoken) if one and one.kind in _FITTING[reference.kind]]
        if not fitting and reference.kind in ("thing", "several"):
            fitting = spoken  # whose kind is a guess
        chosen = (max(fitting, key=lambda one: one.plural) if reference.kind == "several" else fitting[0]) if fitting else None
        if chosen and chosen.text not in called:  # whom "he" stood for is not called "she"
            return chosen
    return None


def references(question: str) -> list[Reference]:
    """The words that refer to something outside the question, the first of each kind, in their order."""
    found: dict[str, Reference] = {}
    for match in _PRONOUN.finditer(question):
        kind: Stands = next(one for one in ("any", "person", "thing", "several", "place", "date") if match[one])
        own = kind in ("any", "person", "thing", "several") and match[f"{kind}s"] is not None
        one = Reference(match[0], kind, own, match.start(), match.end())
        if kind not in found and not _is_inside(question, one):
            found[kind] = one
    return list(found.values())


def put(question: str, reference: Reference, name: str) -> str:
    """The question with a name in the place of a word."""
    if reference.own:
        name = f"{name}’" if name.endswith("s") and reference.kind == "several" else f"{name}’s"
    elif reference.kind == "place":
        name = f"in {name}"
    elif reference.kind == "date":
        first = reference.word.casefold().split()[0]
        name = f"{first if first in ('by', 'since', 'before', 'after') else 'in'} {name}"
    return question[: reference.start] + name + question[reference.end :]


def _is_inside(question: str, one: Reference) -> bool:
    """Whether what it stands for is named in the question itself, or is nothing."""
    before, behind = question[: one.start], question[one.end :]
    if one.kind in ("any", "date"):
        return bool(names(before))
    empty = one.kind == "thing" and any(found.start() <= one.start < found.end() for found in _EMPTY.finditer(question))
    if empty or one.word.casefold().endswith(("self", "selves")):
        return True
    if one.own and names(behind.partition(",")[2] or behind):
        return True  # "Other than his discoveries, what was Tesla known for?"
    ends = [match.start() for match in _CLAUSE.finditer(before)]
    seen = before if one.own else before[: ends[-1]] if ends else ""  # in the same clause only where it says whose
    if names(seen) or any(len(before.rpartition(name)[2].split()) >= _APART for name in names(before)):
        return True
    return bool(_PLURAL.search(seen if one.own else before)) if one.kind == "several" else bool(phrases(seen))


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
    if placed is None or (about is None and (_CLAUSAL.search(bare) or not (joined or placed["how"] or dates_in(bare)))):
        return None
    base, thing = last.strip(" ?!."), placed["thing"].strip()
    if dates_in(thing) and (dates := dates_in(base)):
        return f"{base.replace(dates[0].said, thing, 1)}?"
    if _MOST.search(thing) and (found := _MOST.search(base)):
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
    """Parts of the last question that a thing could take the place of: a name that of a name."""
    capitals = names(base)
    if capitals and (thing[0].isupper() or _OWN.match(thing)):
        return capitals
    return [one for one in phrases(base) if not any(name in one for name in capitals)] or capitals


def _who_was(inverted: re.Match[str], named: Mention | None) -> str:
    """In "Who was the first president", the answer is what "was" speaks of; "When was the first president" is not."""
    asked_for = inverted["word"].casefold().startswith(("who", "what", "which"))
    being = inverted["aux"].casefold() in ("is", "are", "was", "were")
    return f"{named.text} " if asked_for and being and named else ""
