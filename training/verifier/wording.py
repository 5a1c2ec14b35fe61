"""The same in other words: what a true sentence may be turned into and stay true."""

from __future__ import annotations

import random
import re

from training.verifier.facts import COUNTED, DATE, ORDERED, facts

_PRONOUN = re.compile(
    r"^(?:He|She|It|They|The (?:film|song|album|book|series|band|company|team|city|town|village|school))\b(?! of)"
)
_OWN = re.compile(r"^(?:His|Her|Its|Their)\b")
_BRACKETS = re.compile(r"\s*\([^()]*\)")
# What may stand for what; the other way round only where it is written.
_SAME = """
film=movie; movie=film; founded=established/set up; established=founded; began=started; started=began; located in=situated in/in
wrote=authored/is the author of; released=published/issued; famous=well known; known as=called; currently=now; now=currently
approximately=about/around; roughly=about; served as=was/worked as; won=received/was awarded; created=made; made=created
built=constructed; constructed=built; purchased=bought; bought=purchased/acquired; acquired=bought/took over; many=numerous
several=a number of/some; including=such as/among them; such as=like; because=since; due to=because of; died=passed away
used=employed; uses=makes use of; shows=demonstrates; large=big/great; big=large; children=kids; often=frequently
usually=normally/generally; mainly=mostly/chiefly; primarily=mainly; obtain=get; required=needed; requires=needs; must=has to
allows=lets; ended=finished; finished=ended; starred=acted/had a role; starring=with; produced=made; directed=was the director of
headquartered in=based in; based in=headquartered in; has its headquarters in=is based in; consists of=is made up of
comprises=consists of; is part of=belongs to; belongs to=is part of; former=one-time; nearly=almost; almost=nearly
became=went on to be; received=got/was given; named=called; called=named; titled=called; lies in=is in
is located in=lies in/can be found in/is in; moved to=relocated to/went to live in; left=quit; debut=first appearance
debuted=first appeared; actor=performer; physician=doctor; lawyer=attorney; attorney=lawyer; during=in; throughout=during
prior to=before; following=after; before=prior to; increased=grew/rose; decreased=fell/dropped; declined=fell; rose=increased
annual=yearly; yearly=annual; previously=earlier; initially=at first; later=afterwards; subsequently=later; entire=whole
whole=entire; main=principal; principal=main; chief=main; major=important; important=significant; difficult=hard; help=assist
assisted=helped; married=was married to/wed; taught=was a teacher of; professor=academic; was born in=comes from
is best known for=is famous for; best known=most famous; employs=has; opened=was opened; population=number of inhabitants
inhabitants=residents; residents=people; majority=most; award=prize; prize=award; debut album=first album; novel=book
football=soccer; club=team; team=side; match=game; game=match; song=track; track=song; single=record; episode=instalment
served=worked; joined=became a member of; resigned=stepped down; defeated=beat; beat=defeated; killed=left dead
attended=went to/studied at; studied at=attended; graduated from=finished; signed with=joined; hosted=presented
"""
_SYNONYMS = {
    word: others.split("/") for word, _, others in (row.strip().partition("=") for row in re.split(r"[;\n]", _SAME) if "=" in row)
}
_WORDS = re.compile(r"\b(?:" + "|".join(sorted(map(re.escape, _SYNONYMS), key=len, reverse=True)) + r")\b")
_PASSIVE = re.compile(
    r"^(?P<what>.+?),? (?:is|was|were|are|is a [\w -]{3,60}?|was a [\w -]{3,60}?)"
    r" (?P<verb>\w+ed|written|made|built|won|led|held|sung|drawn|given|shot)"
    r" by (?P<who>[A-Z][\w'’.-]+(?: [A-Z][\w'’.-]+)*)(?P<rest>[,. ].*)?$"
)
_PAST = {"written": "wrote", "sung": "sang", "drawn": "drew", "given": "gave"}
_PARTICIPLE = {past: form for form, past in _PAST.items()}
_ACTIVE = re.compile(
    r"^(?P<who>[A-Z][\w'’.-]+(?: [A-Z][\w'’.-]+)*) (?P<verb>founded|directed|wrote|produced|created|designed|discovered|invented"
    r"|composed|built|won|painted|recorded|played|married|edited|hosted|owned)"
    r" (?P<what>(?:the |a |an )?[\w'’ -]{3,60}?)(?P<rest>[,.]| in \d{4}.*| on .*)?$"
)  # fmt: skip
_LEADS = re.compile(r"^(?P<lead>(?:In|On|At|During|After|By|From) [^,]{3,50}), (?P<rest>[A-Z].*|[a-z].*)$")


def with_subject(sentence: str, title: str, rng: random.Random) -> str:
    """A sentence that opens with a pronoun gets the subject of its passage instead."""
    name = re.sub(r"\s*\([^)]*\)\s*$", "", title)
    if rng.random() < 0.15:
        return sentence
    if _OWN.match(sentence):
        return _OWN.sub(lambda _: f"{name}'s", sentence, count=1)
    return _PRONOUN.sub(lambda _: name, sentence, count=1)


def reworded(claim: str, title: str, rng: random.Random) -> str:
    """One to four changes that keep what is said."""
    claim = with_subject(claim, title, rng)
    ways = [_without_brackets, _shorter, _turned, _synonyms, _dates, _counts, _moved, _last_name, _plainer, _lighter]
    if rng.random() < 0.7:
        claim = _without_brackets(claim, rng)
    for way in rng.sample(ways, rng.choice((1, 2, 3, 4, 5))):
        claim = way(claim, rng)
    claim = re.sub(r"\s+([,.])", r"\1", " ".join(claim.split())).strip(" ,;:")
    claim = claim[:1].upper() + claim[1:]
    return claim if claim.endswith((".", "!", "?")) else claim + "."


def _without_brackets(claim: str, rng: random.Random) -> str:
    return _BRACKETS.sub("", claim)


def _shorter(claim: str, rng: random.Random) -> str:
    """Without what follows a comma or "and", or what stands between two commas."""
    parts = re.split(r"(, | and (?=(?:is|was|has|had|later|then|also)\b)|; | which | who )", claim.rstrip("."))
    if len(parts) < 3:
        return claim
    if len(parts) >= 5 and parts[1] == parts[3] == ", " and rng.random() < 0.5:
        shorter = f"{parts[0]} {''.join(parts[4:])}" if parts[4][:1].islower() else claim
    else:
        shorter = "".join(parts[: rng.randrange(1, len(parts), 2)])
    return shorter if len(shorter.split()) >= 5 else claim


def _turned(claim: str, rng: random.Random) -> str:
    """Passive into active, and back."""
    if match := _PASSIVE.match(claim.rstrip(".")):
        verb = _PAST.get(match["verb"], match["verb"])
        return f"{match['who']} {verb} {_lower(match['what'])}{match['rest'] or ''}."
    if match := _ACTIVE.match(claim.rstrip(".")):
        verb = _PARTICIPLE.get(match["verb"], match["verb"])
        what = match["what"][:1].upper() + match["what"][1:]
        return f"{what} was {verb} by {match['who']}{match['rest'] or ''}."
    return claim


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:] if text.startswith(("The ", "A ", "An ", "His ", "Her ", "Its ")) else text


def _synonyms(claim: str, rng: random.Random) -> str:
    return _WORDS.sub(lambda match: rng.choice([*_SYNONYMS[match[0]], match[0]]), claim)


def _dates(claim: str, rng: random.Random) -> str:
    def other(match: re.Match[str]) -> str:
        day, month = match["day"] or match["usday"], match["month"] or match["us"] or match["bare"]
        forms = [f"{month} {match['year']}", match["year"]]
        forms += [f"{day} {month} {match['year']}", f"{month} {day}, {match['year']}"] * 2 if day else []
        return rng.choice(forms)

    changed = DATE.sub(other, claim)
    return re.sub(r"\bon ((?:[A-Z][a-z]+ )?\d{4})\b", r"in \1", changed)


def _counts(claim: str, rng: random.Random) -> str:
    def other(match: re.Match[str]) -> str:
        word = match[0]
        if word.isdigit():
            return COUNTED[int(word) - 1] if 2 <= int(word) <= 12 else word
        return str(COUNTED.index(word) + 1)

    return re.sub(rf"(?<![\d.,/-])\b(?:[2-9]|1[0-2]|{'|'.join(COUNTED[1:])})\b(?![\d.,/%-]| [A-Z])", other, claim)


def _moved(claim: str, rng: random.Random) -> str:
    """ "In 1999, X did Y" as "X did Y in 1999"."""
    match = _LEADS.match(claim.rstrip("."))
    if not match:
        return claim
    return f"{match['rest']} {match['lead'][:1].lower()}{match['lead'][1:]}."


def _last_name(claim: str, rng: random.Random) -> str:
    """ "Marlon Reid" as "Reid" at the beginning."""
    found = facts(claim)
    if found and found[0].start == 0 and found[0].kind == "name" and len(found[0].text.split()) == 2 and rng.random() < 0.5:
        return claim[len(found[0].text.split()[0]) + 1 :]
    return claim


_LIGHT = re.compile(
    r"\b(?:also|very|highly|widely|currently|professional|famous|well|often|then|subsequently|primarily|notable|later) (?=[a-z])"
)


def _plainer(claim: str, rng: random.Random) -> str:
    claim = _LIGHT.sub(lambda match: "" if rng.random() < 0.7 else match[0], claim)
    return re.sub(rf"\b(?:{'|'.join(ORDERED)})\b", lambda match: match[0], claim)


_SAYING = (
    "According to the passage, ", "In fact, ", "The article says that ", "As is known, ", "Reportedly, ", "It is said that ",
    "Notably, ", "In short, ", "For instance, ", "Here, ",
)  # fmt: skip


def led_in(claim: str, rng: random.Random) -> str:
    """A claim behind words that say nothing of their own."""
    lead = rng.choice(_SAYING)
    return lead + (claim if claim.split()[0] not in _OPENING else claim[:1].lower() + claim[1:])


_OPENING = ("The", "A", "An", "In", "On", "At", "It", "He", "She", "They", "His", "Her", "Its", "From", "Of", "Under", "With")
_DESCRIBING = re.compile(r"\b[a-z]+(?:ly|ous|ful|ive|al|ic|ern|ent|ant|ble|ary|ish|ese|an) (?=[a-z])")


def _lighter(claim: str, rng: random.Random) -> str:
    """Without some of the words that only describe."""
    return _DESCRIBING.sub(lambda match: "" if rng.random() < 0.6 else match[0], claim)
