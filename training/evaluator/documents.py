"""Sets of documents: manuals, FAQs, papers, contracts, conversations.

They are held out by whole documents (packages where a set has few), and the passages of a held-out document are in a range
of their own,
so that nothing in training meets them. Sections of manuals are joined to chunks for half of the pages, as the engine
cuts documents, and their headings shown for some: a chunk then holds more than the answer, and what carries it is marked.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.evaluator.data import Form, Mark, Part, Passage, Question, read_rows

from wellread.text.split import count_tokens

CHUNK = 230  # tokens of sections joined
LONGEST_SPAN = 12  # words; a longer answer is read as sentences
HOW = ("How do I ", "How do I ", "How can I ", "How to ", "how do you ", "What is the way to ", "How would I ")


@dataclass(frozen=True, slots=True)
class Set:
    """How a set is told into documents and used."""

    document: Callable[[str], str]  # from a passage's id
    joined: bool = False
    tune: float = 0.1
    report: float = 0.12
    trained: bool = True


def _before(pattern: str) -> Callable[[str], str]:
    return lambda key: re.split(pattern, key, maxsplit=1)[0]


def _page(key: str) -> str:
    return re.sub(r"\.s?\d+\.\d+$", "", key)


SETS: Mapping[str, Set] = {
    "gnome_help": Set(_page, joined=True),
    "libreoffice_help": Set(_page, joined=True),
    "kde_handbooks": Set(_before("/"), joined=True),
    "gimp_help": Set(_page, joined=True),
    "docs_faq": Set(_before(":"), joined=True, report=0.2),
    "medquad": Set(_before("[-_]")),
    "covid_faq": Set(_before("-"), report=0.2),
    "contracts": Set(_before("#"), report=0.2),
    "mtrag": Set(lambda key: key),
    "tatqa": Set(_before("#")),
    "doqa": Set(lambda key: key, tune=0.12, report=0.2),
    "qasper_evidence": Set(_before("#")),
    "covidqa": Set(_before("#"), report=0.2),
    "pubmedqa": Set(_before("#")),
    "clapnq": Set(_before("#"), tune=0.1, report=0.2),
    "squad2_en_part": Set(_before("#"), tune=0.0, report=0.0),
    "manuals": Set(_before(":"), tune=0.0, report=0.0),
    "written": Set(_before(":"), tune=0.0, report=0.0),
    "statements": Set(_before("#"), tune=0.0, report=0.0),
    "emanual": Set(_before("#"), tune=0.0, report=1.0, trained=False),
    "chunkeval": Set(_before("#"), tune=1.0, report=0.0, trained=False),
}
# Documentation packages that nothing is trained on: to choose with, and to report on.
_TO_CHOOSE_WITH = """
    keepass2-doc mplayer-doc rsyslog-doc borgbackup-doc
    chrony doc-debian duplicity gammu-doc ledger lighttpd-doc lynx-common taskwarrior wesnoth-1.16-data
"""
_TO_REPORT_ON = """
    putty-doc privoxy sqlite3-doc nut-doc openshot-qt-doc r-doc-html installation-guide-amd64
    debian-history fetchmail hledger mutt ntpsec-doc restic rsnapshot stunnel4 syncthing weechat-doc
    alpine cdrdao cpufrequtils distcc dmidecode dosfstools espeak-ng flac herbstluftwm irqbalance keyboard-configuration
    ldap-utils logwatch modemmanager moreutils openocd openttd-data reportbug skopeo smokeping snapd steghide testdisk timewarrior
    w3m
"""
# Asked once, at the end of a round: their questions were written before anything was run on them. The first six have been.
_FIXED = "abcde bogofilter-common fonts-sil-gentium gnushogi splat units"
_NEXT = "a2ps avrdude-doc ecasound getmail6 moria xplanet"
PACKAGES: Mapping[str, Part] = {
    **dict.fromkeys(_TO_CHOOSE_WITH.split(), "tune"),
    **dict.fromkeys(_TO_REPORT_ON.split(), "report"),
    **dict.fromkeys(_FIXED.split(), "fixed"),
    **dict.fromkeys(_NEXT.split(), "next"),
}


def chance(*parts: object) -> float:
    """The same number between 0 and 1 for the same parts."""
    return int(hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:8], 16) / 0xFFFFFFFF


def part_of(name: str, document: str) -> Part:
    """Whether a document is trained on."""
    if name in ("manuals", "written"):
        return PACKAGES.get(document, "train")
    own, drawn = SETS[name], chance("part", name, document)
    return "tune" if drawn < own.tune else "report" if drawn < own.tune + own.report else "train"


def load_documents(name: str, folder: Path, first: int) -> Iterator[tuple[Part, list[Passage], list[Question]]]:
    """The English part of a set, in its three parts; numbers go on from `first`."""
    own = SETS[name]
    rows = [row for row in read_rows(folder / "corpus.jsonl.gz") if row.get("language", "en") == "en"]
    asked = [row for row in read_rows(folder / "questions.jsonl.gz") if row.get("language", "en") == "en"]
    for part in ("train", "tune", "report"):
        mine = [row for row in rows if part_of(name, own.document(str(row["id"]).removeprefix("en:"))) == part]
        passages, pieces = _passages(mine, first, joined=own.joined)
        first += len(passages)
        questions = [question for row in asked if (question := _question(row, name, part, pieces, passages))]
        if passages:
            yield part, passages, questions


def _passages(rows: Iterable[Mapping[str, object]], first: int, *, joined: bool) -> tuple[list[Passage], dict[str, Mark]]:
    """Passages, and where each row of the set now stands."""
    passages: list[Passage] = []
    pieces: dict[str, Mark] = {}
    open_page, size = "", 0
    for row in rows:
        key, text, heading = str(row["id"]), str(row["text"]).strip(), str(row.get("heading") or "")
        drawn = chance("heading", key)
        head = f"## {heading.split(' > ')[-1]}\n" if heading and drawn < 0.45 else ""
        title = f"{row['title']} > {heading}" if heading and drawn > 0.85 else str(row["title"])
        page = _page(key) if joined and chance("join", _page(key)) < 0.5 else ""
        tokens = count_tokens(head + text)
        if page and page == open_page and size + tokens <= CHUNK:
            last = passages[-1]
            start = len(last.text) + 2 + len(head)
            passages[-1] = Passage(last.number, last.title, f"{last.text}\n\n{head}{text}")
            size += tokens
        else:
            passages.append(Passage(first + len(passages), title, head + text))
            start, size = len(head), tokens
        open_page = page
        pieces[key] = (passages[-1].number, start, start + len(text))
    return passages, pieces


def _question(
    row: Mapping[str, object], name: str, part: Part, pieces: Mapping[str, Mark], passages: Sequence[Passage]
) -> Question | None:
    """A row of the set with what its answer is made of; None where its passages are in another part."""
    keys = [str(key) for key in row["gold"]]  # type: ignore[attr-defined]
    if not keys or any(key not in pieces for key in keys) or (row.get("marks") and len(keys) > 3):
        return None  # a long section may go on in passages that are not named
    places = [pieces[key] for key in keys]
    gold = tuple(dict.fromkeys(number for number, _, _ in places))
    answers = tuple(str(answer) for answer in row["answers"])  # type: ignore[attr-defined]
    form = _form(row, answers)
    texts = {number: passages[number - passages[0].number].text for number in gold}
    marks = _marks(row, form, places, answers, texts, pieces)
    return Question(
        id=f"{name}:{row['id']}",
        data=name,
        text=_text(row),
        answers=tuple(answer for answer in answers if len(answer.split()) <= LONGEST_SPAN) if form == "span" else (),
        gold=gold,
        kind=str(row.get("kind") or "fact"),
        part=part,
        form=form,
        marks=marks,
    )


def _form(row: Mapping[str, object], answers: Sequence[str]) -> Form:
    if row.get("impossible"):
        return "none"
    if row.get("yesno") in ("yes", "no"):
        return "yes" if row["yesno"] == "yes" else "no"
    return "span" if any(len(answer.split()) <= LONGEST_SPAN for answer in answers) else "text"


def _marks(
    row: Mapping[str, object],
    form: Form,
    places: Sequence[Mark],
    answers: Sequence[str],
    texts: Mapping[int, str],
    pieces: Mapping[str, Mark],
) -> tuple[Mark, ...]:
    if form in ("none", "span"):
        return ()
    if given := row.get("marks"):
        return tuple((pieces[key][0], pieces[key][1] + start, pieces[key][1] + end) for key, start, end in given)  # type: ignore[attr-defined]
    if row.get("answer_is_passage"):
        return tuple(places)
    found = [(number, text.find(answer), len(answer)) for number, text in texts.items() for answer in answers]
    return tuple((number, at, at + length) for number, at, length in found if at >= 0)


def _text(row: Mapping[str, object]) -> str:
    """The question; a follow-up after the one that opened its conversation, and "How do I" in other words now and then."""
    asked = str(row["question"]).strip().lstrip("…")
    if history := row.get("history"):
        return f"{history[0]} {asked}"  # type: ignore[index]
    if asked.startswith("How do I ") and str(row.get("generated")) == "from heading":
        asked = HOW[int(chance("how", row["id"]) * 0.999 * len(HOW))] + asked.removeprefix("How do I ")
    return asked if chance("mark", row["id"]) < 0.85 else asked.rstrip("?").lower()
