"""Questions as statements with a gap for the answer: "When did the war end?" → "The war ended in {}."

Rules on the question's words; what they do not understand is left out. Half of what they make is clumsy, which does no harm:
the same wording is trained with right and with wrong answers.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable

from wellread.text.lexicon import word_set

GAP = "{}"
_BE = ("is", "are", "was", "were")
_DO = ("did", "does", "do")
_HELP = ("has", "have", "had", "can", "could", "will", "would", "should", "may", "must", "might")
_WH = ("who", "what", "which", "whom", "whose")
_DETERMINERS = word_set("the a an this that these those his her its their our my your of in on at for by to and or")
_PARTICIPLE = re.compile(
    r"[a-z]{2,}(?:ed|en)|born|made|built|held|known|found|set|led|shot|won|sold|told|kept|put|sent|lost|cast|hit|run|begun"
)
_FORMS = """
    be:was become:became begin:began break:broke bring:brought build:built buy:bought catch:caught choose:chose
    come:came cost:cost cut:cut deal:dealt do:did draw:drew drink:drank drive:drove eat:ate fall:fell feel:felt
    fight:fought find:found fly:flew forget:forgot get:got give:gave go:went grow:grew have:had hear:heard hide:hid
    hit:hit hold:held keep:kept know:knew lay:laid lead:led leave:left lend:lent let:let lie:lay lose:lost make:made
    mean:meant meet:met pay:paid put:put read:read ride:rode ring:rang rise:rose run:ran say:said see:saw seek:sought
    sell:sold send:sent set:set shoot:shot show:showed sing:sang sink:sank sit:sat sleep:slept speak:spoke spend:spent
    split:split spread:spread stand:stood steal:stole strike:struck swear:swore swim:swam take:took teach:taught
    tell:told think:thought throw:threw understand:understood wear:wore win:won withdraw:withdrew write:wrote
"""
_YOU = {"I": "you", "my": "your", "myself": "yourself", "me": "you"}
_SAID_OF = word_set(
    "a an the in on at for from part possible safe necessary enough allowed able available case-sensitive required needed"
)
_IRREGULAR = dict(pair.split(":") for pair in _FORMS.split())
_OR = re.compile(r"^(?P<asked>.+?),? (?:between )?(?P<one>[^,?]+?),? or (?P<other>[^,?]+)$")

_ASKED = re.compile(
    r"(?:who|which(?: of the (?:two )?\w+)?(?: [a-z]+){0,2}?|what(?: [a-z]+){0,2}?) (?P<rest>(?:is|are|was|were|has|have|had"
    r"|came|died|lived|won|did|does|started|released|published|contains?|features?|directed|began)\b.*)",
    re.IGNORECASE,
)


class Statements:
    """Knows which words are verbs: those that often follow "to" in some texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        seen, after = Counter[str](), Counter[str]()
        for text in texts:
            words = re.findall(r"[a-z]+", text)
            seen.update(words)
            after.update(word for before, word in itertools.pairwise(words) if before == "to")
        self._verbs = {word for word, count in after.items() if count >= 3 and count / seen[word] > 0.12 and len(word) > 1}

    def of(self, question: str) -> str | None:
        """The statement with a gap for the answer."""
        asked = " ".join(question.split()).rstrip(" ?.")
        words = asked.split()
        if not 3 <= len(words) <= 32:
            return None
        made = self._opening(words) or self._inside(words)
        if made is None or made.count(GAP) != 1:
            return None
        made = made.strip(" ,")
        return made[0].upper() + made[1:] + "."

    def sides(self, question: str) -> tuple[str, str] | None:
        """A question after yes or no as what it would be to say yes, and to say no: "Can it be undone?" → "It can be undone.",
        "It cannot be undone." """
        words = " ".join(question.split()).rstrip(" ?.").split()
        if not 3 <= len(words) <= 32 or words[0].lower() not in (*_BE, *_DO, *_HELP):
            return None
        helper, rest = words[0].lower(), [_YOU.get(word, word) for word in words[1:]]
        place = next((n for n in range(1, len(rest)) if self._begins(rest, n, helper)), None)
        if place is None:
            return None
        subject, verb, end = " ".join(rest[:place]), rest[place], " ".join(["", *rest[place + 1 :]])
        form = verb if helper not in _DO or helper == "do" else third(verb) if helper == "does" else past(verb)
        yes = f"{subject} {form}{end}." if helper in _DO else f"{subject} {helper} {verb}{end}."
        no = f"{subject} {'cannot' if helper == 'can' else helper + ' not'} {verb}{end}."
        return yes[0].upper() + yes[1:], no[0].upper() + no[1:]

    def _begins(self, words: list[str], at: int, helper: str) -> bool:
        """Whether what is said of the subject begins here."""
        word, before = words[at], words[at - 1].lower()
        if before in _DETERMINERS:
            return False
        if helper not in _BE:
            return word in self._verbs or word == "be"
        return _PARTICIPLE.fullmatch(word) is not None or word in _SAID_OF

    def _opening(self, words: list[str]) -> str | None:
        first = words[0].lower()
        if first in ("in", "on", "at", "from", "to", "by", "for", "with", "during") and words[1].lower() in (*_WH,):
            at = self._helper(words, 2)
            told = self._told(words, at) if at else None
            return f"{told} {first} {GAP}" if told else None
        if first == "when" and words[1].lower() in (*_BE, *_DO, *_HELP):
            told = self._told(words, 1)
            return f"{told} in {GAP}" if told else None
        if first == "where" and words[1].lower() in (*_BE, *_DO, *_HELP):
            told = self._told(words, 1)
            return f"{told} in {GAP}" if told else None
        if first == "how" and words[1].lower() in ("many", "much"):
            at = self._helper(words, 2)
            thing = " ".join(words[2:at]) if at else ""
            if at and words[at].lower() in _BE and " ".join(words[at + 1 : at + 2]).lower() == "there":
                return f"There {words[at]} {GAP} {thing} {' '.join(words[at + 2 :])}"
            if at and (told := self._told(words, at)) and words[at].lower() not in _BE:
                return f"{told} {GAP} {thing}"
            verb = next((n for n in range(3, len(words)) if _PARTICIPLE.fullmatch(words[n])), None)
            return f"{GAP} {' '.join(words[2:])}" if verb and not at else None
        if first in ("who", "what", "which"):
            return self._subject(words)
        return None

    def _subject(self, words: list[str]) -> str | None:
        """Who or what does it, or is it."""
        second = words[1].lower()
        if second in _BE:
            rest = " ".join(words[2:])
            participle = next((n for n in range(3, len(words)) if _PARTICIPLE.fullmatch(words[n])), None)
            if words[0].lower() == "what" and participle and words[2][0].isupper():
                return f"{' '.join(words[2:participle])} {second} {' '.join(words[participle:])} {GAP}"
            if words[2].lower() in ("the", "another", "one") or words[2].endswith(("'s", "’s")):
                return f"{rest} {second} {GAP}"
            return f"{GAP} {second} {rest}"
        if second in (*_DO, *_HELP):
            told = self._told(words, 1)
            return f"{told} {GAP}" if told and second in _DO else f"{GAP} {' '.join(words[1:])}" if second in _HELP else None
        at = self._helper(words, 1)
        if at and words[at].lower() in _DO:
            told = self._told(words, at)
            return f"{told} {GAP}" if told else None
        if at and at <= 7:
            return f"{GAP} {' '.join(words[at:])}"
        if words[0].lower() == "who":
            return f"{GAP} {' '.join(words[1:])}"
        verb = next((n for n in range(1, min(7, len(words))) if self._is_past(words[n])), None)
        verb = next((n for n in range(2, verb or min(7, len(words))) if self._is_third(words[n])), verb)
        return f"{GAP} {' '.join(words[verb:])}" if verb else None

    def _inside(self, words: list[str]) -> str | None:
        """ "X is located in what country" """
        at = next((n for n, word in enumerate(words) if n > 1 and word.lower() in _WH), None)
        if at is None or words[at].lower() == "whose":
            return None
        end = at + 1
        while (
            words[at].lower() != "who"
            and end < len(words)
            and not (
                words[end].lower() in (*_BE, *_DO, *_HELP, *_DETERMINERS, "that", "from", "with") or self._is_past(words[end])
            )
        ):
            end += 1
        if end < len(words) and words[end].lower() in _DO:
            return None
        return f"{' '.join(words[:at])} {GAP} {' '.join(words[end:])}"

    def _helper(self, words: list[str], start: int) -> int | None:
        return next((n for n in range(start, len(words)) if words[n].lower() in (*_BE, *_DO, *_HELP)), None)

    def _is_third(self, word: str) -> bool:
        """ "closes", "sets" """
        return word.endswith("s") and (word[:-1] in self._verbs or word[:-2] in self._verbs)

    def _is_past(self, word: str) -> bool:
        return word in _IRREGULAR.values() or (word.endswith("ed") and len(word) > 4)

    def _told(self, words: list[str], at: int) -> str | None:
        """What stands behind a helper, with its subject before the verb: "did the war end" → "the war ended"."""
        helper, rest = words[at].lower(), words[at + 1 :]
        if helper in _BE:
            place = next((n for n in range(1, len(rest)) if _PARTICIPLE.fullmatch(rest[n])), None)
            return f"{' '.join(rest[:place])} {helper} {' '.join(rest[place:])}" if place else f"{' '.join(rest)} {helper}"
        for place in range(1, len(rest)):
            word = rest[place]
            if word in self._verbs and rest[place - 1].lower() not in _DETERMINERS:
                form = word if helper not in _DO or helper == "do" else third(word) if helper == "does" else past(word)
                kept = f"{helper} " if helper in _HELP else ""
                return f"{' '.join(rest[:place])} {kept}{form} {' '.join(rest[place + 1 :])}".strip()
        return None


def past(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return verb + "d"
    return verb[:-1] + "ied" if verb.endswith("y") and verb[-2:-1] not in "aeiou" else verb + "ed"


def third(verb: str) -> str:
    if verb == "have":
        return "has"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "o")) else "s")


def compared(question: str, answer: str) -> tuple[str, str] | None:
    """A question for one of two as a right and a wrong statement: "Which film came out first, A or B?" """
    found = _OR.match(" ".join(question.split()).rstrip(" ?."))
    if found is None or answer.lower() not in (found["one"].lower(), found["other"].lower()):
        return None
    asked = found["asked"].rstrip(",")
    head = _ASKED.match(asked)
    if head is None or head["rest"].split()[0] in _DO:
        return None
    one, other = found["one"], found["other"]
    if answer.lower() == other.lower():
        one, other = other, one
    if re.match(r"(?:film|movie|album|song|band)\b", one):
        return None
    both = " and ".join(sorted((one, other)))
    return f"Of {both}, {one} {head['rest']}.", f"Of {both}, {other} {head['rest']}."


def said(question: str) -> str | None:
    """A question after yes or no as a statement: "Are A and B both films?" → "A and B are both films." """
    words = " ".join(question.split()).rstrip(" ?.").split()
    helper = words[0].lower()
    if helper not in (*_BE, "did", "do", "does", "has", "have") or len(words) < 4:
        return None
    rest = words[1:]
    if rest[0].lower() == "both":
        rest = rest[1:]
        both = "both "
    else:
        both = ""
    stop = next((n for n in range(1, len(rest)) if _opens_predicate(rest, n)), None)
    if stop is None:
        return None
    told = " ".join(rest[stop:])
    kept = "" if helper in ("do", "does") else helper + " "
    return f"{' '.join(rest[:stop])} {kept}{both}{told}."


def _opens_predicate(words: list[str], at: int) -> bool:
    word = words[at]
    if words[at - 1] == "and" or ("and" not in words[:at] and "and" in words[at:]):
        return False
    return word in (
        "both",
        "located",
        "from",
        "in",
        "based",
        "born",
        "part",
        "a",
        "an",
        "the",
        "of",
        "directed",
        "also",
        "released",
        "used",
    ) or (word.islower() and word not in ("of", "the", "and", "&", "de", "in", "von") and words[at - 1][:1].isupper())
