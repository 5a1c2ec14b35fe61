"""Records of databases as hits: which field is the title, the text, the address, the date."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.net.payload import Payload

_TITLES = ("title", "headline", "name", "subject", "heading", "label", "question")
_TEXTS = ("body", "text", "content", "extract", "description", "summary", "abstract", "message", "answer", "commentary")
_URLS = ("url", "link", "permalink", "uri", "href", "link_url", "canonical_url")
_DATES = (
    "published",
    "published_at",
    "publishedat",
    "created",
    "created_at",
    "date",
    "pub_date",
    "timestamp",
    "@timestamp",
    "updated",
)


@dataclass(frozen=True, slots=True)
class Roles:
    """Names of fields; None where it is to be guessed from the customary names."""

    title: str | None = None
    text: str | None = None
    url: str | None = None
    date: str | None = None

    def title_of(self, record: Payload) -> str:
        return _field(record, self.title, _TITLES)

    def url_of(self, record: Payload) -> str:
        return _field(record, self.url, _URLS)

    def date_of(self, record: Payload) -> str:
        return _field(record, self.date, _DATES)

    def text_of(self, record: Payload) -> str:
        """The text, or all words of a record that has no field for it."""
        if found := _field(record, self.text, _TEXTS):
            return found
        taken = {self.title_of(record), self.url_of(record), self.date_of(record)}
        words = ((name, record.at(name).value) for name in record.names())
        return "\n".join(f"{name}: {value}" for name, value in words if isinstance(value, str) and value and value not in taken)


def _field(record: Payload, chosen: str | None, customary: tuple[str, ...]) -> str:
    if chosen is not None:
        return record.text(*chosen.split(".")) or record.text(chosen)
    names = {name.lower(): name for name in record.names()}
    return next((text for name in customary if name in names and (text := record.text(names[name]))), "")
