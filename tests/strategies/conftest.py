"""What the tests of strategies share."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from wellread.ranking import evaluator
from wellread.ranking.evaluator import Evaluator

KNOWN: defaultdict[tuple[object, ...], dict[Any, Any]] = defaultdict(dict)
MADE = Evaluator.__init__


@pytest.fixture(autouse=True)
def _what_was_judged_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evaluators remember their verdicts; here those of all engines do so together, for the tests ask the same questions."""

    def made(self: Any, *args: Any, **options: Any) -> None:
        MADE(self, *args, **options)
        self._known = KNOWN[args, *options.items()]

    monkeypatch.setattr(Evaluator, "__init__", made)
    monkeypatch.setattr(evaluator, "_KEPT", 10_000)
