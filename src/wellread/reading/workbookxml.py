"""Workbooks as one XML file, which Excel 2003 wrote and many programs still export as `.xls`: events of XML to rows."""

from __future__ import annotations

from collections.abc import Mapping

from wellread.reading.sparse import MOST_COLUMNS
from wellread.reading.wordxml import Full

_NAMESPACE = "{urn:schemas-microsoft-com:office:spreadsheet}"
_MIDNIGHT = "T00:00:00.000"  # of what is a day without a time


class Workbook:
    """Receives the events. `sheets`: their names with their rows."""

    def __init__(self, characters: int) -> None:
        self._left = characters
        self.sheets: list[tuple[str, list[list[str]]]] = []
        self._row: list[str] = []
        self._text: list[str] = []
        self._more = 0  # columns that the cell covers beside its own
        self._reading = self._aside = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        match tag.removeprefix(_NAMESPACE):
            case "Worksheet":
                self.sheets.append((attributes.get(_NAMESPACE + "Name", ""), []))
            case "Row":
                self._row = []
            case "Cell":
                before = min(_number(attributes, "Index") or len(self._row) + 1, MOST_COLUMNS) - 1
                self._row += [""] * (before - len(self._row))
                self._text = []
                self._more = min(_number(attributes, "MergeAcross"), MOST_COLUMNS)
            case "Comment":
                self._aside = True
            case "Data":
                self._reading = not self._aside
            case _:
                pass

    def data(self, data: str) -> None:
        if self._reading:
            self._left -= len(data)
            self._text.append(data)

    def end(self, tag: str) -> None:
        match tag.removeprefix(_NAMESPACE):
            case "Cell":
                self._row += ["".join(self._text).removesuffix(_MIDNIGHT), *[""] * self._more]
            case "Data":
                self._reading = False
            case "Comment":
                self._aside = False
            case "Row" if self.sheets:
                self.sheets[-1][1].append(self._row)
                self._left -= len(self._row) + 1
                if self._left < 0:
                    raise Full
            case _:
                pass

    def close(self) -> None:
        pass


def _number(attributes: Mapping[str, str], name: str) -> int:
    said = attributes.get(_NAMESPACE + name, "")
    return int(said) if said.isdecimal() and len(said) < 9 else 0
