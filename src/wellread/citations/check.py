"""Citation check (attribution): the sentences of an answer, the passages they cite, and the exact words there that carry them.

A sentence is carried when it cites passages that hold its names, its numbers and enough of its other
words, and do not say the opposite. One that only says what the passages do not say needs no carrying.
What this can and cannot see: docs/explanation/citations.md.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from wellread.citations.contradiction_signs import VETOES, Reading, signs
from wellread.citations.evidence import LINE, Asked, Evidence, Window, as_shown, union
from wellread.citations.missing import told
from wellread.core.values import frozen
from wellread.text import lexicon
from wellread.text import patterns as re
from wellread.text.amounts import UNITS
from wellread.text.markers import Link, Marker, addresses, links, markers, same_address, strip_markers
from wellread.text.sentences import FENCE, paragraphs, prefix_end
from wellread.text.words import Words, fold, read
from wellread.types import Citation, Claim, Passage, Sentence, Verdict

_HEADING = re.compile(r"#{1,6}[ \t]|\*\*[^*\n]+\*\*:?\Z|__[^_\n]+__:?\Z")
_RULE_CELL = re.compile(r":?-*:?")
# `(inference)`, before or behind its citations: the prompt asks for it of a sentence that concludes. It stays in the text.
_INFERENCE = re.compile(
    r"[ \t]?[(\[](?:an )?(?:inference|inferred|conclusion|deduction|schlussfolgerung|abgeleitet|inférence|déduction|inferencia"
    r"|deducción|inferenza|deduzione|推論|推论)[)\]]",
    re.IGNORECASE,
)
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+•‣◦·–]|\d{1,3}[.)])[ \t]")
T = TypeVar("T", Marker, Link)

_STOPS = (".", "!", "?", "…", "。", "！", "？", "؟", "।")
_CONCLUDES_FROM = 0.3  # share of a marked inference that its passages must hold: the conclusion is in its own words
_ASKS = ("?", "？", "؟")
# How links call a source beside its own words. Of these a longer one may be a part: "Guardian" of theguardian.com.
_NAMING = lexicon.word_set(
    "a the of on in at to via see here source sources link page article website wikipedia news report from"
)
_TELLING = 4  # letters


@frozen
class _Claim:
    """A sentence of the answer before judgement."""

    start: int
    end: int
    raw: str  # as it stands
    body: str  # without markers, bullets and link targets
    words: Words
    cited: tuple[int, ...]  # only numbers that passages have
    linked: tuple[tuple[int, ...], ...]  # the passages behind each link: pieces of one page
    marked: bool
    inferred: bool  # says of itself that it concludes


@frozen
class Weighed:
    """A sentence as the rules judge it; where signs decided, none of them a veto, what a closer reader may judge otherwise."""

    sentence: Sentence
    claim: Claim | None = None
    citations: tuple[Citation, ...] = ()  # where that carries it


def concludes(sentence: str) -> bool:
    """Whether a sentence is marked as an inference."""
    return _INFERENCE.search(sentence) is not None


def check(text: str, passages: Mapping[int, Passage], question: str = "") -> list[Sentence]:
    """Every sentence of `text` with the words in `passages` that carry it.

    What the `question` names may be said to be missing.
    """
    return [one.sentence for one in weighed(text, passages, question)]


def weighed(text: str, passages: Mapping[int, Passage], question: str = "") -> list[Weighed]:
    """The same, with what the rules saw."""
    blocks = _claims(text, passages)
    evidence = Evidence(passages, (number for block in blocks for claim in block for number in claim.cited), question)
    judged: list[Weighed] = []
    for index, (block, lent) in enumerate(zip(blocks, _lent(blocks), strict=True)):
        after = blocks[index + 1][0].raw if index + 1 < len(blocks) else ""
        header = block[0].raw.startswith("|") and _is_table_rule(after)
        judged.extend(_judge(claim, borrowed, header, evidence) for claim, borrowed in zip(block, lent, strict=True))
    return judged


def _is_table_rule(row: str) -> bool:
    """`|---|:--:|`, the line under the header of a table. Cell by cell: a pattern over all of them would try every split."""
    before, *cells = (cell.strip(" \t") for cell in row.split("|"))
    return not before and bool(cells) and "-" in cells[0] and all(map(_RULE_CELL.fullmatch, cells))


def _judge(claim: _Claim, lent: tuple[int, ...], header: bool, evidence: Evidence) -> Weighed:
    cited = claim.cited if claim.marked else lent
    verdict, found, open_to = _weigh(claim, cited, evidence)
    citations = found
    if verdict != "carried":
        shown = found if claim.cited else ()  # borrowed ones are only shown when they carry the sentence
        verdict, citations = _otherwise(claim, cited, shown, header, evidence, verdict)
        if verdict != "not carried" or told(claim.body).missing:
            open_to = None
    return Weighed(Sentence(claim.raw, claim.start, claim.end, verdict, citations, claim.inferred), open_to, found)


def _otherwise(
    claim: _Claim, cited: tuple[int, ...], citations: tuple[Citation, ...], header: bool, evidence: Evidence, verdict: Verdict
) -> tuple[Verdict, tuple[Citation, ...]]:
    """What a sentence is that its passages do not carry: it states nothing, says what is missing, or has that verdict."""
    if _states_nothing(claim, header, evidence):
        return "carried", citations
    said = told(claim.body)
    if verdict == "not checked" or not said.missing or evidence.smuggles(said.missing):
        return verdict, citations
    if not said.claim:
        return "says what is missing", citations
    rest = replace(claim, body=said.claim, words=read(said.claim))
    verdict, found, _ = _weigh(rest, cited, evidence)
    return (verdict, found) if verdict == "carried" else (verdict, citations)


def _weigh(claim: _Claim, cited: tuple[int, ...], evidence: Evidence) -> tuple[Verdict, tuple[Citation, ...], Claim | None]:
    citations: list[Citation] = []
    windows: dict[int, Window] = {}
    held: dict[int, dict[int, int]] = {}
    verbatim: list[bool] = []
    readable = len(claim.body) <= LINE  # nothing carries what goes on for longer but its own words
    asked = evidence.ask(claim.words if readable else Words())
    for number in cited:
        source = evidence.sources[number]
        if quotation := source.quotation(claim.body):
            citations.append(Citation(number, source.passage, *quotation, 1.0))
            verbatim.append(not source.denied(*quotation))
        else:
            held[number] = source.held(asked)
            windows[number] = window = source.window(asked, held[number])
            citations.append(Citation(number, source.passage, window.start, window.end, asked.share(window.bits)))
    found = tuple(_best_of_each(citations, claim.linked))
    if verbatim:
        return "carried" if all(verbatim) else "not carried", found, None
    if not readable or not cited:
        return "not carried", found, None
    if is_disguised(claim.body, (evidence.sources[number].passage for number in cited)):
        return "not checked", found, None
    if claim.inferred:
        return "carried" if _concludes(claim, asked, windows, evidence) else "not carried", found, None
    reading = Reading(evidence, claim.body, asked, windows, held)
    against = signs(reading)
    if not VETOES.isdisjoint(against):
        return "not carried", found, None
    return "not carried" if against else "carried", found, reading.claim


def _concludes(claim: _Claim, asked: Asked, windows: Mapping[int, Window], evidence: Evidence) -> bool:
    """Whether what a marked inference concludes from is there: all its names and numbers, at least two, and something of it
    in each passage that it cites. How it concludes is for the reader to judge, who sees the mark."""
    return (
        len(claim.words.names) + len(claim.words.numbers) >= 2
        and all(window.bits for window in windows.values())
        and asked.share(union(window.bits for window in windows.values())) >= _CONCLUDES_FROM
        and not evidence.lacks(claim.body, claim.words, windows)
    )


def _best_of_each(citations: list[Citation], groups: tuple[tuple[int, ...], ...]) -> list[Citation]:
    """A link leads to a page; of the passages that are pieces of it, show the one that carries the sentence."""
    for group in groups:
        best = max((citation for citation in citations if citation.number in group), key=lambda citation: citation.support)
        citations = [citation for citation in citations if citation is best or citation.number not in group]
    return citations


def _claims(text: str, passages: Mapping[int, Passage]) -> list[list[_Claim]]:
    marks = deque(markers(text))
    anchors = deque(links(text))
    known = addresses(passages) if anchors else {}
    blocks: list[list[_Claim]] = []
    for block in paragraphs(text):
        claims: list[_Claim] = []
        for start, end in block:
            inside = _until(marks, end)
            shown = _until(anchors, end)
            numbers = [number for mark in inside for number in mark.numbers]
            known_numbers = set(numbers)
            linked = tuple(group for link in shown if (group := known.get(same_address(link.url))))
            cited = tuple(dict.fromkeys(number for group in (numbers, *linked) for number in group if number in passages))
            naming = {link for link in shown if _names(link.text, (passages[n] for n in known.get(same_address(link.url), ())))}
            body = _body(text, start, end, shown, naming)
            inferred = _INFERENCE.search(body) is not None
            body = as_shown(_INFERENCE.sub("", body) if inferred else _unfenced(body))
            linked = tuple(dict.fromkeys(group for group in linked if not known_numbers.intersection(group)))
            marked = bool(inside or cited)
            claims.append(_Claim(start, end, text[start:end], body, read(body), cited, linked, marked, inferred))
        blocks.append(claims)
    return blocks


def _until(waiting: deque[T], end: int) -> list[T]:
    taken: list[T] = []
    while waiting and waiting[0].start < end:
        taken.append(waiting.popleft())
    return taken


def _body(text: str, start: int, end: int, inside: Iterable[Link], naming: Collection[Link]) -> str:
    """The sentence as prose: no bullets, no markers, of links only what they show."""
    parts: list[str] = []
    position = prefix_end(text, start, end)
    for link in inside:
        if link.start < position:
            continue
        before = text[position : link.start]
        bracketed = before.endswith("(") and text.startswith(")", link.end)
        parts.append(before.removesuffix("(") if bracketed else before)
        # in brackets, before the stop or behind it a link may only name its source
        beside = bracketed or before.rstrip(" \t\n\"'”’»)").endswith(_STOPS)
        last = beside or text[link.end : end].strip() in _STOPS
        parts.append("" if last and link in naming else f" {link.text}" if beside else link.text)
        position = link.end + bracketed
    parts.append(text[position:end])
    return strip_markers("".join(parts)).strip()


def _unfenced(sentence: str) -> str:
    """Of code what stands between its fences, without the name of its language."""
    sign = sentence[:3]
    if sign not in ("```", "~~~"):
        return sentence
    first, _, below = sentence.partition("\n")
    if below and len(first.split()) > 1:  # more than the name of a language: it is shown, too
        below = f"{first[3:]}\n{below}"
    inner = below.rstrip() if below else first[3:].rstrip() if first.endswith(sign) else ""
    return inner.rstrip(sign[0]).strip() or sentence


def _lent(blocks: list[list[_Claim]]) -> list[list[tuple[int, ...]]]:
    """For each sentence the citations it may borrow when it has none: those at the end of its paragraph,
    those of the line that introduces its list, or those of the list it introduces. Code is introduced as a list is."""
    lent: list[list[tuple[int, ...]]] = []
    head: tuple[int, ...] = ()
    for block in blocks:
        item = _is_introduced(block[0])
        head = head if item else ()
        row = [head]
        ending = block[-1].cited
        for claim in reversed(block[:-1]):
            row.append(ending or head)
            ending = () if claim.marked else ending
        lent.append(row[::-1])
        if not item and _introduces(block[-1]):
            head = block[-1].cited
    listed: dict[int, None] = {}
    for block, row in zip(reversed(blocks), reversed(lent), strict=True):
        if _introduces(block[-1]):
            row[-1] = tuple(listed) or row[-1]
        if _is_introduced(block[0]):
            listed.update(dict.fromkeys(number for claim in block for number in claim.cited))
        else:
            listed.clear()
    return lent


def _is_introduced(claim: _Claim) -> bool:
    return _LIST_ITEM.match(claim.raw) is not None or FENCE.match(claim.raw) is not None


def _introduces(claim: _Claim) -> bool:
    return claim.body.rstrip("* _").endswith((":", "："))


def _states_nothing(claim: _Claim, header: bool, evidence: Evidence) -> bool:
    """Headings, questions, lead-ins and lists of sources."""
    if not any(map(str.isalnum, claim.body)):
        return True
    # a line of a source list: nothing but the title, source and address of what it cites
    shown = set[str]().union(*(_own_words(evidence.sources[number].passage) for number in claim.cited))
    if claim.cited and all(fold(word) in shown for word in re.findall(r"[^\W_]+", claim.body)):
        return True
    if evidence.lacks(claim.body, claim.words, evidence.sources):
        return False  # whatever its form, it brings in a name or a number that no passage has
    if header or _HEADING.match(claim.raw) or claim.body.endswith(_ASKS):
        return True
    if _introduces(claim) and not claim.words.numbers:
        opens = re.findall(r"\w+", claim.body.casefold())
        return opens[0] in lexicon.LEAD_INS or (len(opens) <= 6 and not claim.words.names)
    return False


def _names(shown: str, passages: Iterable[Passage]) -> bool:
    """Whether a link shows nothing but what its source is called."""
    own = _NAMING.union(*map(_own_words, passages))
    whole = " ".join(own)
    words = [fold(word) for word in re.findall(r"[^\W_]+", as_shown(shown))]
    labelled = len(words) == 1 == len(words[0])
    return labelled or all(word in own or (len(word) >= _TELLING and word in whole) for word in words)


def _own_words(passage: Passage) -> set[str]:
    return {
        fold(word) for word in re.findall(r"[^\W_]+", f"{passage.title} {passage.heading} {passage.source} {passage.url or ''}")
    }


# Disguised text: a sentence with signs outside of its language's alphabet cannot be checked as it is read. Small capitals,
# letters of other scripts that look the same, signs in circles, emoji and formulas that say "not", digits within words, letters
# within numbers, emphasis within words, what is struck through; and a sentence that is about a sentence ("It is a myth that …").
# Each is harmless where the passages have it, too. No list of tricks is kept: what is not plain is said to be so.
_SYMBOLS = frozenset("°±×÷−→←≈≤≥©®™′″²³+<=>|^`~$")
_UNIT = "|".join(re.escape(word) for word in sorted(UNITS, key=len, reverse=True) if word.isalpha())
_PLAIN_NUMBER = re.compile(rf"\d+(?:st|nd|rd|th|s|{_UNIT})?", re.IGNORECASE)
_MIXED = re.compile(r"(?<![A-Za-z\d])(?:\d+[A-Za-z]|[A-Za-z]+\d)[A-Za-z\d]*")
_MARKUP = re.compile(
    r"<(?:del|strike|s)>"  # struck through
    r"|(?<=[^\W\d_])(?:<[^<>\n]{0,80}>|\*|`|\[\]\([^()\s]{0,80}\)){1,20}(?=[^\W\d_])"  # within a word
    r"|(?<![^\W_])[^\W\d_](?:[ \t\n_*/|-]{1,3}[^\W\d_]){2,}(?![^\W_])"  # a word letter by letter
    r"|~~|(?<![\w~])~\w[^~\n]{0,200}\w~(?![\w~])|\\[a-zA-Z]{2,}",  # a command of TeX
    re.IGNORECASE,
)
_ABOUT_A_SENTENCE = re.compile(
    r"\b(?:(?:false|incorrect|wrong|lie|not the case|not so|hardly true) that|contrary to (?:the )?(?:facts?|truth)"
    r"|myths?|hoax(?:es)?|misconceptions?|untrue|which (?:is|was) (?:false|wrong)|a (?:lie|falsehood|fabrication))\b",
    re.IGNORECASE,
)
_FRACTION = re.compile(r"\d*[\u00bc-\u00be\u2150-\u215e]\d* ?\w*")  # "5½ mg", with what it counts
_LETTERS = re.compile(r"[^\W\d_]+")
_TOGETHER = frozenset(("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO"))  # written among Chinese signs


def is_disguised(sentence: str, passages: Iterable[Passage]) -> bool:
    """Whether something in a sentence may look like what it is not, and stands nowhere in its passages."""
    found = [match[0] for pattern in (_MARKUP, _ABOUT_A_SENTENCE) for match in pattern.finditer(sentence)]
    found += [match[0] for match in _MIXED.finditer(sentence) if not _PLAIN_NUMBER.fullmatch(match[0])]
    if not sentence.isascii():
        found += [*_FRACTION.findall(sentence), *filter(_is_odd, sentence), *_of_other_scripts(sentence)]
    if not found:
        return False
    known = "\n".join(f"{one.title}\n{one.text}" for one in passages).casefold()
    return any(one.casefold() not in known for one in found)


def _is_odd(sign: str) -> bool:
    """A symbol, a number in one sign, or a mark over a letter that no letter of its own has."""
    if sign.isascii() or sign in _SYMBOLS:
        return False
    category = unicodedata.category(sign)
    return category in ("So", "Sm", "Sk", "No", "Nl", "Co", "Cn") or (category[0] == "M" and _script(sign) == "COMBINING")


def _of_other_scripts(sentence: str) -> list[str]:
    """The words that are neither in the script of most letters nor in plain Latin ones, or in both."""
    words = {word: {_script(sign) for sign in word} for word in _LETTERS.findall(sentence)}
    counted = Counter(_script(sign) for word in _LETTERS.findall(sentence) for sign in word)
    main = max(counted, key=counted.__getitem__, default="LATIN")
    return [
        word for word, scripts in words.items() if not (scripts == {main} or scripts == {"LATIN"} or scripts <= {"CJK", "LATIN"})
    ]


def _script(sign: str) -> str:
    name = unicodedata.name(sign, "")
    first = "FILLER" if name.endswith("FILLER") else name.partition(" ")[0]
    if first == "LATIN" and (not name.startswith(("LATIN SMALL LETTER", "LATIN CAPITAL LETTER")) or "\u024f" < sign < "\u1e00"):
        return "LATIN-LIKE"  # small capitals, signs of phonetics
    return "CJK" if first in _TOGETHER else first
