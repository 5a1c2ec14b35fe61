"""Runs of text to blocks: what each is, how deep in lists it stands, and the nearest place to open it at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from wellread.reading.dom import Node, Run, below, parse
from wellread.reading.mainpart import is_data
from wellread.types import Block, BlockKind

_LISTS = frozenset({"ul", "ol", "dl"})
_DEEPEST = 8  # lists inside lists; deeper nesting is an accident or an attack


@dataclass(frozen=True, slots=True)
class _Place:
    """The list item, quotation, code, row and table that a node is part of."""

    item: Node | None = None  # innermost list item, term or definition
    depth: int = 0  # of lists
    quoted: bool = False
    code: Node | None = None  # that it is in
    row: Node | None = None
    table: Node | None = None  # innermost table of data


def blocks(runs: Sequence[Run], is_table: Callable[[Node], bool] = is_data) -> tuple[Block, ...]:
    """One block per run; a row of a table is one, and so is a term with what is said of it first."""
    return tuple(_Writer(is_table).write(runs))


def of_markup(markup: str, is_table: Callable[[Node], bool] = is_data, *, generous: bool = False) -> tuple[Block, ...]:
    """All of a document that has nothing but a main text."""
    return blocks(parse(markup, generous=generous).runs, is_table)


class _Writer:
    def __init__(self, is_table: Callable[[Node], bool]) -> None:
        self._is_table = is_table
        self._places: dict[int, _Place] = {}
        self._begun: set[int] = set()  # rows and items that have a block
        self._anchor = ""
        self._terms: list[tuple[Run, _Place, str]] = []  # that wait for their definition, with where they can be opened
        self._blocks: list[Block] = []
        self._code: tuple[Node | None, list[str]] = (None, [])  # programs write one element a line

    def write(self, runs: Sequence[Run]) -> list[Block]:
        for run in runs:
            place = self._place(run)
            if place.code is not self._code[0]:
                self._end_code()
            # another name for the same thing, or what is said of it, stands in the same list
            own = place.item if place.item is not None and place.item.tag in {"dt", "dd"} else None
            if self._terms and (own is None or own.parent is not self._terms[-1][0].node.parent):
                self._let_terms_stand()
            if run.node.tag == "dt" and place.table is None:
                self._terms.append((run, place, self._anchor))
                continue
            self._add(run, place)
        self._end_code()
        self._let_terms_stand()
        return self._blocks

    def _add(self, run: Run, place: _Place) -> None:
        if place.table is not None and place.row is not None:
            if id(place.row) not in self._begun:
                self._begun.add(id(place.row))
                # empty cells keep their place
                cells = (" ".join(one.text.replace("\n", " ") for one in below(cell)) for cell in place.row.nodes())
                self._put("row", f"| {' | '.join(cells)} |", place)
            return
        if place.code is not None:
            self._let_terms_stand()
            if not self._code[1]:
                self._code = (place.code, [])
                self._put("code", "", place)
            self._code[1].append(run.text)
        elif run.is_heading:
            self._let_terms_stand()
            self._put("heading", run.text, replace(place, depth=int(run.node.tag[1])))
        elif self._terms:
            names = ", ".join(term.text for term, *_ in self._terms)
            self._terms = []
            self._put("entry", f"{names}{' ' if names.endswith(':') else ': '}{run.text}", place)
        elif place.item is not None and place.item.tag == "li" and id(place.item) not in self._begun:
            self._begun.add(id(place.item))
            self._put("item", run.text, place)
        else:
            self._put("quote" if place.quoted else "paragraph", run.text, place)

    def _end_code(self) -> None:
        if self._code[1]:
            self._blocks[-1] = replace(self._blocks[-1], text="\n".join(self._code[1]))
        self._code = (None, [])

    def _let_terms_stand(self) -> None:
        """Terms without a definition."""
        for term, place, anchor in self._terms:
            self._put("entry", term.text, place, anchor)
        self._terms = []

    def _put(self, kind: BlockKind, text: str, place: _Place, anchor: str | None = None) -> None:
        self._blocks.append(Block(kind, text, min(place.depth, _DEEPEST), self._anchor if anchor is None else anchor))

    def _place(self, run: Run) -> _Place:
        """Each node is looked at once; a new one with an id is the place to open what follows at."""
        chain: list[Node] = []
        node: Node | None = run.node
        while node is not None and id(node) not in self._places:
            chain.append(node)
            node = node.parent
        place = self._places[id(node)] if node is not None else _Place()
        for part in reversed(chain):
            place = self._inside(part, place)
            self._places[id(part)] = place
        self._anchor = run.anchor or next((part.anchor for part in chain if part.anchor), "") or self._anchor
        return place

    def _inside(self, node: Node, place: _Place) -> _Place:
        tag = node.tag
        if tag in _LISTS:
            return replace(place, depth=place.depth + 1, item=None)
        if tag in {"li", "dt", "dd"}:
            # an item outside of a list is one all the same
            return replace(place, item=node, depth=max(place.depth, 1))
        if tag == "blockquote":
            return replace(place, quoted=True)
        if tag == "pre":
            return replace(place, code=place.code or node)
        if tag == "table":
            return replace(place, table=node if self._is_table(node) else None, row=None)
        return replace(place, row=node) if tag == "tr" else place
