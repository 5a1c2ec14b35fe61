"""The same claims on the same passages under other names and years: what counts is who did what, not who it was.

Words are exchanged in claims and passages alike, so that nothing becomes true or untrue by it. Left as they are: words of which
there are other forms about ("Austria", "Austrian"), and years where a century or a decade is told.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from training.verifier.claims import Case, Claim, Spans, Text

from wellread.text.lexicon import word_set

_NAME = re.compile(r"(?<![\w'’-])[A-Z][a-zà-ÿ]{3,}(?![\w-])")
_WORD = re.compile(r"[^\W\d_]+")
_YEAR = re.compile(r"(?<![\d,.$£€-])(?:1[3-9]|20)\d\d(?![\d%]|,\d|\.\d|s\b)")
_ROUNDED = re.compile(r"centur|decade|\b\d{3,4}s\b|millenni|turn of", re.IGNORECASE)
_SHIFTS = [shift for shift in range(-40, 41) if shift]


def disguised(case: Case, names: Sequence[str], rng: random.Random, share: float = 0.6) -> Case:
    """A case with some names and, now and then, all years exchanged."""
    texts = [part for passage in case.passages for part in passage] + [claim.text for claim in case.claims]
    table = _renamed(case, texts, names, rng, share)
    pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, table)) + r")\b") if table else None
    shift = rng.choice(_SHIFTS) if rng.random() < 0.5 and not any(map(_ROUNDED.search, texts)) else 0

    def changed(text: str) -> str:
        if pattern:
            text = pattern.sub(lambda match: table[match.group()], text)
        return _YEAR.sub(lambda match: str(int(match.group()) + shift), text) if shift else text

    def moved(claim: Claim) -> Claim:
        if claim.astray is None:
            return replace(claim, text=changed(claim.text))
        return replace(claim, text=changed(claim.text), astray=_moved(claim, changed))

    passages = tuple(Text(changed(passage.title), changed(passage.text)) for passage in case.passages)
    return Case(passages, tuple(map(moved, case.claims)))


def _moved(claim: Claim, changed: Callable[[str], str]) -> Spans:
    """Where the marked words stand after the change: each is changed by itself."""
    assert claim.astray is not None
    found: list[tuple[int, int]] = []
    for start, end in claim.astray:
        before, upto = changed(claim.text[:start]), changed(claim.text[:end])
        found.append((len(before), len(upto)))
    return tuple(found)


def _renamed(case: Case, texts: Sequence[str], names: Sequence[str], rng: random.Random, share: float) -> dict[str, str]:
    there = {name for passage in case.passages for name in _NAME.findall(f"{passage.title} {passage.text}")}
    starts = Counter(word.lower()[:4] for word in {word for text in texts for word in _WORD.findall(text)})
    lower = {word for text in texts for word in _WORD.findall(text) if word.islower()}
    free = [name for name in sorted(there) if starts[name.lower()[:4]] == 1 and name.lower() not in lower and name not in _KEPT]
    return {name: rng.choice(names) for name in free if rng.random() < share}


_KEPT = word_set("""
    January February March April June July August September October November December Monday Tuesday Wednesday Thursday
    Friday Saturday Sunday This That These Those There Their They When While After Before During From With Since Under
    Over Into Some Many Most Both Each Other Several Although However Because Where Which What Your Click Press Select
    Open Choose Name File Edit View Help Menu Settings Options North South East West King Queen Prince Princess Emperor
    President Duke Earl Lord Lady Saint World European English French German Italian Spanish American British Scottish
    Irish Welsh Chinese Japanese Russian Indian Christian Catholic Protestant Jewish Muslim Islamic Roman Greek Latin
    University College School Church City County State River Lake Street Company Party Army Navy Museum Library Society
    Union Kingdom Republic Empire Olympic Award Prize Cup League England France Germany Italy Spain America Britain
    Scotland Ireland Wales China Japan Russia India Canada Australia Austria London Paris Berlin Rome Vienna Moscow York
    California Texas Florida Europe Africa Asia
""")
