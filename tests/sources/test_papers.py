"""Services of papers: references as data, abstracts as passages, open texts read."""

from __future__ import annotations

import pytest
from tests.sources.conftest import Build, Serve
from tests.sources.kit import Shelf
from tests.wire import papers
from tests.wire.loopback import Asked, Reply

from wellread.core import codec
from wellread.errors import SourceError
from wellread.events import hit_json
from wellread.types import Block, Hit, Page, Query, Reference

pytestmark = pytest.mark.anyio
FAKES = {
    "arxiv": papers.arxiv,
    "openalex": papers.openalex,
    "pubmed": papers.pubmed,
    "semanticscholar": papers.semanticscholar,
    "crossref": papers.crossref,
}


@pytest.mark.parametrize("name", FAKES)
async def test_a_paper_has_its_reference(build: Build, serve: Serve, name: str) -> None:
    source = build(f"{name}?base={serve(FAKES[name]).url}&rate=1000")
    hit = (await source.search(Query("penicillin history")))[0]
    known = hit.reference
    assert known is not None
    assert known.title == "Penicillin, a history"
    assert known.authors[0].startswith("Lovelace, Ada B")
    assert (known.year, known.doi) == (2023, "10.5555/0")
    assert "Tests" in known.venue
    assert hit.url == "https://doi.org/10.5555/0"
    assert "1928" in hit.text
    assert source.public
    again = codec.loads(Hit, codec.dumps(hit))  # as recordings and histories keep it
    assert again.reference == known
    assert codec.decode(Reference, hit_json(hit)["reference"]) == known


async def test_services_are_told_who_asks_and_when(build: Build, serve: Serve) -> None:
    environ = {"WELLREAD_CONTACT": "ada@example.org", "OPENALEX_API_KEY": "openalex-secret"}
    query = Query("penicillin", since="2020-01-01", until="2023-12-31")
    for name, told, dates in (
        ("openalex", "mailto", "from_publication_date:2020-01-01,to_publication_date:2023-12-31"),
        ("crossref", "mailto", "from-pub-date:2020-01-01,until-pub-date:2023-12-31"),
    ):
        server = serve(FAKES[name])
        await build(f"{name}?base={server.url}&rate=1000", environ=environ).search(query)
        assert server.asked[0].params[told] == "ada@example.org"
        assert server.asked[0].params["filter"] == dates
        assert server.asked[0].params.get("api_key") == ("openalex-secret" if name == "openalex" else None)
    server = serve(papers.pubmed)
    await build(f"pubmed?base={server.url}&rate=1000", environ=environ).search(query)
    asked = server.asked[0].params
    assert (asked["email"], asked["mindate"], asked["maxdate"]) == ("ada@example.org", "2020/01/01", "2023/12/31")
    server = serve(papers.arxiv)
    await build(f"arxiv?base={server.url}&rate=1000&category=q-bio").search(query)
    assert server.asked[0].params["search_query"].endswith("AND cat:q-bio AND submittedDate:[202001010000 TO 202312312359]")


async def test_a_key_in_the_address_is_in_no_error(build: Build, serve: Serve) -> None:
    server = serve(lambda asked: Reply({"error": "Bad key", "message": f"{asked.params['api_key']} is not known"}, 403))
    with pytest.raises(SourceError) as caught:
        await build(f"openalex?base={server.url}", environ={"OPENALEX_API_KEY": "openalex-secret"}).search(Query("x"))
    assert "openalex-secret" not in str(caught.value)


async def test_an_open_paper_is_read_whole(build: Build, serve: Serve) -> None:
    place = "https://example.org/pdf/0.pdf"
    blocks = (
        Block("paragraph", "Nothing here.", page=1),
        Block("paragraph", "Penicillin kills staphylococci on page two.", page=2),
    )
    shelf = Shelf({place: Page(place, "scan", tuple(one.text for one in blocks), blocks=blocks)})
    source = build(f"openalex?base={serve(papers.openalex).url}&full_text=2", reader=shelf)
    found = await source.search(Query("penicillin staphylococci"))
    assert not found  # the service finds papers by all of these words, and there is none
    found = await source.search(Query("penicillin"))
    inside = next(hit for hit in found if hit.page == 2)
    assert inside.reference is not None
    assert inside.reference.doi == "10.5555/0"
    assert inside.title == "Penicillin, a history"
    assert "staphylococci" in inside.text
    assert any("not on the shelf" in why for why in found.failures)  # the second paper


async def test_open_copies_are_known_by_doi(build: Build, serve: Serve) -> None:
    def unpaywall(asked: Asked) -> Reply:
        assert asked.params["email"] == "ada@example.org"
        if asked.path != "/v2/10.5555/0":
            return Reply({"HTTP_status_code": 404, "error": True, "message": "not found"}, 404)
        return Reply({"doi": "10.5555/0", "is_oa": True, "best_oa_location": {"url_for_pdf": "https://example.org/open.pdf"}})

    shelf = Shelf({"https://example.org/open.pdf": Page("https://example.org/open.pdf", "x", ("Penicillin, at length.",))})
    spec = f"crossref?base={serve(papers.crossref).url}&full_text=5&unpaywall={serve(unpaywall).url}"
    found = await build(spec, reader=shelf, environ={"WELLREAD_CONTACT": "ada@example.org"}).search(Query("penicillin"))
    assert shelf.asked == ["https://example.org/open.pdf"]
    assert "Penicillin, at length." in [hit.text for hit in found]
    shelf.asked.clear()
    await build(spec, reader=shelf).search(Query("penicillin"))
    assert not shelf.asked  # Unpaywall is asked by nobody who does not say who it is


async def test_pubmed_central_gives_open_texts(build: Build, serve: Serve) -> None:
    found = await build(f"pubmed?base={serve(papers.pubmed).url}&rate=1000&full_text=1").search(Query("penicillin"))
    inside = next(hit for hit in found if hit.heading == "Results")
    assert "The mould grew in 1928 on penicillin plates." in inside.text
    assert inside.url == "https://pmc.ncbi.nlm.nih.gov/articles/PMC0"


async def test_arxiv_says_its_errors_in_an_entry(build: Build, serve: Serve) -> None:
    def wrong(asked: Asked) -> Reply:
        said = papers.arxiv(Asked("GET", "/wrong", {}, {}, b"", 0))
        return Reply(said.body, 200, said.headers)

    with pytest.raises(SourceError, match="wrong"):
        await build(f"arxiv?base={serve(wrong).url}&rate=1000").search(Query("x"))
