"""Scholarly literature: what services of papers have in common. A paper is a hit with its abstract and its reference; with
`full_text`, passages of open PDFs stand beside the abstracts, each with its page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar
from urllib.parse import quote

from wellread.errors import ReadError, SourceError
from wellread.net.address import mail_address
from wellread.net.payload import Payload
from wellread.net.service import Http
from wellread.parameters import CountOrZero, param
from wellread.ranking.fusion import reciprocal_ranks
from wellread.sources.hits import hit, plain, web_address
from wellread.sources.memory import Memory
from wellread.sources.service import Service, VendorOptions
from wellread.text.split import Splitting, passages
from wellread.types import Hit, Hits, Page, Passage, Query, Reference

_MOST_AUTHORS = 200
_CSL_KINDS = {
    "journal-article": "article-journal",
    "proceedings-article": "paper-conference",
    "book-chapter": "chapter",
    "monograph": "book",
    "posted-content": "article",
    "dissertation": "thesis",
}


@dataclass(frozen=True, slots=True)
class PaperOptions(VendorOptions):
    full_text: CountOrZero = param(0, "papers of a search that are read whole, where they are open; of others the abstract")
    unpaywall: str = param("https://api.unpaywall.org", "who knows open copies by DOI; asked with full_text and WELLREAD_CONTACT")


Options = TypeVar("Options", bound=PaperOptions)


class Papers(Service[Options]):
    """A service of papers as a source."""

    hint = "Scholarly papers by title, abstract and author. A few technical terms that a paper would use, no whole question."

    async def find(self, query: Query) -> Sequence[Hit]:
        found = Hits.all_of(await super().find(query))
        return await self._with_texts(query, found) if self.options.full_text else found

    def paper(self, rank: int, reference: Reference, abstract: str, published: str = "") -> Hit | None:
        """A hit for a paper."""
        place = f"https://doi.org/{quote(reference.doi, safe='/')}" if reference.doi else reference.url
        text = plain(abstract)
        return hit(
            self.name,
            rank,
            title=reference.title,
            url=place,
            snippet=text[:500],
            text=text,
            published=published or (f"{reference.year:04}-01-01" if reference.year else ""),
            reference=reference,
        )

    def filters(self, given: str | None, query: Query, since: str, until: str) -> str | None:
        """Filters with commas: what the user wants, and the days of the query under these names."""
        days = [f"{name}:{day[:10]}" for name, day in ((since, query.since), (until, query.until)) if day]
        return ",".join(filter(None, (given, *days))) or None

    async def whole(self, reference: Reference) -> Page | None:
        """The text of a paper that anybody may read; None where it is not known to be open."""
        pdf = reference.pdf or await self._open_copy(reference.doi)
        return await self.http.kit.pages().read(pdf) if pdf else None

    async def _open_copy(self, doi: str) -> str:
        """What Unpaywall knows, which wants to know who asks."""
        contact = mail_address(self.http.kit.environ)
        if not doi or not contact:
            return ""
        http = Http("unpaywall", self.http.kit)
        try:
            answer = await http.get(f"{self.options.unpaywall}/v2/{quote(doi, safe='/')}", {"email": contact})
        except SourceError:  # of most it knows none
            return ""
        finally:
            await http.aclose()
        return web_address(answer.text("best_oa_location", "url_for_pdf")) or ""

    async def _with_texts(self, query: Query, found: Hits) -> Hits:
        wanted = [one for one in found if one.reference][: self.options.full_text]
        read = await asyncio.gather(*(self._read(one) for one in wanted))
        parts = [part for made, _ in read for part in made]
        failures = (*found.failures, *(f"{self.name}: {why}" for _, why in read if why))
        memory = await asyncio.to_thread(Memory, parts, self.name, self.http.kit.embedder())
        inside = await memory.search(query.text, query.limit)
        known = {one.id: one for one in (*inside, *found)}
        fused = reciprocal_ranks([[one.id for one in found], [one.id for one in inside]])
        return Hits(tuple(replace(known[id], score=score) for id, score in fused[: query.limit]), failures)

    async def _read(self, paper: Hit) -> tuple[list[Passage], str]:
        assert paper.reference is not None
        try:
            page = await self.whole(paper.reference)
        except (ReadError, SourceError) as problem:
            return [], str(problem)
        if page is None:
            return [], ""
        made = await asyncio.to_thread(passages, page, page.url, Splitting())
        return [replace(one, title=paper.title, published=paper.published, reference=paper.reference) for one in made], ""


def reference(
    *,
    title: str,
    authors: Sequence[str] = (),
    year: str = "",
    venue: str = "",
    doi: str = "",
    url: str = "",
    pdf: str = "",
    kind: str = "article-journal",
    volume: str = "",
    issue: str = "",
    pages: str = "",
) -> Reference:
    """A reference out of what a service says, cleaned."""
    found = re.search(r"\d{4}", year)
    return Reference(
        plain(title[:2000]),
        tuple(name for one in authors[:_MOST_AUTHORS] if (name := plain(one[:200]))),
        int(found[0]) if found else None,
        plain(venue[:500]),
        re.sub(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)", "", doi.strip(), flags=re.I)[:300] if doi.isprintable() else "",
        web_address(url) or "",
        plain(volume[:50]),
        plain(issue[:50]),
        plain(pages[:50]),
        re.sub(r"[^a-z-]", "", kind.lower()[:50]) or "document",
        web_address(pdf) or "",
    )


def family_first(name: str) -> str:
    """`Ada B. Lovelace` as `Lovelace, Ada B.`; what has a comma or one word stays as it is."""
    given, _, family = name.strip().rpartition(" ")
    return f"{family}, {given}" if given and "," not in name else name.strip()


def from_csl(item: Payload) -> Reference:
    """A reference from CSL-JSON, as Crossref and Zotero write it too."""
    names = [one.text("literal") or one.text("name") or _whole_name(one) for one in item.items("author")]
    kind = item.text("type")
    return reference(
        title=item.text("title"),
        authors=names,
        year=item.text("issued", "date-parts", 0, 0) or item.text("issued", "raw"),
        venue=item.text("container-title") or item.text("publisher"),
        doi=item.text("DOI"),
        url=item.text("URL"),
        kind=_CSL_KINDS.get(kind, kind),
        volume=item.text("volume"),
        issue=item.text("issue"),
        pages=item.text("page"),
    )


def _whole_name(one: Payload) -> str:
    return ", ".join(filter(None, (one.text("family"), one.text("given"))))
