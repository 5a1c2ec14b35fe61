"""Dates as pages write them, as ISO 8601."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?\s?(?:Z|[+-]\d{2}:?\d{2})?)?")
_FORMATS = ("%Y/%m/%d", "%Y%m%d", "%B %d, %Y", "%b %d, %Y", "%b. %d, %Y", "%d %B %Y", "%d %b %Y", "%d.%m.%Y", "%Y")
_EARLIEST = 1900


def iso_date(text: str) -> str | None:
    """An ISO date, with its time where one is given; None for what is not a date that can be."""
    text = " ".join(text.split())[:64]
    return _of_iso(text) or _of_formats(text) or _of_mail(text)


def _checked(moment: datetime) -> datetime | None:
    return moment if _EARLIEST <= moment.year <= datetime.now(UTC).year + 1 else None


def _of_iso(text: str) -> str | None:
    match = _ISO.match(text)
    if not match:
        return None
    found = re.sub(r"\.\d+", "", match.group()).replace(" ", "T", 1).replace(" ", "")
    try:
        moment = datetime.fromisoformat(found)
    except ValueError:
        return None
    if not _checked(moment):
        return None
    return moment.isoformat().replace("+00:00", "Z") if "T" in found else found


def _of_formats(text: str) -> str | None:
    for form in _FORMATS:
        try:
            moment = datetime.strptime(text, form)
        except ValueError:
            continue
        if _checked(moment):
            return str(moment.year) if form == "%Y" else moment.date().isoformat()
    return None


def _of_mail(text: str) -> str | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
    return moment.isoformat().replace("+00:00", "Z") if _checked(moment) else None
