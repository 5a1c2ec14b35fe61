"""Dates: read out of running text, and as pages and services write them in their data, as ISO 8601."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import NamedTuple

from wellread.text import patterns as re
from wellread.text.lexicon import MONTHS, MONTHS_ABROAD

_ENGLISH = {form: place for place, name in enumerate(MONTHS, 1) for form in (name.capitalize(), name[:3].capitalize())}
_MONTHS = _ENGLISH | MONTHS_ABROAD | {"Sept": 9}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th|er)?"
_IN_TEXT = re.compile(
    rf"\b(?:(?P<day>{_DAY})\.?(?: of| de)? )?{_MONTH}(?:,? (?P<on>{_DAY})(?![\d:]))?(?:,?(?: de)? (?P<of>\d{{3,4}})\b)?"
    r"|\b(?P<before>\d{1,4}) B\.?C\b|\b(?P<year>1\d{3}|20\d\d|[5-9]\d\d)(?=s?\b)"
)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?\s?(?:Z|[+-]\d{2}:?\d{2})?)?")
_SECONDS = re.compile(r"\d{9,10}(\.\d+)?")  # since 1970


class Date(NamedTuple):
    """A date of a text, and its words there; 0 for what is not said. Years before Christ are negative."""

    year: int
    month: int
    day: int
    said: str

    def agrees(self, other: Date) -> bool:
        return all(not mine or not theirs or mine == theirs for mine, theirs in zip(self[:3], other[:3], strict=True))

    def is_rival(self, other: Date) -> bool:
        """Whether it shares a part with another and differs in one that both have."""
        shares = any(mine and mine == theirs for mine, theirs in zip(self[:3], other[:3], strict=True))
        return shares and not self.agrees(other)


def dates_in(text: str) -> list[Date]:
    """The dates of a text in order: "17 April 1982", "April 17, 1982", "17. Juni 1982", "17 April", "1982", "44 BC"."""
    found: list[Date] = []
    for one in _IN_TEXT.finditer(text):
        day, year = one["day"] or one["on"] or "", one["of"] or one["year"]
        month = _MONTHS[one["month"]] if one["month"] else 0
        if day or year or one["before"]:
            number = int(day.rstrip("stndrhe") or 0)
            found.append(Date(-int(one["before"]) if one["before"] else int(year or 0), month, number, one[0]))
    return found


def iso_date(text: str, earliest: int = 1900) -> str | None:
    """An ISO date, with its time where one is given; None for what is not a date that can be.

    What is before `earliest` is not: a page's date of long ago is the zero of some program's calendar.
    """
    text = " ".join(text[:256].split())[:64]
    for reader in (_of_iso, _of_words, *_OF_FORMATS, _of_clock):
        with suppress(ValueError, TypeError, IndexError, OverflowError):
            if found := reader(text):
                return found if earliest <= int(found[:4]) <= datetime.now(UTC).year + 1 else None
    return None


def _of_iso(text: str) -> str:
    match = _ISO.match(text)
    found = re.sub(r"\.\d+", "", match.group()).replace(" ", "T", 1).replace(" ", "") if match else ""
    moment = datetime.fromisoformat(found)
    return _written(moment) if "T" in found else found


def _of_words(text: str) -> str:
    date = next(iter(dates_in(text)), None)
    whole = date is not None and date.said == text and date.day
    return datetime(date.year, date.month, date.day).date().isoformat() if date and whole else ""


def _of_form(form: str, text: str) -> str:
    return datetime.strptime(text, form).date().isoformat()[: 4 if form == "%Y" else None]


_OF_FORMATS = tuple(partial(_of_form, form) for form in ("%Y/%m/%d", "%Y%m%d", "%d.%m.%Y", "%Y"))


def _of_clock(text: str) -> str:
    """Seconds, or as letters are dated."""
    seconds = _SECONDS.fullmatch(text)
    return _written(datetime.fromtimestamp(int(float(text)), UTC) if seconds else parsedate_to_datetime(text))


def _written(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
