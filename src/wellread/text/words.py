"""Tokenisation and stemming of a sentence: content words, names, numbers, negations, as far as a program can see them.

Case, diacritics and inflection are folded away, numbers have one spelling ("1,000", "1000" and
"one thousand" are equal), scripts without blanks between words count by pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from wellread.text import lexicon

_TOKEN = re.compile(
    r"(?P<number>\d{1,3}(?:[,.\u00a0\u202f\u2009'’]\d{3})+(?!\d)(?:[.,]\d{1,2}(?!\d))?|\d+(?:\.\d+|,\d{1,2}(?!\d))?"
    r"|(?<![\w.])\.\d+)"
    r"(?:(?P<tail>st|nd|rd|th|s)(?![^\W_]))?"
    r"|(?P<dotted>(?:[^\W\d_]\.){2,})"
    r"|(?P<word>[^\W\d_](?:[^\W_]++|[’'](?=[^\W\d_]))*+)"
    r"|(?P<stop>[,;:.!?()\[\]|—–\"“”„«»\n])"
)
_URL = re.compile(r"https?://\S+")
_ISO_DATE = re.compile(r"(?<!\d)\d{4}-(\d\d)-\d\d(?!\d)")
_SPAN_OF_YEARS = re.compile(r"(?<!\d)((\d\d)\d\d[-–—/])(\d\d)(?!\d|[-–—/]\d)")  # "1973–75"
_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]{3,}")


class _Plain(dict[int, int | str | None]):
    """For `str.translate`: small digits become digits, marks on letters and what is invisible go, the rest stays."""

    def __missing__(self, code: int) -> int | str | None:
        kept = None if unicodedata.category(chr(code)) in ("Mn", "Mc", "Me", "Cf") else code
        if code < 0x10000:  # so few that all may be remembered
            self[code] = kept
        return kept


_PLAIN = _Plain({ord(c): f" {d} " for row in ("⁰¹²³⁴⁵⁶⁷⁸⁹", "₀₁₂₃₄₅₆₇₈₉") for d, c in enumerate(row)})
_LONGEST = 100  # characters of a word; what is longer is none, and not to be remembered
_OPENING = frozenset(":!?|\n")  # a capital letter after these proves nothing
_LIGHT = frozenset(',"“”„«»[]()')  # a "not" reaches across these
_QUOTES = frozenset('"“„«')  # nor after these, where they follow another stop

# Words of no other language that is read here; "der", "die" and "den" stand in Danish and English too.
_GERMAN = lexicon.word_set("""
    das und ist ein eine einer eines einem einen dem des im am vom zum zur von wurde wurden wird werden nicht mit auf sich bei
    nach seit durch als auch aus oder sind waren hat haben hatte sein seine seiner ihre ihrer ihr dass wie nur noch dieser diese
    dieses viele einige keine kein keinen keiner keinem zwischen gegen unter um zu beim ins fur uber konnte konnen musste
""")
_OFTEN_GERMAN = lexicon.word_set("der die den er sie es war")
_GERMAN_LETTERS = frozenset("äöüßÄÖÜ")
_BEFORE_PLACES = lexicon.word_set("in aus nach bei von durch")
_NOUN_ENDINGS = (
    "ung", "ungen", "heit", "heiten", "keit", "keiten", "schaft", "schaften", "ion", "ionen", "tat", "taten", "ismus",
    "nis", "tum", "en", "ie", "ik", "ment", "werk", "werke", "jahr", "jahre", "weise", "zeit", "teil", "teile", "zahl",
    "hohe", "hilfe",
)  # fmt: skip


@dataclass(slots=True)
class Words:
    """One sentence, taken apart. Keys are folded: equal keys mean equal words."""

    content: dict[str, None] = field(default_factory=dict[str, None])  # stems and numbers, in order
    forms: set[str] = field(default_factory=set[str])  # every word, case and accents folded
    names: dict[str, None] = field(default_factory=dict[str, None])  # forms of words that name something
    numbers: dict[str, None] = field(default_factory=dict[str, None])  # "#1610"; those that must be found
    counts: set[str] = field(default_factory=set[str])  # every number, also "one" and "first"
    negated: set[str] = field(default_factory=set[str])  # the stem behind a "not"
    acronyms: set[str] = field(default_factory=set[str])  # "un" of "United Nations"


class Token(NamedTuple):
    kind: str
    raw: str
    form: str = ""
    tail: str = ""
    capital: bool = False  # has a capital letter, as "eBay" has
    joined: bool = False  # by a hyphen to the token before it


_END = Token("stop", "")


def read(text: str) -> Words:
    """The words of one sentence."""
    tokens = tokens_of(_URL.sub(" ", text if text.isascii() else text.translate(_PLAIN)))
    words = Words()
    _read_names(tokens, words)
    _read_content(tokens, words)
    for match in _ISO_DATE.finditer(text):
        if 1 <= int(match[1]) <= 12:
            month = lexicon.MONTHS[int(match[1]) - 1]
            words.forms.add(month)
            words.content[stem(month)] = None
    return words


def fold(word: str) -> str:
    """A word without case, accents, apostrophes and possessive endings; of one that is none, the beginning."""
    return _fold(word if len(word) <= _LONGEST else word[:_LONGEST])


@lru_cache(maxsize=1 << 16)
def _fold(word: str) -> str:
    if not word.isascii():
        word = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    word = word.casefold().replace("’", "'")
    head, apostrophe, rest = word.partition("'")
    if apostrophe and rest in ("s", ""):
        return head
    if apostrophe and head in ("l", "d", "qu", "dell", "all", "nell", "un"):  # elided articles
        return rest.replace("'", "")
    return word.replace("'", "").replace(".", "")


@lru_cache(maxsize=1 << 16)
def stem(form: str) -> str:
    """A folded word without its inflection, roughly. Only Latin letters are touched."""
    form = lexicon.IRREGULAR.get(form, form)
    if len(form) < 4 or not form.isascii():
        return form
    if form.endswith("ies") and len(form) > 4:
        form = form[:-3] + "y"
    elif form.endswith(("sses", "shes", "ches", "xes", "zes")):
        form = form[:-2]
    elif form.endswith("s") and not form.endswith(("ss", "us", "is")):
        form = form[:-1]
    form = _cut(form, (("ing", 6), ("ed", 5), ("ly", 6), ("ion", 7), ("al", 7), ("y", 5)))
    form = _cut(form, (("er", 7), ("or", 7), ("e", 5), ("at", 8)))  # "resignation", "resigned"
    doubled = len(form) > 3 and form[-1] == form[-2] and form[-1] not in "aeiouls"
    return form[:-1] if doubled else form


def _cut(form: str, endings: tuple[tuple[str, int], ...]) -> str:
    for ending, shortest in endings:
        if form.endswith(ending) and len(form) >= shortest:
            return form[: -len(ending)]
    return form


def tokens_of(text: str) -> list[Token]:
    """Words, numbers and stops, in order; of "1973–75" both years in full."""
    tokens: list[Token] = []
    text = _SPAN_OF_YEARS.sub(r"\1\2\3", text)
    for match in _TOKEN.finditer(text):
        if match["number"]:
            tokens.append(Token("number", match["number"], plain_number(match["number"]), match["tail"] or ""))
        elif (word := match["dotted"] or match["word"]) and max(word) >= "\u0e00" and any(map(_is_unspaced, word)):
            for wide, run in groupby(word, _is_unspaced):
                piece = "".join(run)
                tokens.extend([Token("wide", piece)] if wide else tokens_of(piece))
        elif word:
            tokens.append(
                Token("word", word, fold(word), "", word != word.lower(), text[match.start() - 1 : match.start()] == "-")
            )
        else:
            tokens.append(Token("stop", match[0]))
    return tokens


def _is_unspaced(character: str) -> bool:
    return any(span[0] <= character <= span[2] for span in lexicon.UNSPACED)


def plain_number(number: str) -> str:
    """One spelling for a number: plain digits, a point before decimals, no idle zeros."""
    digits = "".join(str(unicodedata.decimal(c, c)) for c in number)
    whole, decimals = digits, ""
    last = max(digits.rfind("."), digits.rfind(","))
    # a point groups in German: "2.000 Gäste"; three decimals with idle zeros are hardly written
    thousands = digits.endswith("0") and digits[0] != "0" and len(digits) - digits.rfind(".") == 4
    grouped = digits[last] in ",'’" or digits.count(".") > 1 or thousands if last >= 0 else True
    if last >= 0 and not (grouped and len(digits) - last == 4):
        whole, decimals = digits[:last], digits[last + 1 :].rstrip("0")
    whole = "".join(c for c in whole if c.isdigit()).lstrip("0") or "0"
    return f"{whole}.{decimals}" if decimals else whole


def _read_names(tokens: list[Token], words: Words) -> None:
    run: list[str] = []
    opening = closed = True
    is_name = _is_german_name if _is_german(tokens) else _is_name
    for index, token in enumerate(tokens):
        if token.kind == "wide":
            words.names.update(dict.fromkeys(_KATAKANA.findall(token.raw)))
        if token.capital and is_name(tokens, index, opening):
            words.names[token.form] = None
        if token.capital and token.form not in lexicon.STOPWORDS:
            run.append(token.form)
        elif run and token.form not in ("of", "and", "for", "the", "de", "on", "in"):
            _note_acronym(run, words)
            run = []
        opening = token.kind == "stop" and (token.raw in _OPENING or (token.raw in _QUOTES and (opening or closed)))
        closed = token.raw in ",;:.!?"
    _note_acronym(run, words)


def _note_acronym(run: list[str], words: Words) -> None:
    if len(run) > 1:
        words.acronyms.add("".join(form[0] for form in run if form))


def _is_german(tokens: list[Token]) -> bool:
    plainly = sum(token.form in _GERMAN for token in tokens)
    often = sum(token.form in _OFTEN_GERMAN or not _GERMAN_LETTERS.isdisjoint(token.raw) for token in tokens)
    return plainly >= 2 or (plainly >= 1 and often >= 1) or often >= 3


def _is_german_name(tokens: list[Token], index: int, opening: bool) -> bool:
    """Whether a capital word names something where every noun has one: two of them in a row ("Charles Lyell"), a bare place
    behind a preposition ("in Manchester"), capitals inside a word ("BSkyB"). What ends like a noun is none, and a name that
    stands alone as a subject is not seen; a true sentence flagged for every noun of its own would be worse."""
    word = tokens[index]
    if word.form in lexicon.STOPWORDS:
        return False
    if any(letter.isupper() for letter in word.raw[1:]) or any(letter.isdigit() for letter in word.raw):
        return not word.joined
    if not _may_name(word):
        return False
    before = tokens[index - 1] if index else None
    after = tokens[index + 1] if index + 1 < len(tokens) else None
    beside = [one for one in (before, after) if one is not None and one.capital and not one.joined and not word.joined]
    if any(_may_name(one) and one.form not in _GERMAN | _OFTEN_GERMAN for one in beside):
        return True
    return before is not None and before.form in _BEFORE_PLACES and (after is None or not after.joined)


def _may_name(word: Token) -> bool:
    return len(word.form) > 2 and not word.form.endswith(_NOUN_ENDINGS)


def _is_name(tokens: list[Token], index: int, opening: bool) -> bool:
    token = tokens[index]
    if len(token.form) < 2 or token.form in lexicon.NUMBER_WORDS:
        return False  # "J." in "J. S. Bach" is no name of its own
    if token.form in lexicon.TITLES and any(one.capital for one in tokens[index + 1 : index + 3]):
        return False
    shouted = len(token.form) > 1 and token.raw.isupper()
    if token.form in lexicon.STOPWORDS:
        return (shouted or token.raw == "May") and not opening
    following, after = (*tokens[index + 1 : index + 3], _END, _END)[:2]
    if not opening or (shouted and not following.raw.isupper()):
        return True
    return _opens_with_name(token, following, after)


def _opens_with_name(token: Token, following: Token, after: Token) -> bool:
    """Whether the capitalised first word of a sentence names something: what follows it tells."""
    form = token.form
    if form in lexicon.NO_NAMES or form.endswith(("ly", "ing", "ed")):
        return False
    if following.capital or token.raw.casefold().endswith(("'s", "’s")):
        return following.form not in lexicon.STOPWORDS or following.kind != "word"
    if following.raw == ",":
        return after.form in ("a", "an", "the", "who", "born") and not form.endswith("s")
    if form.endswith("s") and not form.endswith(("ss", "us")):  # "Scientists found" but "Paris is"
        return following.form in lexicon.SINGULAR_VERBS
    return following.form in lexicon.VERBS or (following.form.endswith("ed") and len(following.form) > 4)


def _read_content(tokens: list[Token], words: Words) -> None:
    index = 0
    denied = False  # behind a "not", before the word it denies
    while index < len(tokens):
        token = tokens[index]
        if token.form:
            words.forms.add(token.form)
        if token.form in lexicon.NEGATORS or token.raw.endswith(("n't", "n’t")) or token.form == "less":
            denied = _denies(tokens, index)
            index += 1
            continue
        keys, index = _keys(tokens, index, words)
        words.content.update(dict.fromkeys(keys))
        if token.kind == "stop" and token.raw not in _LIGHT:
            denied = False
        elif denied and keys:
            words.negated.add(keys[0])
            denied = False


def _denies(tokens: list[Token], index: int) -> bool:
    """Whether the negator there negates what follows it: "No. 5", "not only" and "not until" do not."""
    following, after = (*tokens[index + 1 : index + 3], _END, _END)[:2]
    if (
        following.raw == "."
        or following.form in lexicon.NOT_NEGATING
        or (tokens[index].form == "less" and following.form == "than")
    ):
        return False
    if following.form in ("more", "less", "fewer") and after.form == "than":
        return False
    # "it was Darla, not Angel" says it of Darla
    return not (index and tokens[index].form == "not" and tokens[index - 1].raw == ",")


def _keys(tokens: list[Token], index: int, words: Words) -> tuple[list[str], int]:
    """The content that starts at a token, and the index behind it."""
    token = tokens[index]
    if token.kind == "wide":
        pairs = [token.raw[i : i + 2] for i in range(max(1, len(token.raw) - 1))]
        words.forms.update(pairs, _KATAKANA.findall(token.raw))
        return pairs, index + 1
    if token.kind == "number" or token.form in lexicon.NUMBER_WORDS:
        key, behind = key_at(tokens, index, words)
        return [key], behind
    if token.kind == "word" and (token.form not in lexicon.STOPWORDS or token.form in words.names):
        return [stem(token.form)], index + 1
    return [], index + 1


def key_at(tokens: list[Token], index: int, words: Words) -> tuple[str, int]:
    """The number that starts there, noted with its scale ("1.5 million"), and the index behind it."""
    token = tokens[index]
    following = tokens[index + 1] if index + 1 < len(tokens) else _END
    value = token.form if token.kind == "number" else str(lexicon.NUMBER_WORDS[token.form])
    vague = token.form in lexicon.VAGUE
    index += 1
    if token.form in lexicon.TENS and 0 < lexicon.UNITS.get(following.form, 0) < 10:
        value = str(int(value) + lexicon.UNITS[following.form])
        index += 1
    while index < len(tokens) and (scale := lexicon.SCALES.get(tokens[index].form.removesuffix("s"))):
        value = _times(value, scale)
        words.forms.add(tokens[index].form)
        vague = False
        index += 1
    if index < len(tokens) and tokens[index].form in ("bc", "bce"):
        value = f"-{value}"
    key = f"#{value}s" if token.tail == "s" else f"#{value}"
    words.counts.add(key)
    if not vague:
        words.numbers[key] = None
    return key, index


def _times(value: str, scale: int) -> str:
    whole, _, decimals = value.partition(".")
    zeros = len(str(scale)) - 1
    shifted = (whole + decimals[:zeros].ljust(zeros, "0")).lstrip("0") or "0"
    return f"{shifted}.{decimals[zeros:]}" if len(decimals) > zeros else shifted
