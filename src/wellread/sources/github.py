"""`github:OWNER/REPO`: a repository's README and documentation, read as pages, and its issues, by GitHub's search."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from wellread.errors import SourceError, UsageError
from wellread.net.payload import Payload
from wellread.parameters import CountOrZero, param
from wellread.protocols import Parts
from wellread.sources.hits import fused, hit
from wellread.sources.memory import Options as UrlOptions
from wellread.sources.memory import Urls
from wellread.sources.service import Key, Service, VendorOptions
from wellread.types import Hit, Hits, Query, Spec

_DOCUMENTS = re.compile(r"(?:readme|changelog|faq)[^/]*|(?:.*/)?docs?/.*\.(?:md|rst|txt|adoc)|[^/]*\.(?:md|rst)", re.I)


@dataclass(frozen=True, slots=True)
class Options(VendorOptions):
    base: str = param("https://api.github.com", "address of the service; https://HOST/api/v3 of one's own")
    raw: str = param("https://raw.githubusercontent.com", "where the files of a repository are")
    max_files: CountOrZero = param(40, "documents read, those at the top first")
    issues: bool = param(True, "search the issues and pull requests too")


class GitHub(Service[Options]):
    """A repository of GitHub: its documentation and its issues."""

    argument = "OWNER/REPO"
    hint = (
        "The documentation and the issues of a program. Words of its manual, an error message, the name of a function or option."
    )
    key = Key(("GITHUB_TOKEN", "GH_TOKEN"), needed=False)
    path, results = "/search/issues", ("items",)
    page_size = 100

    def __init__(self, spec: Spec, kit: Parts) -> None:
        super().__init__(spec, kit)
        if not re.fullmatch(r"(?!\.+/)[\w.-]+/(?!\.+$)[\w.-]+", self.given):
            raise UsageError("github needs a repository: github:OWNER/REPO")
        self._documents: Urls | None = None

    async def find(self, query: Query) -> Sequence[Hit]:
        asked = [self._read(query)] if self.options.max_files else []
        asked += [super().find(query)] if self.options.issues else []
        lists = [Hits.all_of(one) for one in await asyncio.gather(*asked)]
        hits = tuple(replace(one, source=self.name) for one in fused(lists, query.limit))
        return Hits(hits, tuple(why for found in lists for why in found.failures))

    def asks(self, query: Query, number: int) -> dict[str, object]:
        words = " ".join(re.findall(r"\w+", query.text))[:200]
        return {"q": f"repo:{self.given} {words}", "per_page": min(query.limit, self.page_size)}

    def hit(self, item: Payload) -> Hit | None:
        return hit(
            title=item.text("title"),
            url=item.text("html_url"),
            snippet=item.text("body")[:500],
            text=item.text("body"),
            published=item.text("created_at"),
            heading="pull request" if item.at("pull_request") else "issue",
        )

    async def _read(self, query: Query) -> Sequence[Hit]:
        if self._documents is None:
            tree = await self.get(f"/repos/{self.given}/git/trees/HEAD", {"recursive": 1})
            paths = [one.text("path") for one in tree.items("tree") if one.text("type") == "blob"]
            wanted = sorted(filter(_DOCUMENTS.fullmatch, paths), key=lambda path: (path.count("/"), path))
            places = [f"{self.options.raw}/{self.given}/HEAD/{quote(path)}" for path in wanted[: self.options.max_files]]
            self._documents = Urls(places, UrlOptions(), self.http.kit)
        if not self._documents.addresses:
            return []
        try:
            return await self._documents.search(query)
        except SourceError as problem:  # of a repository that is not public they cannot be read
            return Hits((), (str(problem),))
