"""Scholarly literature: what services of papers have in common, then arXiv, Crossref, OpenAlex, Semantic Scholar and PubMed.

A paper is a hit with its abstract and its reference; with `full_text`, passages of open PDFs stand beside the abstracts, each
with its page.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from urllib.parse import quote

from wellread.errors import SourceError
from wellread.net.address import mail_address
from wellread.net.payload import Payload
from wellread.net.service import Http, Manners
from wellread.parameters import CountOrZero, param
from wellread.sources.hits import fused, hit, plain, web_address
from wellread.sources.memory import Memory, passages_of
from wellread.sources.service import Key, Rate, Service, VendorOptions, between, keywords
from wellread.types import Block, Hit, Hits, Page, Query, Reference

_MOST_AUTHORS = 200
_CSL_KINDS = {
    "journal-article": "article-journal",
    "proceedings-article": "paper-conference",
    "book-chapter": "chapter",
    "monograph": "book",
    "posted-content": "article",
    "dissertation": "thesis",
}
_CSL = (
    "title title, year issued.date-parts.0.0 issued.raw, venue container-title publisher, doi DOI, url URL, "
    "volume volume, issue issue, pages page"
)


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

    def paper(self, reference: Reference, abstract: str, published: str = "") -> Hit | None:
        """A hit for a paper."""
        place = f"https://doi.org/{quote(reference.doi, safe='/')}" if reference.doi else reference.url
        text = plain(abstract)
        return hit(
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
        """The address of an open copy, by Unpaywall, which wants to know who asks."""
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
        read = await asyncio.gather(*(passages_of(self.whole(one.reference)) for one in wanted if one.reference))
        parts = [
            replace(part, title=one.title, published=one.published, reference=one.reference)
            for one, (made, _) in zip(wanted, read, strict=True)
            for part in made
        ]
        failures = (*found.failures, *(f"{self.name}: {why}" for _, why in read if why))
        memory = await asyncio.to_thread(Memory, parts, self.name, self.http.kit.embedder())
        inside = await memory.search(query.text, query.limit)
        return Hits(fused([found, inside], query.limit), failures)


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
        re.sub(r"[^a-z_-]", "", kind.lower()[:50]) or "document",
        web_address(pdf) or "",
    )


def work(said: Callable[[str], str], fields: str, **more: Any) -> Reference:
    """A reference out of a record by a table: each part of one with the names that it may have there, the first that says it."""
    parts = (part.split() for part in fields.split(","))
    first = {part: next((text for name in names if (text := said(name))), "") for part, *names in parts}
    return reference(**first, **more)


def at_paths(item: Payload) -> Callable[[str], str]:
    """Lookup of a record's text at a path with dots."""
    return lambda path: item.text(*(int(step) if step.isdigit() else step for step in path.split(".")))


def family_first(name: str) -> str:
    """`Ada B. Lovelace` as `Lovelace, Ada B.`; what has a comma or one word stays as it is."""
    given, _, family = name.strip().rpartition(" ")
    return f"{family}, {given}" if given and "," not in name else name.strip()


def from_csl(item: Payload) -> Reference:
    """A reference from CSL-JSON, as Crossref and Zotero write it too."""
    named = ((one, ", ".join(filter(None, (one.text("family"), one.text("given"))))) for one in item.items("author"))
    names = [one.text("literal") or one.text("name") or whole for one, whole in named]
    kind = item.text("type")
    return work(at_paths(item), _CSL, authors=names, kind=_CSL_KINDS.get(kind, kind))


_ARXIV = "title title, year published, doi doi, url id"
_MOST_WORDS = 12


@dataclass(frozen=True, slots=True)
class ArxivOptions(PaperOptions):
    rate: Rate = param(0.33, "requests a second at most; its operators ask for one in three seconds")
    base: str = param("https://export.arxiv.org", "address of the service")
    category: str | None = param(None, "only papers of this category: cs.CL, math.AG, …")


class Arxiv(Papers[ArxivOptions]):
    """Preprints of physics, mathematics, computing and biology, from arXiv."""

    manners = Manners(concurrency=1)
    path, form, results = "/api/query", "xml", ("entry",)
    page_size, most_pages = 100, 5

    async def find(self, query: Query) -> Sequence[Hit]:
        """All words, and where no paper has them all, any of them."""
        words = [f'all:"{word}"' for word in keywords(query.text)[:_MOST_WORDS]]
        for joint in (" AND ", " OR ") if len(words) > 1 else (" AND ",):
            if words and (found := await super().find(replace(query, text=f"({joint.join(words)})"))):
                return found
        return []

    def asks(self, query: Query, number: int) -> dict[str, object]:
        days = between(query, "submittedDate:[{}0000 TO {}2359]", "19910101", "29991231", sign="")
        within = [query.text, f"cat:{self.options.category}" if self.options.category else "", days]
        return {
            "search_query": " AND ".join(filter(None, within)),
            "start": number * self.page_size,
            "max_results": min(query.limit, self.page_size),
            "sortBy": "relevance",
        }

    def check(self, answer: Payload, headers: Mapping[str, str]) -> None:
        """It writes its errors as an entry of that title."""
        if answer.text("entry", "title") == "Error":
            raise self.http.error(answer.text("entry", "summary"))

    def hit(self, item: Payload) -> Hit | None:
        links = {one.text("@title"): one.text("@href") for one in item.items("link")}
        names = [family_first(one.text("name")) for one in item.items("author")]
        journal, pdf = item.text("journal_ref"), links.get("pdf", "")
        venue, kind = (journal, "article-journal") if journal else ("arXiv", "article")
        paper = work(item.text, _ARXIV, authors=names, venue=venue, pdf=pdf, kind=kind)
        return self.paper(paper, item.text("summary"), item.text("published"))


_CROSSREF_FIELDS = "DOI,title,author,issued,container-title,publisher,abstract,page,volume,issue,URL,type"


@dataclass(frozen=True, slots=True)
class CrossrefOptions(PaperOptions):
    rate: Rate = param(5.0, "requests a second at most")
    base: str = param("https://api.crossref.org", "address of the service")
    filter: str | None = param(None, "in Crossref's own words: has-abstract:true,type:journal-article")


class Crossref(Papers[CrossrefOptions]):
    """Publications of all disciplines as their publishers registered them, from Crossref."""

    path, results = "/works", ("message", "items")
    page_size, most_pages = 100, 5

    def asks(self, query: Query, number: int) -> dict[str, object]:
        return {
            "query": query.text[:1000],
            "rows": min(query.limit, self.page_size),
            "offset": number * self.page_size,
            "select": _CROSSREF_FIELDS,
            "filter": self.filters(self.options.filter, query, "from-pub-date", "until-pub-date"),
            "mailto": mail_address(self.http.kit.environ),
        }

    def hit(self, item: Payload) -> Hit | None:
        parts = [part.text() for part in item.items("issued", "date-parts", 0)]
        day = "-".join(part.zfill(2) for part in parts) if len(parts) == 3 else ""
        return self.paper(from_csl(item), item.text("abstract"), day)


_OPENALEX_SAYS = "id,doi,display_name,authorships,publication_year,publication_date,primary_location,best_oa_location,biblio,type"
_OPENALEX_KINDS = {"article": "article-journal", "preprint": "article", "book-chapter": "chapter", "dissertation": "thesis"}
_OPENALEX = (
    "title display_name, year publication_year, venue primary_location.source.display_name, doi doi, "
    "url primary_location.landing_page_url id, pdf best_oa_location.pdf_url, volume biblio.volume, issue biblio.issue"
)
_LONGEST_ABSTRACT = 2000  # words


@dataclass(frozen=True, slots=True)
class OpenAlexOptions(PaperOptions):
    rate: Rate = param(10.0, "requests a second at most")
    base: str = param("https://api.openalex.org", "address of the service")
    filter: str | None = param(None, "in OpenAlex's own words: is_oa:true,type:review")


class OpenAlex(Papers[OpenAlexOptions]):
    """Scholarly works of all disciplines, from OpenAlex."""

    key = Key(("OPENALEX_API_KEY",), "?api_key", "", needed=False)
    path = "/works"
    page_size, most_pages = 100, 5

    def asks(self, query: Query, number: int) -> dict[str, object]:
        return {
            "search": query.text[:1000],
            "per-page": min(query.limit, self.page_size),
            "page": number + 1,
            "select": f"{_OPENALEX_SAYS},abstract_inverted_index",
            "filter": self.filters(self.options.filter, query, "from_publication_date", "to_publication_date"),
            "mailto": mail_address(self.http.kit.environ),
        }

    def hit(self, item: Payload) -> Hit | None:
        kind, first, last = item.text("type"), item.text("biblio", "first_page"), item.text("biblio", "last_page")
        names = [family_first(one.text("author", "display_name")) for one in item.items("authorships")]
        pages = f"{first}–{last}" if first and last and first != last else first
        paper = work(at_paths(item), _OPENALEX, authors=names, pages=pages, kind=_OPENALEX_KINDS.get(kind, kind))
        index = item.at("abstract_inverted_index")  # the places of its words
        places = ((place.number(), word) for word in index.names() for place in index.items(word))
        words = sorted((place, word) for place, word in places if place is not None)[:_LONGEST_ABSTRACT]
        return self.paper(paper, " ".join(word for _, word in words), item.text("publication_date"))


_SCHOLAR_FIELDS = "title,abstract,year,venue,authors,externalIds,openAccessPdf,publicationDate,publicationTypes,journal,url"
_SCHOLAR = (
    "title title, year year, venue journal.name venue, doi externalIds.DOI, url url, pdf openAccessPdf.url, "
    "volume journal.volume, pages journal.pages"
)
_SCHOLAR_KINDS = {"JournalArticle": "article-journal", "Conference": "paper-conference", "Book": "book", "BookSection": "chapter"}


@dataclass(frozen=True, slots=True)
class SemanticScholarOptions(PaperOptions):
    rate: Rate = param(1.0, "requests a second at most; without a key all its users share a few")
    base: str = param("https://api.semanticscholar.org", "address of the service")
    fields_of_study: str | None = param(None, "only of these disciplines, with commas: Medicine,Physics", sent="fieldsOfStudy")


class SemanticScholar(Papers[SemanticScholarOptions]):
    """Scholarly papers of all disciplines, from Semantic Scholar."""

    key = Key(("SEMANTIC_SCHOLAR_API_KEY", "S2_API_KEY"), "x-api-key", "", needed=False)
    path, results = "/graph/v1/paper/search", ("data",)
    page_size, most_pages = 100, 5

    def asks(self, query: Query, number: int) -> dict[str, object]:
        return {
            "query": query.text.replace("-", " "),  # it finds nothing for words with hyphens
            "limit": min(query.limit, self.page_size),
            "offset": number * self.page_size,
            "fields": _SCHOLAR_FIELDS,
            "publicationDateOrYear": between(query, "{}:{}"),
        }

    def hit(self, item: Payload) -> Hit | None:
        names = [family_first(one.text("name")) for one in item.items("authors")]
        kind = _SCHOLAR_KINDS.get(item.text("publicationTypes", 0), "article")
        paper = work(at_paths(item), _SCHOLAR, authors=names, kind=kind)
        return self.paper(paper, item.text("abstract"), item.text("publicationDate"))


_PUBMED = (
    "title ArticleTitle, year Journal.JournalIssue.PubDate.Year Journal.JournalIssue.PubDate.MedlineDate, venue Journal.Title, "
    "volume Journal.JournalIssue.Volume, issue Journal.JournalIssue.Issue, pages Pagination.MedlinePgn"
)
_CENTRAL = "https://pmc.ncbi.nlm.nih.gov/articles/"


@dataclass(frozen=True, slots=True)
class PubMedOptions(PaperOptions):
    rate: Rate = param(3.0, "requests a second at most; with a key it allows ten")
    base: str = param("https://eutils.ncbi.nlm.nih.gov", "address of the service")


class PubMed(Papers[PubMedOptions]):
    """Medicine and biology, from PubMed and PubMed Central."""

    key = Key(("NCBI_API_KEY",), "?api_key", "", needed=False)
    results = ("PubmedArticle",)
    page_size = 100

    async def page(self, query: Query, number: int) -> Payload:
        since, until = (day[:10].replace("-", "/") for day in (query.since or "1800", query.until or "3000"))
        found = await self._ask(
            "esearch",
            {
                "db": "pubmed",
                "term": query.text[:1000],
                "retmode": "json",
                "retmax": min(query.limit, self.page_size),
                "sort": "relevance",
                **({"datetype": "pdat", "mindate": since, "maxdate": until} if query.since or query.until else {}),
            },
        )
        if said := found.text("esearchresult", "ERROR") or found.text("error"):
            raise self.http.error(said)
        ids = [one.text() for one in found.items("esearchresult", "idlist")]
        if not ids:
            return Payload(None)
        return await self._ask("efetch", {"db": "pubmed", "id": ",".join(ids), "retmode": "xml"})

    async def _ask(self, what: str, params: dict[str, str | int]) -> Payload:
        who = {"tool": "wellread", "email": mail_address(self.http.kit.environ)}
        return await self.get(f"/entrez/eutils/{what}.fcgi", {**params, **who}, xml=params["retmode"] == "xml")

    def hit(self, item: Payload) -> Hit | None:
        record = item.at("MedlineCitation")
        article, ids = record.at("Article"), item.items("PubmedData", "ArticleIdList", "ArticleId")
        named, names = {one.text("@IdType"): one.text() for one in ids}, map(_name, article.items("AuthorList", "Author"))
        central, url = named.get("pmc", ""), f"https://pubmed.ncbi.nlm.nih.gov/{record.text('PMID')}/"
        pdf = _CENTRAL + central if central.isalnum() else ""
        paper = work(at_paths(article), _PUBMED, authors=list(names), doi=named.get("doi", ""), url=url, pdf=pdf)
        said = ((one.text("@Label"), one.text()) for one in article.items("Abstract", "AbstractText"))
        return self.paper(paper, "\n".join(f"{label}: {text}" if label else text for label, text in said))

    async def whole(self, reference: Reference) -> Page | None:
        """The text in PubMed Central, if its publisher lets programs have it."""
        if not reference.pdf.startswith(_CENTRAL):
            return await super().whole(reference)
        asked: dict[str, str | int] = {"db": "pmc", "id": reference.pdf.removeprefix(_CENTRAL), "retmode": "xml"}
        blocks = list(_blocks((await self._ask("efetch", asked)).at("article", "body")))
        return Page(reference.pdf, reference.title, tuple(one.text for one in blocks), blocks=tuple(blocks)) if blocks else None


def _blocks(section: Payload, level: int = 0) -> list[Block]:
    """The headings and paragraphs of a section, those of the sections inside it after its own."""
    heading = [Block("heading", section.text("title"), level)] if level and section.text("title") else []
    own = [Block("paragraph", " ".join(one.text().split())) for one in section.items("p")]
    return [*heading, *own, *(block for one in section.items("sec") for block in _blocks(one, min(level + 1, 6)))]


def _name(author: Payload) -> str:
    return author.text("CollectiveName") or ", ".join(filter(None, (author.text("LastName"), author.text("ForeName"))))
