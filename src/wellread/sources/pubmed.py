"""`pubmed`: medicine and biology, through the E-utilities of the NCBI; with `full_text`, what PubMed Central has open."""

from __future__ import annotations

from dataclasses import dataclass

from wellread.net.address import mail_address
from wellread.net.payload import Payload
from wellread.parameters import param
from wellread.sources.papers import PaperOptions, Papers, reference
from wellread.sources.service import Key, Rate
from wellread.types import Block, Hit, Page, Query, Reference

_CENTRAL = "https://pmc.ncbi.nlm.nih.gov/articles/"


@dataclass(frozen=True, slots=True)
class Options(PaperOptions):
    rate: Rate = param(3.0, "requests a second at most; with a key it allows ten")
    base: str = param("https://eutils.ncbi.nlm.nih.gov", "address of the service")


class PubMed(Papers[Options]):
    """Medicine and biology, from PubMed and PubMed Central."""

    Params = Options
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

    def hit(self, item: Payload, rank: int) -> Hit | None:
        record = item.at("MedlineCitation")
        article, ids = record.at("Article"), item.items("PubmedData", "ArticleIdList", "ArticleId")
        issue, named = article.at("Journal", "JournalIssue"), {one.text("@IdType"): one.text() for one in ids}
        central = named.get("pmc", "")
        paper = reference(
            title=article.text("ArticleTitle"),
            authors=[_name(one) for one in article.items("AuthorList", "Author")],
            year=issue.text("PubDate", "Year") or issue.text("PubDate", "MedlineDate"),
            venue=article.text("Journal", "Title"),
            doi=named.get("doi", ""),
            url=f"https://pubmed.ncbi.nlm.nih.gov/{record.text('PMID')}/",
            pdf=_CENTRAL + central if central.isalnum() else "",
            volume=issue.text("Volume"),
            issue=issue.text("Issue"),
            pages=article.text("Pagination", "MedlinePgn"),
        )
        said = ((one.text("@Label"), one.text()) for one in article.items("Abstract", "AbstractText"))
        return self.paper(rank, paper, "\n".join(f"{label}: {text}" if label else text for label, text in said))

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
