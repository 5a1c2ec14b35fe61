"""Named entities and noun phrases of a question and its answer, seen by their words alone.

A follow-up refers back to one of them. Nothing here knows grammar; what stands where in a short question is enough:
a run of capitals is a name, what follows an article up to the next small word is a thing, and the word behind "I" or
"to" is what is done with it.
"""

from __future__ import annotations

from wellread.core.values import frozen
from wellread.questions.kinds import ASKING, AUXILIARY, Kind, wanted
from wellread.text import patterns as re
from wellread.text.dates import dates_in
from wellread.text.lexicon import MONTHS, NO_NAMES, STOPWORDS, word_set
from wellread.text.markers import strip_markers
from wellread.text.sentences import sentences

_JOINED = r"(?:[ ](?:of|the|de|da|di|la|van|von|der|den|del|al|bin|and the)(?=[ ]))*"
_NAME = re.compile(rf"[^\W\d_a-zß-öø-ÿ][\w'’.&-]*(?:{_JOINED}[ ](?:[^\W\d_a-zß-öø-ÿ][\w'’.&-]*|[IVX]+\b|\d{{1,4}}\b)){{0,40}}")
_WORD = re.compile(r"[\w'’-]+|[^\w\s]")
_ASKING = frozenset(ASKING.split("|"))
_AUXILIARY = frozenset([*AUXILIARY.split("|"), "be", "been"])
_LEADING = word_set("verb of for with about between from in on into without as than and or more")
_BEHIND_VERBS = word_set("the a an my your our his her its their")
_ARTICLES = _BEHIND_VERBS | word_set("this that these those some any")
_BEFORE_VERBS = word_set("i you we they he she one people to can could should would will must may might don't not it")
# Nouns that say little without what follows them: the topic is behind their "of", "to" or "between".
_LIGHT = word_set("""
    way ways purpose difference differences kind kinds type types name names number meaning best part use reason reasons
    capital process steps step amount role point example examples time place thing things cause causes list size age
    date year history definition population height length cost price author effect effects benefits benefit
    suggestion suggestions advice ideas idea tips tip methods method options option ones one anything something
    everything nothing else most same long well okay ok oh yes like really sure thanks good bad better worse different
""")
_NO_NAMES = word_set("ok oh yes no hi hello thanks thank hmm lol wow also any anything something like i'm i’m i've i’ve i'd i’d")
_OPENING_WORDS = STOPWORDS | NO_NAMES | _ASKING | _NO_NAMES
_NEVER_NAMES = (STOPWORDS | _NO_NAMES).union(MONTHS)
_PERSONAL = re.compile(
    r"\b(?:born|die[ds]?|death|married|wife|husband|wrote|written by|invent\w*|discover\w*|paint\w*|compos\w*|son|daughter|mother"
    r"|father|brother|sister|actor|actress|singer|king|queen|president|author|poet|he|she|his|him|her)\b",
    re.IGNORECASE,
)
_HEADLINE = 12  # words


@frozen
class Mention:
    """Something that was spoken of, in the words that were used."""

    text: str
    kind: Kind = "thing"
    plural: bool = False
    named: bool = False


def answered(question: str, answer: str) -> Mention | None:
    """The entity that an answer names: a person, a place, a date or a thing; None where it tells or counts."""
    kind = wanted(question)
    said = _first(answer)
    if kind in (None, "number") or not said:
        return None
    if kind == "date":
        date = next((one for one in dates_in(said) if one.year), None)
        return Mention(str(date.year) if date.year > 0 else date.said, "date", named=True) if date else None
    known = {word.casefold() for word in _WORD.findall(question)}
    runs = [one for one in names(said) if not all(word.casefold() in known for word in _WORD.findall(one))]
    if not runs:
        return Mention(said, kind, named=True) if len(said.split()) <= 4 and (said[0].isupper() or kind != "thing") else None
    several = " and " in said and len(said.split()) <= _HEADLINE and len(runs) > 1
    if several:
        return Mention(said.rstrip("."), kind, plural=True, named=True)
    return Mention(_likeliest(said, runs, kind), kind, named=True)


def spoken_of(question: str, answer: str = "") -> list[Mention]:
    """The names of a question, or where it has none its noun phrases, first the one that it is about."""
    personal = _PERSONAL.search(f"{question} {answer[:300]}") is not None
    found: list[Mention] = []
    for name in names(question):
        person = personal and not re.search(rf"\b(?:in|at|of|from|on) {re.escape(name)}\b", question)
        found.append(Mention(name, "person" if person else "thing", named=True))
    return found or [Mention(phrase, plural=_is_plural(phrase)) for phrase in phrases(question)]


def names(text: str) -> list[str]:
    """Runs of words with capitals; the first word of a sentence counts where it is no ordinary one."""
    starts = {start for start, _ in sentences(text)}
    found: list[str] = []
    for match in _NAME.finditer(text):
        name = match[0].rstrip(".'’-&")
        first, _, rest = name.partition(" ")
        if match.start() in starts and (first.casefold() in _OPENING_WORDS or (not rest and not first.isupper())):
            name = rest
        if name.endswith(("'s", "’s")):
            name = name[:-2]
        if len(name) > 1 and name.casefold() not in _NEVER_NAMES:
            found.append(name)
    return list(dict.fromkeys(found))


def topic(question: str) -> str:
    """The topic of a question, in a few of its words; empty where it names nothing."""
    capitals = names(question)
    things = [one for one in phrases(question) if not any(name in one for name in capitals)]
    return ", ".join(dict.fromkeys([*things, *capitals]))


def says_nothing(text: str) -> bool:
    """Whether all its words are small or light: "Any other suggestions?"."""
    folded = (word.casefold() for word in _WORD.findall(text))
    return all(_is_small(word) or word in _LIGHT or word == "else" for word in folded)


def phrases(text: str) -> list[str]:
    """Noun phrases, roughly: runs of words that are neither small nor what is done, in their order. None of them is light."""
    words = [*_WORD.findall(text), "."]
    found: list[str] = []
    run: list[str] = []
    opened = ""  # the word before the run
    for word in words:
        folded = word.casefold()
        if _is_small(folded):
            if thing := _noun(run, opened, folded):
                found.append(thing)
            run, opened = [], folded
        elif not run and opened in _BEFORE_VERBS:
            opened = "verb"  # "I reheat potatoes": what is done is no part of the thing
        else:
            run.append(word)
    return [one for one in found if one.split()[-1].casefold() not in _LIGHT]


def _is_small(folded: str) -> bool:
    head = re.split("['’]", folded)[0]  # "it's", "I'm"
    return head in STOPWORDS or head in _ASKING or head in _BEFORE_VERBS or not folded[0].isalpha()


def _noun(run: list[str], opened: str, closed: str) -> str:
    """The run without the verb that ends it: one stands before an article, and behind a subject that follows "does".

    What neither an article nor "of" and the like nor a verb leads to may be anything, and counts for nothing.
    """
    if not (opened in _ARTICLES or opened in _AUXILIARY or opened in _LEADING):
        return ""
    if run and closed in _BEHIND_VERBS and opened != "verb":
        run = run[:-1]
    if run and opened in _AUXILIARY:
        plural = next((place for place, word in enumerate(run[:3]) if _is_plural(word)), 0)
        run = run[: plural + 1]
    return " ".join(run)


def _first(answer: str) -> str:
    """The headline, where an answer has one, else its first sentence."""
    said = strip_markers(answer).strip()
    head, gap, _ = said.partition("\n\n")
    if gap and len(head.split()) <= _HEADLINE:
        return head.strip().rstrip(".")
    spans = sentences(said)
    return said[slice(*spans[0])].rstrip(".") if spans else ""


def _likeliest(said: str, runs: list[str], kind: Kind) -> str:
    """Of several names the one behind "by" for a person, else the longest of a person, the first of anything else."""
    if kind != "person":
        return runs[0]
    longest = sorted(runs, key=lambda run: -min(len(run.split()), 2))
    by = (run for run in longest if re.search(rf"\bby (?:[\w'’-]+ ){{0,4}}?{re.escape(run)}", said))
    return next(by, longest[0])


def _is_plural(phrase: str) -> bool:
    last = phrase.split()[-1].casefold()
    return last in ("people", "children", "men", "women") or (last.endswith("s") and not last.endswith(("ss", "us", "is")))
