"""Models from folders and files: what their settings say, what is missing, what is damaged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto
from tests.embedding.tiny import TABLE, WORDS, unit

from wellread.embedding.layout import read_layout
from wellread.embedding.onnx import SHIPPED, OnnxEmbedder, Options, from_spec, verify
from wellread.errors import DamagedFile, EmbedderError, UsageError
from wellread.parts import Parts
from wellread.plugins import parse_spec
from wellread.settings import Settings

Folder = Callable[..., Path]
KIT = Parts(Settings(), environ={})
TEXTS = ["red", "green blue red green blue", "", "blue blue"]


def built(spec: str) -> OnnxEmbedder:
    return from_spec(parse_spec(spec), KIT)


def embedded(folder: Path, text: str = "red blue", **options: object) -> np.ndarray:
    return OnnxEmbedder(folder, name=folder.name, options=Options(**options)).embed_now([text], kind="query")[0]  # pyright: ignore[reportArgumentType]


def direction(*words: str) -> np.ndarray:
    row = TABLE[[WORDS.index(word) for word in words]].mean(axis=0)
    return row / np.linalg.norm(row)


def test_token_vectors_are_averaged_without_padding(folder: Folder) -> None:
    embedder = built(f"onnx:{folder()}")
    vectors = embedder.embed_now(TEXTS, kind="passage")
    np.testing.assert_allclose(vectors, [unit(*text.split()) for text in TEXTS], atol=1e-6)
    assert embedder.dimensions == 4


@pytest.mark.parametrize(
    "inputs",
    [("input_ids",), ("input_ids", "attention_mask", "token_type_ids"), ("input_ids", "attention_mask", "position_ids")],
)
@pytest.mark.parametrize("kind", [TensorProto.INT64, TensorProto.INT32])
def test_a_model_gets_the_inputs_it_declares(folder: Folder, inputs: tuple[str, ...], kind: int) -> None:
    np.testing.assert_allclose(embedded(folder(inputs=inputs, kind=kind)), unit("red", "blue"), atol=1e-6)


def test_an_unknown_input_is_refused(folder: Folder) -> None:
    with pytest.raises(EmbedderError, match="does not know: task_id"):
        embedded(folder(inputs=("input_ids", "attention_mask", "task_id")))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, ["[CLS]"]),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, ["[CLS]", "red", "blue", "[SEP]"]),
        ({"pooling_mode_lasttoken": True}, ["[SEP]"]),
        ({"pooling_mode": "cls"}, ["[CLS]"]),
        ({"pooling_mode": "mean"}, ["[CLS]", "red", "blue", "[SEP]"]),
        ({}, ["[CLS]", "red", "blue", "[SEP]"]),
    ],
)
def test_pooling_comes_from_the_files(folder: Folder, config: dict[str, object], words: list[str]) -> None:
    modules = [
        {"type": "sentence_transformers.models.Transformer", "path": ""},
        {"type": "sentence_transformers.models.Pooling", "path": "7_Pooling"},
    ]
    made = folder(files={"7_Pooling/config.json": config, "modules.json": modules})
    np.testing.assert_allclose(embedded(made), direction(*words), atol=1e-6)


def test_pooling_comes_from_the_name_or_the_option(folder: Folder) -> None:
    made = folder("bge-small-en-v1.5")
    np.testing.assert_allclose(embedded(made, query_prompt=""), direction("[CLS]"), atol=1e-6)
    np.testing.assert_allclose(embedded(made, query_prompt="", pooling="mean"), unit("red", "blue"), atol=1e-6)


@pytest.mark.parametrize("config", [{"pooling_mode_max_tokens": True}, {"pooling_mode": "weightedmean"}])
def test_other_poolings_are_refused(folder: Folder, config: dict[str, object]) -> None:
    with pytest.raises(EmbedderError, match="only the poolings mean, cls and last"):
        embedded(folder(files={"1_Pooling/config.json": config}))


@pytest.mark.parametrize("output", ["sentence_embedding", "embedding", "whatever"])
def test_a_pooled_output_is_taken_as_it_is(folder: Folder, output: str) -> None:
    np.testing.assert_allclose(embedded(folder(pooled=True, output=output)), direction("red"), atol=1e-6)


def test_a_layer_after_pooling_must_be_in_the_graph(folder: Folder) -> None:
    modules = [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]
    with pytest.raises(EmbedderError, match="leaves out a layer"):
        embedded(folder(files={"modules.json": modules}))
    whole = folder("whole", pooled=True, output="sentence_embedding", files={"modules.json": modules})
    np.testing.assert_allclose(embedded(whole), direction("red"), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "prompts", "query", "passage"),
    [
        ("e5-small", None, ["query", ":", "red"], ["passage", ":", "red"]),
        ("plain", None, ["red"], ["red"]),
        ("e5-base", {"query": "green ", "document": "blue "}, ["green", "red"], ["blue", "red"]),
        ("e5-large", {"query": "", "document": ""}, ["query", ":", "red"], ["passage", ":", "red"]),
    ],
)
def test_prompts(folder: Folder, name: str, prompts: dict[str, str] | None, query: list[str], passage: list[str]) -> None:
    files = {"config_sentence_transformers.json": {"prompts": prompts}} if prompts else {}
    embedder = built(f"onnx:{folder(name, files=files)}")
    np.testing.assert_allclose(embedder.embed_now(["red"], kind="query")[0], unit(*query), atol=1e-6)
    np.testing.assert_allclose(embedder.embed_now(["red"], kind="passage")[0], unit(*passage), atol=1e-6)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 512),
        ({"sentence_bert_config.json": {"max_seq_length": 128}}, 128),
        ({"tokenizer_config.json": {"model_max_length": 10**30}, "config.json": {"max_position_embeddings": 384}}, 384),
        ({"tokenizer_config.json": {"model_max_length": 10**30}}, 8192),
        ({"config.json": {"max_position_embeddings": 514, "model_type": "xlm-roberta"}}, 512),
    ],
)
def test_how_much_is_read(folder: Folder, files: dict[str, object], expected: int) -> None:
    assert read_layout(folder(files=files), "tiny").max_tokens == expected


def test_max_tokens_cuts(folder: Folder) -> None:
    np.testing.assert_allclose(embedded(folder(), "red blue green", max_tokens=4), unit("red", "blue"), atol=1e-6)


def test_one_file_among_several(folder: Folder) -> None:
    made = folder(file="onnx/model_int8.onnx")
    assert read_layout(made, "tiny").model.name == "model_int8.onnx"
    folder(file="onnx/model_fp16.onnx")
    with pytest.raises(EmbedderError, match=r"choose one with \?file=…: onnx/model_fp16.onnx, onnx/model_int8.onnx"):
        embedded(made)
    for spec in (f"onnx:{made}?file=onnx/model_fp16.onnx", f"onnx:{made}"):
        if "?" not in spec:
            folder(file="onnx/model.onnx")
        np.testing.assert_allclose(built(spec).embed_now(["red"], kind="query")[0], unit("red"), atol=1e-6)
    with pytest.raises(EmbedderError, match=r"has no file onnx/other.onnx"):
        embedded(made, file="onnx/other.onnx")


def test_a_file_can_be_named_directly(folder: Folder) -> None:
    made = folder(file="odd.onnx")
    np.testing.assert_allclose(built(f"onnx:{made}/odd.onnx").embed_now(["red"], kind="query")[0], unit("red"), atol=1e-6)


def test_the_name_makes_the_same_vectors_again(folder: Folder) -> None:
    assert built("onnx").name == built("onnx:all-minilm-l6-v2?threads=1").name == "onnx:all-minilm-l6-v2"
    first = built(f"onnx:{folder()}?query_prompt=green:%20&pooling=cls&batch_tokens=9&max_tokens=8")
    again = built(first.name)
    assert again.name == first.name
    assert "pooling=cls" in first.name
    assert "batch_tokens" not in first.name
    query = again.embed_now(["red"], kind="query")
    np.testing.assert_array_equal(query, first.embed_now(["red"], kind="query"))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("onnx:/nowhere/at/all", "neither a folder, nor a file, nor a Hugging Face id"),
        ("onnx:minilm", "neither a folder"),
        ("onnx:./x", "neither a folder"),
        ("onnx?thread=1", "did you mean threads"),
        ("onnx?threads=-1", "threads must be at least 0"),
        ("onnx?pooling=max", "pooling must be one of mean, cls, last"),
        ("onnx?device=tpu", "device must be one of"),
    ],
)
def test_wrong_specs(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        built(spec)


def test_a_device_that_is_not_there(folder: Folder) -> None:
    with pytest.raises(EmbedderError, match="cannot run on cuda: pip install onnxruntime-gpu"):
        embedded(folder(), device="cuda")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package's model folder, to be damaged."""
    return Path(shutil.copytree(SHIPPED, tmp_path / "copy"))


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_verify_finds_a_flipped_bit_and_a_missing_file(copy: Path, name: str) -> None:
    verify(copy)
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    with pytest.raises(DamagedFile, match=f"{name} is damaged .* install wellread again"):
        verify(copy)
    (copy / name).unlink()
    with pytest.raises(DamagedFile, match=f"{name} cannot be read"):
        verify(copy)


def test_verify_without_checksums(tmp_path: Path) -> None:
    with pytest.raises(DamagedFile, match="lists no checksums"):
        verify(tmp_path)


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("model.onnx", lambda content: content[: len(content) // 2], "not a model that can be loaded"),
        ("model.onnx", lambda _: b"", "not a model that can be loaded"),
        ("model.onnx", lambda _: b"<html>not found</html>", "not a model that can be loaded"),
        ("tokenizer.json", lambda content: content[:1000], "not a tokenizer that can be read"),
        ("config.json", lambda _: b"{", "config.json cannot be read"),
        ("config.json", lambda _: b'{"format": "wellread-embedder/1"}', "lacks what it should say"),
    ],
)
def test_damaged_files(
    copy: Path, name: str, damage: Callable[[bytes], bytes], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (copy / name).write_bytes(damage((copy / name).read_bytes()))
    with pytest.raises(DamagedFile, match=message) as caught:
        OnnxEmbedder(copy).embed_now(["text"], kind="query")
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")  # the error is raised and nothing printed


def test_weights_missing_from_the_package(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wellread.embedding.onnx.SHIPPED", copy)
    (copy / "model.onnx").unlink()
    with pytest.raises(DamagedFile, match="has no ONNX file; install wellread again"):
        OnnxEmbedder(copy).embed_now(["text"], kind="query")


def test_a_folder_without_a_tokenizer(folder: Folder) -> None:
    made = folder()
    (made / "tokenizer.json").unlink()
    with pytest.raises(EmbedderError, match=r"has no tokenizer.json"):
        embedded(made)


@pytest.mark.parametrize("name", ["modules.json", "1_Pooling/config.json", "sentence_bert_config.json"])
def test_broken_settings_of_a_folder(folder: Folder, name: str) -> None:
    made = folder(files={name: {}})
    (made / name).write_text("[{")
    with pytest.raises(DamagedFile, match="cannot be read"):
        embedded(made)


def test_vectors_that_are_not_numbers(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.embedding.tiny.TABLE", np.full_like(TABLE, np.nan))
    with pytest.raises(EmbedderError, match="zero or not finite"):
        embedded(folder())


def test_dimensions_other_than_promised(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"dimensions": 256}))
    with pytest.raises(EmbedderError, match=r"shape \(1, 384\), not 256 long"):
        OnnxEmbedder(copy).embed_now(["text"], kind="query")


def test_a_model_that_fails_while_it_runs(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.embedding.tiny.TABLE", TABLE[:3])  # fewer vectors than words
    with pytest.raises(EmbedderError, match=r"model.onnx failed: .*indices element out of data bounds") as caught:
        embedded(folder())
    assert "\n" not in str(caught.value)
