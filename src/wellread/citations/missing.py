"""Abstention: sentences that say what the material does not say, and the claims that hide behind them.

"The material does not say who produced it" claims nothing of the world. "It was made in Rome, but the material does not
say when" claims something, and that part has to be carried; so does "…, who was his brother" behind the rest.
"""

from __future__ import annotations

from typing import NamedTuple

from wellread.text import patterns as re

_LONGEST = 400  # the patterns look back and forth; such sentences are short

_THINGS = (
    r"(?:materials?|passages?|sources?|results?|documents?|context|information|articles?|texts?|excerpts?|notes?|observations?"
    r"|posts?|snippets?|search(?:es)?|pages?|entries|entry)\b(?! of\b)"
)
_OTHER_THINGS = (
    r"(?:quelle\w*|passage\w*|dokument\w*|unterlagen|texte?n?|material|fuentes?|textos?|documentos?|fonti|testi|testo|documenti"
    r"|extraits?|textes?|documents?|sources?|matériel|matériaux?|pasajes?|passaggi)\b"
)
_ITS = r"(?:the|these|this|those|my|any|any of the)"
_OTHERS = r"(?:die|das|den|dem|der|les|le|los|las|el|i|il|gli|im|in den|dans les|en las?|nei|nelle)"
_TOLD = (
    r"(?:said|sa(?:y|ys)|stat\w*|nam(?:e|es|ed)|mention\w*|giv(?:e|es|en)|specif\w*|identif\w*|provid\w*|includ\w*|cover\w*|found|find"
    r"|know\w*|clear|describ\w*|list\w*|determin\w*|establish\w*|told|tell\w*|answer\w*|disclos\w*|record\w*|address\w*|indicat\w*"
    r"|contain\w*|confirm\w*|reveal\w*|explain\w*|discuss\w*|report\w*|infer\w*|sure|show\w*|detail\w*|have|has|enough|clarify|supply"
    r"|conclud\w*|verif\w*|settle\w*"
    r"|nenn\w*|genannt|sag\w*|gesagt|erwähn\w*|angegeben|enth\w*|hervor|dit\w*|mentionn\w*|indiqu\w*|précis\w*|dice\w*"
    r"|menciona\w*|indica\w*|especifica\w*|dicono|menzion\w*|specific\w*)"
)
_NOT = (
    r"(?:not|no|none|never|nothing|neither|nowhere|cannot|unknown|unclear|\w+n['’]t"
    r"|nicht|nichts|kein\w*|ne|pas|rien|non|nulla|aucun\w*|ningun\w*|silent)\b"
)
_ASKING = r"(?:who|whom|whose|what|when|where|whether|which|how|why|if)\b"
_OPENING = r"(?:(?:unfortunately|however|but|yet|so|also|still|in addition|beyond that|beyond this|for the rest),?\s+)?"
_AUXILIARY = r"(?:is|are|was|were|be|been|remains?|can|could|cannot|does|do|did)\b"

_GERMAN = (
    rf"(?:{_OTHERS}\s)?{_OTHER_THINGS}[^;:]*?\b(?:nenn|sag|erwähn|enth|geb|gib|verrat|verrät)\w*\b[^;:]*?\b(?:nicht|nichts|kein\w*)\b",
    rf"(?:über|zu|zum|zur|von|vom)\b[^;:]*?\b(?:sag|nenn|enth|geb)\w*\b[^;:]*?{_OTHER_THINGS}[^;:]*?\b(?:nicht|nichts|kein\w*)\b",
    r"[^;:]*?\bgibt es\b[^;:]*?\b(?:kein\w*|nichts)\b[^;:]*?\b(?:angaben?|information\w*|hinweise?|aussagen?|belege?)\b",
    r"(?:wer|wem|wen|wessen|was|wann|wo|woher|wie|warum|weshalb|ob|welche\w*)\b[^;:]*?,[^,;:]*?\b"
    r"(?:nicht\s(?:hervor|genannt|gesagt|angegeben|erwähnt|bekannt|klar)|unklar|unbekannt|offen)\b",
)

_MATERIAL = rf"{_OPENING}(?:{_ITS}\s)?(?:[\w-]+\s){{0,3}}{_THINGS}"
_IN_IT = rf"(?:in|from|by|among|on the basis of|with)\s{_ITS}\s(?:[\w-]+\s){{0,3}}{_THINGS}"
_UNKNOWN = r"un(?:known|clear|stated|specified|named)\b"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE | re.DOTALL)
    for form in (
        rf"{_MATERIAL}[^,;:]*?\b(?:(?:do|does|did|can|could)(?:\s?not|n['’]t)\b.*?\b{_TOLD}\b|{_TOLD}\s(?:\w+\s)?{_NOT}"
        r"|(?:is|are)\ssilent\b|leaves?\s(?:it\s)?open\b)",
        rf"(?:{_OTHERS}\s)?{_OTHER_THINGS}[^;:]*?\b(?:nicht|nichts|kein\w*|ne|n['’]|no|non)\b.*?\b(?:{_TOLD}|wer|wann|wo|qui|quand)\b",
        rf"{_OPENING}(?:no|none|neither|nothing|not one|kein\w*|aucun\w*|ningun\w*|nessun\w*)\s(?:of\s)?(?:[\w-]+\s){{0,4}}"
        rf"(?:{_THINGS}|answer\b).*?\b(?:{_TOLD}|on|about)\b",
        rf"{_OPENING}nothing\s(?:\w+\s){{0,2}}(?:says?|said|stated|mentioned|tells?|found)\b",
        # no more than that, or "was not named heir" would be taken for it
        rf"{_OPENING}(?:the|its|his|her|their|this|these|{_ASKING})\s[^,;:]*?\b(?:(?:is|are|was|were|remains?)(?:\snot|\snever|n['’]t)"
        r"|(?:cannot|could not) be)\s(?:\w+ly\s)?"
        r"(?:named|mentioned|stated|given|specified|disclosed|identified|recorded|provided|known|clear|told|answered|explained|determined)"
        rf"(?:\s(?:here|there|anywhere|{_IN_IT}))?\W*\Z",
        *_GERMAN,
        rf"{_OPENING}(?:I|We)\b(?: am| was| were|['’]m)? "
        r"(?:can|could|did|do|have|found|cannot|not|unable|(?:ca|could|did|do|have)n['’]t)\b"
        rf".*?(?:\b{_NOT}.*?\b{_TOLD}\b|\bunable\b.*?\b{_TOLD}\b|\bfound (?:no|nothing)\b)",
        rf"{_OPENING}there (?:is|are|was|were) (?:no|nothing)\b.*?"
        rf"(?:\b(?:information|mention|indication|answer|statement|detail)s?\b|\b{_IN_IT})",
        rf"{_OPENING}it (?:is|was|remains|cannot be|could not be|isn['’]t) (?:not |un)?(?:\w+ )?{_TOLD}\b[^,;]*?\b{_ASKING}",
        rf"{_OPENING}{_ASKING}[^,;:]*?\b(?:is|are|was|were|remains?)\s{_UNKNOWN}",
        rf"[^;:]*?\b{_AUXILIARY}\s?(?:{_NOT}\s)?(?:\w+\s)?(?:{_NOT}\s)?(?:be\s)?(?:{_TOLD}\b|{_UNKNOWN}).{{0,40}}?\b{_IN_IT}",
        rf"(?:it |they |{_THINGS}\s)?(?:do|does|did)(?: not|n['’]t)\s{_TOLD}\b",  # "[1] does not say …" without its marker
        r"(?:what (?:is|remains) (?:missing|unanswered|open)|missing"
        r"|not (?:stated|found|given|covered|answered|mentioned))\b\s*:?",
    )
)
_DENIED = re.compile(
    rf"\b{_NOT}|\bun(?:known|clear|stated|specified|named|answered|klar|bekannt)\b|\bmissing\b|\bunable\b|n['’]t\b"
    r"|\bleaves?\s(?:it\s)?open\b|\boffen\b",
    re.IGNORECASE,
)
# What follows one of these may be a claim of its own.
_JOINTS = re.compile(
    r"[;—–:]\s*|,?\s+(?:but|although|though|whereas|while|however|yet|because|except that|aber|mais|pero|ma)\s+"
    r"|,\s+(?=(?:who|which|whose|where|whom)\b)|,\s+(?:and|so|since|as)\s+(?=\w+)|\s\(",
    re.IGNORECASE,
)
_ASKS_ON = re.compile(rf"(?:(?:or|and|not|{_ASKING}),?\s*)+\W*", re.IGNORECASE)  # "…, where or why"
_ANSWERS_IT = re.compile(
    r"\s*(?:it|this|that|these|those|they|he|she)\s(?:is|was|are|were)\b", re.IGNORECASE
)  # "…, but it was her"
_SPOKEN_OF = re.compile(rf"\b(?:{_THINGS}|{_OTHER_THINGS})", re.IGNORECASE)
_FACTIVE = re.compile(r"\b(?:why|how|when|where|after|that)\b(.*)", re.IGNORECASE | re.DOTALL)


class Told(NamedTuple):
    """A sentence taken apart: what it claims, and what it says is missing. Either may be empty."""

    claim: str
    missing: str


def told(sentence: str) -> Told:
    """The parts of a sentence without markers. Where nothing says what is missing, all of it is a claim."""
    if len(sentence) > _LONGEST or not _DENIED.search(sentence):
        return Told(sentence, "")
    claims: list[str] = []
    lacks: list[str] = []
    for part in _parts(sentence):
        (lacks if says_missing(part) or (lacks and _ASKS_ON.fullmatch(part)) else claims).append(part)
    if not lacks or any(map(_ANSWERS_IT.match, claims)):
        return Told(sentence, "")
    return Told(" ".join(part for part in claims if re.search(r"\w", part)), " ".join(lacks))


def says_missing(part: str) -> bool:
    """Whether a clause says that the material does not tell something."""
    part = part.strip(" \t\n*_\"'“”").lstrip("(")
    return _DENIED.search(part) is not None and any(form.match(part) for form in _FORMS)


def about(missing: str) -> str:
    """What is missing, without the words for the material: in German these look like names."""
    return _SPOKEN_OF.sub(" ", missing)


def presumed(missing: str) -> str:
    """What a clause takes for granted: "does not say why the king fled" takes it that he did."""
    match = _FACTIVE.search(missing)
    return match[1] if match else ""


def _parts(sentence: str) -> list[str]:
    parts: list[str] = []
    at = 0
    for joint in _JOINTS.finditer(sentence):
        parts.append(sentence[at : joint.start()])
        at = joint.end()
    return [*parts, sentence[at:]]
