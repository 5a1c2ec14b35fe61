"""The package's models in other arithmetic: the same vectors, chosen by the processor, kept in a cache that is never needed."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wellread.embedding import arithmetic
from wellread.embedding.arithmetic import Arithmetic, Choice, best_for, settled
from wellread.embedding.forms import by_tensor, load
from wellread.embedding.onnx import SHIPPED, OnnxEmbedder, Options
from wellread.embedding.onnx_file import read_graph, write_graph
from wellread.errors import DamagedFile, EmbedderError, MissingExtra
from wellread.index.build import add, build
from wellread.index.feed import EmbeddingFeed, streamed
from wellread.ranking.evaluator import SHIPPED as EVALUATOR
from wellread.ranking.evaluator import Evaluator
from wellread.ranking.verifier import Verifier
from wellread.types import Passage

pytestmark = pytest.mark.slow

MODEL = SHIPPED / "model.onnx"
STORED = np.load(Path(__file__).parent / "reference.npz")
SENTENCES: list[str] = [str(text) for text in STORED["sentences"]]
FLOAT32 = STORED["vectors"].astype(np.float32)
FORMS = [
    pytest.param(way, marks=pytest.mark.skipif(not arithmetic.can_run(way, MODEL), reason="this processor does not compute so"))
    for way in ("tensor", "bf16")
]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WELLREAD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


def embedded(form: Arithmetic, texts: list[str]) -> np.ndarray:
    return OnnxEmbedder(options=Options(arithmetic=form)).embed_now(texts, kind="passage")


@pytest.mark.parametrize("form", FORMS)
def test_vectors_are_those_of_float32(form: Arithmetic, cache: Path) -> None:
    cosines = (embedded(form, SENTENCES) * FLOAT32).sum(axis=1) / np.linalg.norm(FLOAT32, axis=1)
    assert cosines.min() > 0.998


@pytest.mark.parametrize("form", FORMS)
def test_a_vector_does_not_depend_on_the_texts_beside_it(form: Arithmetic, cache: Path) -> None:
    embedder = OnnxEmbedder(options=Options(arithmetic=form))
    together = OnnxEmbedder(options=Options(arithmetic=form)).embed_now(SENTENCES[:40], kind="passage")
    alone = np.concatenate([embedder.embed_now([text], kind="passage") for text in SENTENCES[:8]])
    assert (together[:8] * alone).sum(axis=1).min() > 0.9999


@pytest.mark.parametrize("form", FORMS)
def test_what_was_made_is_kept_privately_and_used_again(form: Arithmetic, cache: Path) -> None:
    first = embedded(form, SENTENCES[:4])
    (file,) = cache.iterdir()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    written = file.stat().st_mtime_ns
    np.testing.assert_array_equal(embedded(form, SENTENCES[:4]), first)
    assert file.stat().st_mtime_ns == written


@pytest.mark.parametrize("form", FORMS)
def test_a_damaged_file_in_the_cache_is_made_again(form: Arithmetic, cache: Path) -> None:
    first = embedded(form, SENTENCES[:4])
    (file,) = cache.iterdir()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    np.testing.assert_array_equal(embedded(form, SENTENCES[:4]), first)
    assert load(file) is not None, "and is whole now"


@pytest.mark.parametrize("form", FORMS)
def test_no_cache_is_needed(form: Arithmetic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder can be here")
    monkeypatch.setenv("WELLREAD_CACHE_DIR", str(tmp_path / "file"))
    assert embedded(form, SENTENCES[:2]).shape == (2, 384)


@pytest.mark.parametrize("form", FORMS)
def test_the_evaluator_judges_alike(form: Arithmetic, cache: Path) -> None:
    passages = [Passage(str(n), text) for n, text in enumerate(SENTENCES[:12])]
    shipped, other = (asyncio.run(Evaluator(arithmetic=one).grade(SENTENCES[3], passages)) for one in ("block", form))
    assert max(abs((a.score or 0) - (b.score or 0)) for a, b in zip(shipped, other, strict=True)) < 0.1


@pytest.mark.parametrize("form", FORMS)
def test_the_verifier_says_alike(form: Arithmetic, cache: Path) -> None:
    passages = [Passage(str(n), text) for n, text in enumerate(SENTENCES[:12])]
    shipped, other = (Verifier(arithmetic=one) for one in ("block", form))
    for claim, one in zip(SENTENCES[1:], passages, strict=False):
        assert abs(shipped.weigh(claim, [one]) - other.weigh(claim, [one])) < 0.5
        assert abs(shipped.weigh(one.text, passages[:4]) - other.weigh(one.text, passages[:4])) < 0.5


CPUINFO = "processor\t: 0\nmodel name\t: some\n{key}\t\t: {flags}\n\nprocessor\t: 1\n{key}\t: none\n"


@pytest.mark.parametrize(
    ("key", "flags", "openvino", "expected"),
    [
        ("flags", "sse4_2 avx512_vnni amx_bf16 amx_int8", True, "bf16"),
        ("flags", "avx512_bf16 avx512_vnni", True, "tensor"),
        ("flags", "sse4_2 avx512_vnni amx_bf16 amx_int8", False, "tensor"),
        ("flags", "avx2 avx_vnni", True, "tensor"),
        ("flags", "avx2 avx512f", True, "block"),
        ("Features", "fp asimd asimddp i8mm bf16", True, "block"),
    ],
)
def test_the_processor_decides(tmp_path: Path, key: str, flags: str, openvino: bool, expected: str) -> None:
    told = tmp_path / "cpuinfo"
    told.write_text(CPUINFO.format(key=key, flags=flags))
    assert best_for(arithmetic.instructions(told), lambda: openvino) == expected


def test_a_system_that_does_not_tell_gets_the_shipped_form(tmp_path: Path) -> None:
    assert best_for(arithmetic.instructions(tmp_path / "missing"), lambda: True) == "block"


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetic, "has_openvino", lambda: False)
    with pytest.raises(MissingExtra, match=r"wellread\[fast\]"):
        settled("bf16", MODEL)


def test_a_model_without_a_fit_runs_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetic, "best_here", lambda: "tensor")
    assert settled("auto", MODEL) == "tensor"
    assert settled("auto", tmp_path / "model.onnx") == "block"


def test_queries_and_a_few_passages_run_as_shipped(cache: Path) -> None:
    auto, block = (OnnxEmbedder(options=Options(arithmetic=form)) for form in ("auto", "block"))
    np.testing.assert_array_equal(auto.embed_now(SENTENCES[:2], kind="query"), block.embed_now(SENTENCES[:2], kind="query"))
    np.testing.assert_array_equal(auto.embed_now(SENTENCES[:2], kind="passage"), block.embed_now(SENTENCES[:2], kind="passage"))
    assert not cache.exists(), "a question makes nothing"


@pytest.mark.parametrize("form", FORMS)
def test_once_settled_passages_run_in_the_fastest_form(form: Arithmetic, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetic, "best_here", lambda: form)
    asked, many = OnnxEmbedder(), OnnxEmbedder()
    expected = embedded(form, SENTENCES[:2])
    assert asked.settle() == form
    np.testing.assert_array_equal(asked.embed_now(SENTENCES[:2], kind="passage"), expected)
    many.embed_now(["short"] * 256, kind="passage")
    np.testing.assert_array_equal(many.embed_now(SENTENCES[:2], kind="passage"), expected)


@pytest.mark.parametrize("form", FORMS)
async def test_an_index_names_how_its_vectors_were_computed(form: Arithmetic, cache: Path, tmp_path: Path) -> None:
    def feed(how: Arithmetic, *names: str) -> EmbeddingFeed:
        passages = [Passage(name, f"The {name} is a word.") for name in names]
        return EmbeddingFeed(lambda: streamed(passages), OnnxEmbedder(options=Options(arithmetic=how)), "words")

    plain = await build(tmp_path / "plain", feed("block", "cat", "dog"))
    assert "arithmetic" not in plain.origin, "as shipped"
    made = await build(tmp_path / "index", feed(form, "cat", "dog"))
    assert made.origin["arithmetic"] == form
    with pytest.raises(EmbedderError, match=f"computed in the arithmetic '{form}'"):
        await add(tmp_path / "index", feed("block", "bird"))


@pytest.mark.parametrize("form", FORMS)
async def test_what_joins_an_index_is_computed_as_it_was(
    form: Arithmetic, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def feed(how: Choice, *names: str) -> EmbeddingFeed:
        passages = [Passage(name, f"The {name} is a word.") for name in names]
        return EmbeddingFeed(lambda: streamed(passages), OnnxEmbedder(options=Options(arithmetic=how)), "words")

    monkeypatch.setattr(arithmetic, "best_here", lambda: "block")
    monkeypatch.setattr(arithmetic, "instructions", lambda: frozenset({"avx512_vnni", "amx_bf16"}))
    whole = await build(tmp_path / "whole", feed(form, "cat", "dog", "bird"))
    await build(tmp_path / "index", feed(form, "cat", "dog"))
    joined = await add(tmp_path / "index", feed("auto", "bird"))
    assert joined.origin["arithmetic"] == whole.origin["arithmetic"] == form
    monkeypatch.setattr(arithmetic, "instructions", frozenset)
    with pytest.raises(EmbedderError, match="this machine cannot compute so"):
        await add(tmp_path / "index", feed("auto", "fish"))


def test_a_graph_survives_reading_and_writing() -> None:
    data = MODEL.read_bytes()
    graph = read_graph(data)
    again = read_graph(write_graph(graph))
    assert again.nodes == graph.nodes
    assert again.constants.keys() == graph.constants.keys()
    assert all(np.array_equal(again.constants[name], graph.constants[name]) for name in graph.constants)


def test_the_same_file_becomes_the_same_bytes() -> None:
    data = MODEL.read_bytes()
    with np.load(MODEL.with_suffix(arithmetic.FIT)) as fit:
        assert by_tensor(data, dict(fit)) == by_tensor(data, dict(fit))


def test_a_fit_to_other_weights_is_named(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(SHIPPED, folder)
    shutil.copy(EVALUATOR / f"evaluator{arithmetic.FIT}", folder / f"model{arithmetic.FIT}")
    with pytest.raises(DamagedFile, match="fitted to other weights"):
        OnnxEmbedder(folder, options=Options(arithmetic="tensor")).embed_now(["a"], kind="passage")


def test_a_truncated_model_is_named(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(SHIPPED, folder)
    (folder / "model.onnx").write_bytes(MODEL.read_bytes()[:100_000])
    with pytest.raises(DamagedFile, match=r"model\.onnx"):
        OnnxEmbedder(folder, options=Options(arithmetic="tensor")).embed_now(["a"], kind="passage")


@pytest.mark.skipif(not arithmetic.has_openvino(), reason="OpenVINO is not installed")
def test_openvino_reports_nothing_to_anybody(tmp_path: Path) -> None:
    code = (
        "import sys; from wellread.embedding.onnx import OnnxEmbedder, Options; "
        "OnnxEmbedder(options=Options(arithmetic='bf16')).embed_now(['a'], kind='passage'); "
        "print('openvino_telemetry' in sys.modules, 'openvino' in sys.modules)"
    )
    environment = {**os.environ, "HOME": str(tmp_path), "WELLREAD_CACHE_DIR": str(tmp_path / "cache")}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert found.stdout.split() == ["False", "True"]
    assert not (tmp_path / "intel").exists()


TOGETHER = """
import sys, threading
import numpy as np
from wellread.embedding.onnx import SHIPPED
from wellread.embedding.session import open_shipped

_, form, checksum = sys.argv
sys.setswitchinterval(1e-9)  # the lock is handed on wherever it can be
sessions = []

def first():
    session = open_shipped(SHIPPED / "model.onnx", checksum, form, 2, side_by_side=True)
    sessions.append(session)
    feed = {port.name: np.ones((1, 16), np.int64) for port in session.get_inputs()}
    ready.wait()
    session.run([session.get_outputs()[0].name], feed)

def busy():
    while not done.is_set():
        sum(range(50))

ready, done = threading.Barrier(3), threading.Event()
threading.Thread(target=busy, daemon=True).start()
threads = [threading.Thread(target=first) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
done.set()
print(len(sessions))
"""


@pytest.mark.parametrize("form", [*FORMS, "block"])
def test_threads_that_come_first_together_do_not_wait_for_each_other(form: Arithmetic, cache: Path) -> None:
    command = [sys.executable, "-c", TOGETHER, form, hashlib.sha256(MODEL.read_bytes()).hexdigest()]
    for _ in range(2):  # with an empty cache, then with what the first has kept
        ended = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
        assert ended.stdout == "3\n", ended.stderr
