"""The lists of the GPU path, with torch on the CPU where it is installed: they must be the ones numpy makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wellread.errors import MissingExtra
from wellread.index import lists
from wellread.index.rows import RowFile


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.fixture
def on_the_cpu(monkeypatch: pytest.MonkeyPatch, torch: Any) -> None:
    monkeypatch.setattr(lists, "cuda_torch", lambda: torch)
    monkeypatch.setattr(lists, "GPU", "cpu")


@pytest.mark.slow
@pytest.mark.usefixtures("on_the_cpu")
def test_the_same_lists_and_sketches(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    middles = rng.standard_normal((40, 384)).astype(np.float32)
    vectors = middles[rng.integers(0, 40, 5000)] + 0.3 * rng.standard_normal((5000, 384)).astype(np.float32)
    scale = np.full(384, 6 / 127, np.float32)
    rows = np.rint(vectors / scale).clip(-127, 127).astype(np.int8)
    rows.tofile(tmp_path / "rows")
    file = RowFile(tmp_path / "rows", len(rows), 384)
    plain, there = lists.train(file, scale), lists.train(file, scale, lists.nearest_on_gpu)
    np.testing.assert_allclose(plain.centres, there.centres, atol=1e-3)
    labels, sketches = plain.scaled(scale).encode(rows)
    found, sketched = lists.GpuEncoder(plain.scaled(scale))(rows)
    assert (labels == found).mean() > 0.999
    same = labels == found
    assert (np.unpackbits(sketches[same], axis=1) == np.unpackbits(sketched[same], axis=1)).mean() > 0.999


@pytest.mark.slow
def test_without_a_device_it_says_so(torch: Any) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a device")
    with pytest.raises(MissingExtra, match="CUDA"):
        lists.cuda_torch()
