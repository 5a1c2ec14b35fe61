"""A small world to train in: a few passages and questions written for the tests, and a tiny encoder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from training.bert_graph import Graph, Int8Weights, Shape, encoder, mean_pool, normalize

ROOT = Path(__file__).resolve().parents[2]
TOKENIZER = ROOT / "src/wellread/embedding/weights/all-minilm-l6-v2/tokenizer.json"
RIVERS = ("Arve", "Brenta", "Cinca", "Drina", "Ebro", "Fulda", "Garonne", "Havel")


def corpus_rows() -> list[dict[str, object]]:
    """For each river a passage, and one on the painter who was born beside it."""
    rows: list[dict[str, object]] = []
    for place, river in enumerate(RIVERS):
        rows.append({"id": f"r{place}", "title": river, "text": f"The {river} is a river. It is {100 + place} kilometres long."})
        text = f"Painter Number{place} was born in {1800 + place} beside the {river}. She painted bridges."
        rows.append({"id": f"p{place}", "title": f"Painter Number{place}", "text": text})
    return rows


def question_rows(hops: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for place, river in enumerate(RIVERS):
        context = [f"r{place}", f"p{place}", f"r{(place + 1) % len(RIVERS)}", f"p{(place + 2) % len(RIVERS)}"]
        if hops == 1:
            row = {"question": f"How long is the {river}?", "answers": [str(100 + place)], "gold": [f"r{place}"]}
        else:
            question = f"How long is the river beside which Painter Number{place} was born?"
            row = {"question": question, "answers": [str(100 + place)], "gold": [f"p{place}", f"r{place}"], "context": context}
        rows.append({"id": f"q{hops}-{place}", **row})
    return rows


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The six sets that training reads, all of them the small world."""
    folder = tmp_path_factory.mktemp("data")
    hops = {"hotpotqa": 2, "2wiki": 2, "squad": 1, "nq_open_oracle": 1, "musique_train100": 2, "scifact": 1}
    for name, steps in hops.items():
        (folder / name).mkdir()
        for file, rows in (("corpus", corpus_rows()), ("questions", question_rows(steps))):
            with gzip.open(folder / name / f"{file}.jsonl.gz", "wt", encoding="utf-8") as out:
                out.writelines(json.dumps(row) + "\n" for row in rows)
    (folder / "covid_faq").mkdir()
    for file, made in (("corpus", faq_rows()), ("questions", faq_questions())):
        with gzip.open(folder / "covid_faq" / f"{file}.jsonl.gz", "wt", encoding="utf-8") as out:
            out.writelines(json.dumps(row) + "\n" for row in made)
    return folder


def faq_rows() -> list[dict[str, object]]:
    """Documents of three entries each, so that whole documents are held out."""
    return [
        {
            "id": f"Doc{document}-{entry}#0",
            "title": f"Guide {document}",
            "heading": f"Crossing {entry}",
            "text": f"Take the boat at pier {entry}. It leaves every {document + 5} minutes.",
        }
        for document in range(24)
        for entry in range(3)
    ]


def faq_questions() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for document in range(24):
        gold = [f"Doc{document}-1#0"]
        asked = f"How do I cross by guide {document}?"
        rows.append(
            {"id": f"h{document}", "question": asked, "answers": [], "gold": gold, "answer_is_passage": True, "kind": "how-to"}
        )
        asked = f"How often does the boat of guide {document} leave?"
        rows.append({"id": f"n{document}", "question": asked, "answers": [f"every {document + 5} minutes"], "gold": gold})
        asked = f"Who built the boat of guide {document}?"
        rows.append({"id": f"i{document}", "question": asked, "answers": [], "gold": gold, "impossible": True})
    return rows


def tiny_state(hidden: int = 128, layers: int = 1, *, heads: bool = False) -> dict[str, np.ndarray]:
    """Random weights of a small BERT, with the evaluator's heads if asked for."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.05).astype(np.float32)

    state = {
        "embeddings.word_embeddings.weight": normal(30522, hidden),
        "embeddings.position_embeddings.weight": normal(512, hidden),
        "embeddings.token_type_embeddings.weight": np.zeros((2, hidden), np.float32),
    }
    norms = ["embeddings.LayerNorm"]
    dense: dict[str, tuple[int, int]] = {}
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        norms += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
        dense |= {f"{name}.attention.self.{part}": (hidden, hidden) for part in ("query", "key", "value")}
        dense |= {f"{name}.attention.output.dense": (hidden, hidden), f"{name}.intermediate.dense": (4 * hidden, hidden)}
        dense[f"{name}.output.dense"] = (hidden, 4 * hidden)
    if heads:
        outputs = {"head.dense": hidden, "head.relevance": 1, "head.kinds": 5, "head.span": 3}
        outputs |= {"early.dense": hidden, "early.relevance": 1}
        dense |= {name: (count, hidden) for name, count in outputs.items()}
    for name, shape in dense.items():
        state |= {f"{name}.weight": normal(*shape), f"{name}.bias": normal(shape[0])}
    for name in norms:
        state |= {f"{name}.weight": np.ones(hidden, np.float32), f"{name}.bias": np.zeros(hidden, np.float32)}
    return state


@pytest.fixture(scope="session")
def tiny_minilm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like the embedder's, with a tiny model in it."""
    folder = tmp_path_factory.mktemp("minilm")
    graph, shape = Graph(), Shape(layers=1, heads=4, hidden=128)
    normalize(graph, mean_pool(graph, encoder(graph, tiny_state(), shape, Int8Weights())), "embedding")
    inputs = {"input_ids": TensorProto.INT64, "attention_mask": TensorProto.INT64}
    onnx.save(graph.model(inputs, {"embedding": ["batch", 128]}), folder / "model.onnx")
    (folder / "tokenizer.json").write_bytes(TOKENIZER.read_bytes())
    return folder
