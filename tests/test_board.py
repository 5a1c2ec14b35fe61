"""The board of `make bench`: what fell short comes first, the last figures stay beside the new ones, README says what it says."""

from __future__ import annotations

import platform

from benchmarks import board

BARS = '[start]\nask_ratio = { most = 5 }\nhelp_ratio = { most = 3 }\n[index]\nrecall = { least = 0.9, only = "s390x" }\n'
HERE = platform.machine()


def test_the_page_and_the_readme_are_what_the_board_says() -> None:
    page, readme = board.PAGE.read_text("utf-8"), board.README.read_text("utf-8")
    found = board.rows(page)
    assert board.page(found, board.bars(board.BARS.read_text("utf-8"))) == page
    assert board.readme(readme, found) == readme
    assert "not measured<" not in readme
    assert "<!-- index default_ratio -->" in readme


def test_what_fell_short_comes_first_and_the_last_figure_stays_beside_the_new_one() -> None:
    wanted = board.bars(BARS)
    old = board.merged([], {"start": {"ask_ratio": 4.0, "help_ratio": 2}, "index": {"recall": 0.1}}, wanted, "one")
    found = board.merged(board.rows(board.page(old, wanted)), {"start": {"ask_ratio": 5.5}}, wanted, "two")
    lines = [line for line in board.page(found, wanted).splitlines() if HERE in line]
    assert lines[0] == f"| start | ask_ratio | {HERE} | ≤ 5 | **5.5** ✗ | two | 4 (one) |"
    assert f"| start | help_ratio | {HERE} | ≤ 3 | 2 | one |  |" in lines
    assert f"| index | recall | {HERE} | ≥ 0.9 (s390x) | 0.1 | one |  |" in lines
    assert board.readme("<!-- start ask_ratio --><!-- -->", found) == f"<!-- start ask_ratio -->5.5 ({HERE})<!-- -->"
