"""Dates as pages and services write them, as ISO 8601."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?\s?(?:Z|[+-]\d{2}:?\d{2})?)?")
_FORMATS = ("%Y/%m/%d", "%Y%m%d", "%B %d, %Y", "%b %d, %Y", "%b. %d, %Y", "%d %B %Y", "%d %b %Y", "%d.%m.%Y", "%Y")
_SECONDS = re.compile(r"\d{9,10}(\.\d+)?")  # since 1970


def iso_date(text: str, earliest: int = 1900) -> str | None:
    """An ISO date, with its time where one is given; None for what is not a date that can be.

    What is before `earliest` is not: a page's date of long ago is the zero of some program's calendar.
    """
    text = " ".join(text[:256].split())[:64]
    if not text:
        return None
    found = _of_iso(text) or _of_formats(text) or _of_seconds(text) or _of_mail(text)
    return found if found and earliest <= int(found[:4]) <= datetime.now(UTC).year + 1 else None


def _of_iso(text: str) -> str | None:
    match = _ISO.match(text)
    if not match:
        return None
    found = re.sub(r"\.\d+", "", match.group()).replace(" ", "T", 1).replace(" ", "")
    try:
        moment = datetime.fromisoformat(found)
    except ValueError:
        return None
    return _written(moment) if "T" in found else found


def _of_formats(text: str) -> str | None:
    for form in _FORMATS:
        try:
            moment = datetime.strptime(text, form)
        except ValueError:
            continue
        return moment.date().isoformat()[: 4 if form == "%Y" else None]
    return None


def _of_seconds(text: str) -> str | None:
    return _written(datetime.fromtimestamp(int(float(text)), UTC)) if _SECONDS.fullmatch(text) else None


def _of_mail(text: str) -> str | None:
    try:
        return _written(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _written(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
