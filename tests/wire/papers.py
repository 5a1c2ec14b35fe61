"""Stand-ins for services of scholarly papers, after the formats that they document, errors included."""

from __future__ import annotations

import re
from html import escape

from tests.wire.loopback import Asked, Reply
from tests.wire.searches import DOCS, Doc, matching

ATOM = {"Content-Type": "application/atom+xml; charset=utf-8"}
XML = {"Content-Type": "text/xml; charset=utf-8"}


def _number(doc: Doc) -> int:
    return DOCS.index(doc)


def _doi(doc: Doc) -> str:
    return f"10.5555/{_number(doc)}"


def arxiv(asked: Asked) -> Reply:
    p = asked.params
    if asked.path != "/api/query" or int(p.get("max_results", 10)) > 2000:
        return _feed("<entry><id>http://arxiv.org/api/errors#x</id><title>Error</title><summary>wrong</summary></entry>", 400)
    groups = [re.findall(r'all:"([^"]*)"', part) for part in p["search_query"].split(" OR ")]
    found = [doc for doc in DOCS if any(words and all(doc in matching(word) for word in words) for words in groups)]
    start = int(p["start"])
    return _feed("".join(map(_entry, found[start : start + int(p["max_results"])])))


def _feed(entries: str, status: int = 200) -> Reply:
    namespaces = 'xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom"'
    return Reply(f'<?xml version="1.0"?><feed {namespaces}><title>q</title>{entries}</feed>'.encode(), status, ATOM)


def _entry(doc: Doc) -> str:
    number = _number(doc)
    return (
        f"<entry><id>http://arxiv.org/abs/2306.{number:05}v1</id><published>{doc.date}T10:00:00Z</published>"
        f"<title>{escape(doc.title)}</title><summary>\n  {escape(doc.text)}\n</summary>"
        "<author><name>Ada B. Lovelace</name></author><author><name>Mary Somerville</name></author>"
        f"<arxiv:doi>{_doi(doc)}</arxiv:doi><arxiv:journal_ref>J. Tests 4 (2023) 1-9</arxiv:journal_ref>"
        f'<link href="http://arxiv.org/pdf/2306.{number:05}v1" rel="related" type="application/pdf" title="pdf"/></entry>'
    )


def openalex(asked: Asked) -> Reply:
    p = asked.params
    if int(p["per-page"]) > 200:
        return Reply({"error": "Pagination error.", "message": "per-page must be between 1 and 200"}, 403)
    found, size = matching(p["search"]), int(p["per-page"])
    start = (int(p["page"]) - 1) * size
    results = [
        {
            "id": f"https://openalex.org/W{_number(doc)}",
            "doi": f"https://doi.org/{_doi(doc)}",
            "display_name": doc.title,
            "authorships": [{"author": {"id": "A1", "display_name": "Ada B. Lovelace"}}],
            "publication_year": 2023,
            "publication_date": doc.date,
            "type": "article",
            "primary_location": {"landing_page_url": doc.url, "source": {"display_name": "Journal of Tests"}},
            "best_oa_location": {"pdf_url": f"https://example.org/pdf/{_number(doc)}.pdf"},
            "biblio": {"volume": "4", "issue": "2", "first_page": "1", "last_page": "9"},
            "abstract_inverted_index": _inverted(doc.text),
        }
        for doc in found[start : start + size]
    ]
    return Reply({"meta": {"count": len(found), "page": int(p["page"]), "per_page": size}, "results": results})


def _inverted(text: str) -> dict[str, list[int]]:
    index: dict[str, list[int]] = {}
    for place, word in enumerate(text.split()):
        index.setdefault(word, []).append(place)
    return index


def semanticscholar(asked: Asked) -> Reply:
    p = asked.params
    if asked.path != "/graph/v1/paper/search" or int(p["limit"]) > 100:
        return Reply({"error": "Unacceptable query params: [limit]"}, 400)
    found, start, size = matching(p["query"]), int(p["offset"]), int(p["limit"])
    data = [
        {
            "paperId": f"p{_number(doc)}",
            "externalIds": {"DOI": _doi(doc), "CorpusId": 1},
            "url": f"https://www.semanticscholar.org/paper/p{_number(doc)}",
            "title": doc.title,
            "abstract": doc.text,
            "venue": "J. Tests",
            "year": 2023,
            "openAccessPdf": {"url": f"https://example.org/pdf/{_number(doc)}.pdf", "status": "GREEN"},
            "publicationTypes": ["JournalArticle"],
            "publicationDate": doc.date,
            "journal": {"name": "Journal of Tests", "volume": "4", "pages": "1-9"},
            "authors": [{"authorId": "1", "name": "Ada B. Lovelace"}],
        }
        for doc in found[start : start + size]
    ]
    return Reply({"total": len(found), "offset": start, "data": data})


def crossref(asked: Asked) -> Reply:
    p = asked.params
    if int(p["rows"]) > 1000:
        message = [{"type": "integer-not-valid", "value": p["rows"], "message": "Integer specified as rows is not valid"}]
        return Reply({"status": "failed", "message-type": "validation-failure", "message": message}, 400)
    found, start, size = matching(p["query"]), int(p["offset"]), int(p["rows"])
    items = [
        {
            "DOI": _doi(doc),
            "URL": f"https://doi.org/{_doi(doc)}",
            "title": [doc.title],
            "container-title": ["Journal of Tests"],
            "author": [{"given": "Ada B.", "family": "Lovelace", "sequence": "first"}, {"name": "The Test Group"}],
            "issued": {"date-parts": [[2023, 6, 1]]},
            "type": "journal-article",
            "volume": "4",
            "issue": "2",
            "page": "1-9",
            "abstract": f"<jats:p>{doc.text}</jats:p>",
        }
        for doc in found[start : start + size]
    ]
    message = {"total-results": len(found), "items": items, "items-per-page": size}
    return Reply({"status": "ok", "message-type": "work-list", "message": message})


def pubmed(asked: Asked) -> Reply:
    p = asked.params
    if asked.path.endswith("/esearch.fcgi"):
        found = matching(p["term"])
        ids = [str(1000 + _number(doc)) for doc in found[: int(p["retmax"])]]
        return Reply({"header": {"type": "esearch"}, "esearchresult": {"count": str(len(found)), "idlist": ids}})
    if p["db"] == "pmc":
        body = "<body><sec><title>Results</title><p>The mould grew in <i>1928</i> on penicillin plates.</p></sec></body>"
        return Reply(f"<pmc-articleset><article><front/>{body}</article></pmc-articleset>".encode(), headers=XML)
    records = "".join(_record(DOCS[int(number) - 1000]) for number in p["id"].split(","))
    return Reply(f'<?xml version="1.0"?><PubmedArticleSet>{records}</PubmedArticleSet>'.encode(), headers=XML)


def _record(doc: Doc) -> str:
    number = _number(doc)
    names = "<Author><LastName>Lovelace</LastName><ForeName>Ada B</ForeName></Author>"
    names += "<Author><CollectiveName>The Test Group</CollectiveName></Author>"
    issue = f"<JournalIssue><Volume>4</Volume><Issue>2</Issue><PubDate><Year>{doc.date[:4]}</Year></PubDate></JournalIssue>"
    ids = f'<ArticleId IdType="doi">{_doi(doc)}</ArticleId><ArticleId IdType="pmc">PMC{number}</ArticleId>'
    return (
        f"<PubmedArticle><MedlineCitation><PMID>{1000 + number}</PMID><Article><Journal>{issue}<Title>Journal of Tests</Title>"
        f"</Journal><ArticleTitle>{escape(doc.title)}</ArticleTitle><Pagination><MedlinePgn>1-9</MedlinePgn></Pagination>"
        f'<Abstract><AbstractText Label="RESULTS">{escape(doc.text)}</AbstractText></Abstract><AuthorList>{names}</AuthorList>'
        f"</Article></MedlineCitation><PubmedData><ArticleIdList>{ids}</ArticleIdList></PubmedData></PubmedArticle>"
    )


def csl(doc: Doc) -> dict[str, object]:
    names, issued = [{"family": "Lovelace", "given": "Ada B."}], {"date-parts": [[2023, 6, 1]]}
    return {"type": "article-journal", "title": doc.title, "author": names, "issued": issued, "DOI": _doi(doc)}


def zotero(asked: Asked) -> Reply:
    """The local interface of the program, which answers for one library."""
    if asked.path != "/api/users/0/items/top":
        return Reply([])
    found = matching(asked.params["q"])[: int(asked.params["limit"])]
    return Reply([{"key": f"A{_number(doc)}", "csljson": csl(doc), "data": {"abstractNote": doc.text}} for doc in found])
