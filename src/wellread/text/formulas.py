r"""Formulas: TeX in a text, between `$…$`, `$$…$$`, `\(…\)` or `\[…\]`. Dollars that are money are none: as in Pandoc, a formula
begins and ends without a blank, and neither a digit nor a letter follows it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Up to the next bracket with a backslash, so that nothing is looked through twice; `]\(` is an escaped link's.
_TEX = r"(?:[^$\\]|\\[^()\[\]$]|(?<=\])\\\(){1,2000}"
FORMULA = re.compile(
    rf"\$\$(?P<block>[^$]{{1,2000}})\$\$|\\\[(?P<set_off>{_TEX})\\\]|(?<!\])\\\((?P<within>{_TEX})\\\)"
    r"|\$(?P<inline>(?!\s)[^$`\n]{1,500})(?<![\s\\])\$(?!\w)"
)


def tex(found: re.Match[str]) -> tuple[str, bool]:
    """The TeX of a formula, and whether it stands by itself. What was escaped in it as a link or an element is itself again."""
    words = found["block"] or found["set_off"] or found["within"] or found["inline"]
    return words.replace("]\\(", "](").replace("&lt;", "<").strip(), bool(found["block"] or found["set_off"])


def keep_formulas(parser: MarkdownIt, written: Callable[[re.Match[str]], str]) -> MarkdownIt:
    """A parser of Markdown to which what stands in a formula (backslashes, underscores, stars) is no markup."""

    def rule(state: Any, silent: bool) -> bool:
        found = FORMULA.match(state.src, state.pos)
        if found is None:
            return False
        if not silent:
            state.push("text", "", 0).content = written(found)
        state.pos = found.end()
        return True

    parser.inline.ruler.before("escape", "formula", rule)
    return parser
