"""Make the library in the wheel: articles/*.md → index/, questions/*.jsonl → questions.jsonl.

    python scripts/build_library.py [--output DIR]

Run it after editing an article or a question. The index is made by the same code as any other; a test
rebuilds it and compares.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

from wellread.index.build import BuildOptions, build
from wellread.index.feed import EmbeddingFeed, streamed
from wellread.protocols import Embedder
from wellread.types import Passage

LIBRARY = Path(__file__).parents[1] / "src" / "wellread" / "library"
ORIGIN = "the articles of the library"
MAX_TOKENS = 250
_TOKENS_PER_WORD = 1.33  # of English in a word-piece vocabulary
_LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|([^\[\]]+))?\]\]")


def passages_of(path: Path) -> list[Passage]:
    """An article as passages: links as plain words, long articles split at paragraph borders."""
    head, _, body = path.read_text(encoding="utf-8").partition("\n")
    if not head.startswith("# "):
        raise ValueError(f"{path}: the first line must be '# Title'")
    title, slug = head[2:].strip(), path.stem
    paragraphs = [" ".join(part.split()) for part in body.split("\n\n") if part.strip()]
    return [
        Passage(
            id=f"{slug}#{number}",
            text="\n\n".join(shown(paragraph) for paragraph in group),
            title=title,
            url=f"library:{slug}",
            document=slug,
            links=tuple(dict.fromkeys(target.strip() for p in group for target, _ in _LINK.findall(p))),
        )
        for number, group in enumerate(grouped(paragraphs))
    ]


def shown(paragraph: str) -> str:
    """The words a reader sees: [[Title|words]] → words."""
    return _LINK.sub(lambda match: match[2] or match[1], paragraph)


def grouped(paragraphs: list[str]) -> list[list[str]]:
    """As few passages as fit, as even as the borders allow."""
    sizes = [len(shown(p).split()) * _TOKENS_PER_WORD for p in paragraphs]
    parts = max(1, -int(-sum(sizes) // MAX_TOKENS))
    cuts = min(
        combinations(range(1, len(paragraphs)), min(parts, len(paragraphs)) - 1),
        key=lambda cuts: max(sum(sizes[a:b]) for a, b in zip((0, *cuts), (*cuts, len(sizes)), strict=True)),
    )
    return [paragraphs[a:b] for a, b in zip((0, *cuts), (*cuts, len(paragraphs)), strict=True)]


def library_passages(articles: Path = LIBRARY / "articles") -> list[Passage]:
    """All passages, in the order of the file names."""
    return [passage for path in sorted(articles.glob("*.md")) for passage in passages_of(path)]


def resolved_questions(passages: Iterable[Passage], folder: Path = LIBRARY / "questions") -> list[dict[str, object]]:
    """The questions with the ids of the passages that hold their evidence."""
    by_document: dict[str, list[Passage]] = {}
    for passage in passages:
        by_document.setdefault(passage.document or "", []).append(passage)
    rows: list[dict[str, object]] = []
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            question = json.loads(line)
            gold = [_holding(by_document[e["article"]], e["quote"], question["id"]) for e in question["evidence"]]
            rows.append({key: question[key] for key in ("id", "question", "answers", "type")} | {"gold": gold})
    return rows


def _holding(passages: list[Passage], quote: str, question: str) -> str:
    wanted = " ".join(quote.split())
    for passage in passages:
        if wanted in " ".join(passage.text.split()):
            return passage.id
    raise ValueError(f"question {question}: the words {quote!r} are not in the article")


async def build_library(output: Path, embedder: Embedder) -> None:
    """Index and questions, under `output`."""
    passages = library_passages()
    feed = EmbeddingFeed(lambda: streamed(passages), embedder, ORIGIN)
    shutil.rmtree(output / "index", ignore_errors=True)
    await build(output / "index", feed, BuildOptions())
    (output / "index" / ".writing.lock").unlink(missing_ok=True)
    rows = [json.dumps(row, ensure_ascii=False) for row in resolved_questions(passages)]
    (output / "questions.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")


def main() -> None:
    """The command."""
    from wellread.embedding.onnx import OnnxEmbedder, Options

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=LIBRARY)
    options = parser.parse_args()
    asyncio.run(build_library(options.output, OnnxEmbedder(options=Options(arithmetic="block"))))  # the same on every machine


if __name__ == "__main__":
    main()
