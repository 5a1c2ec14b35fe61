"""How the verifier was made: claims by rule, and every step on a tiny model (where torch is installed)."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from training.verifier.changes import changes
from training.verifier.claims import Case, Claim, Text, astray, untrue
from training.verifier.curves import area, shares
from training.verifier.disguise import disguised
from training.verifier.fit import Row, balanced, fit, scores
from training.verifier.statements import Statements, compared, said
from training.verifier.wordings import reworded

TEXTS = ["They want to end it, to end the war and to end all wars.", "to publish, to publish, to publish"]


@pytest.mark.parametrize(
    ("question", "statement"),
    [
        ("When did the war end?", "The war ended in {}."),
        ("In what year did Ray Sull publish a study?", "Ray Sull published a study in {}."),
        ("Which key ends the program?", "{} ends the program."),
        ("Who wrote Hamlet?", "{} wrote Hamlet."),
        ("What is the capital of Peru?", "The capital of Peru is {}."),
        ("The lake is located in what country?", "The lake is located in {}."),
        ("How many boats are there in the port?", "There are {} boats in the port."),
        ("Why did the king flee?", None),
    ],
)
def test_questions_become_statements(question: str, statement: str | None) -> None:
    assert Statements(TEXTS).of(question) == statement


def test_questions_for_one_of_two_and_after_yes_or_no() -> None:
    right, wrong = compared("Which film came out first, Zeta or Alpha?", "Zeta") or ("", "")
    assert (right, wrong) == ("Of Alpha and Zeta, Zeta came out first.", "Of Alpha and Zeta, Alpha came out first.")
    assert said("Are Bob Fen and Ada Holt both painters?") == "Bob Fen and Ada Holt are both painters."


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("Can I publish my notes?", ("You can publish your notes.", "You cannot publish your notes.")),
        ("Does the daemon end by itself?", ("The daemon ends by itself.", "The daemon does not end by itself.")),
        ("Is the log kept on disk?", ("The log is kept on disk.", "The log is not kept on disk.")),
        ("Which port is it?", None),
    ],
)
def test_a_question_after_yes_or_no_has_two_sides(question: str, sides: tuple[str, str] | None) -> None:
    assert Statements(TEXTS).sides(question) == sides


def test_changes_are_marked_where_they_are() -> None:
    true = "Reed was born in Swindon on 3 May 1982."
    passages = [Text("Olaf Reed", "Reed was born in Swindon on 3 May 1982. Tim Cooper lost in Leeds on 5 June 1990.")]
    made = changes(true, passages, random.Random(1), 5)
    assert len({claim.kind for claim in made}) >= 4
    for claim in made:
        assert claim.text != true
        assert claim.astray, claim
        assert not claim.carried
    assert astray("a b c d e f", "a b x d e f") == ((4, 5),)
    assert astray("did not succeed in it at all", "did succeed in it at all") == ((0, 3), (4, 11))
    assert astray("a b c", "x y z") is None


def test_a_disguise_changes_claims_and_passages_alike() -> None:
    text = Text("Olaf Reed", "Olaf Reed was born in 1982 and met Tilda Crane in 1990.")
    claims = (Claim("Tilda Crane met Olaf Reed eight years after 1982.", True), untrue("It was Olaf.", "It was Tilda.", "agent"))
    case = disguised(Case((text,), claims), ["Bremen"], random.Random(3), 1.0)
    assert "Olaf" not in case.passages[0].text
    assert case.claims[1].text == "It was Bremen."
    assert case.claims[1].astray == ((7, 13),)
    years = [int(word.strip(".")) for word in case.passages[0].text.split() if word.strip(".").isdigit()]
    assert years[1] - years[0] == 8
    assert str(years[0]) in case.claims[0].text


def test_reworded_sentences_keep_their_subject() -> None:
    passage = Text("Olaf Reed (boxer)", "He beat Tim Cooper on points (after a long fight) in the hall of Bath.")
    made = {reworded(passage, random.Random(seed)) for seed in range(20)}
    assert "Olaf Reed beat Tim Cooper on points in the hall of Bath." in made


def test_the_fit_weighs_what_is_said_and_the_share() -> None:
    chance = np.random.default_rng(1)
    rows = [Row(true, chance.normal(2 * true - 1), chance.uniform(0.3 * true, 1.0)) for true in (True, False) for _ in range(200)]
    rows += [Row(False, 0.0, 0.0, decided=False)] * 20  # a veto: for nobody to weigh
    fitted = fit([rows])
    assert (fitted[:2] > 0).all()
    assert balanced(rows, scores(rows, fitted), 0.0) > 0.75
    assert scores([Row(True, 9.0, 1.0, decided=False)], fitted)[0] < -10


def test_curves_count_what_passes() -> None:
    scores_of = np.array([3.0, 2.0, 1.0, 0.0])
    true = np.array([True, True, False, False])
    assert area(scores_of[true], scores_of[~true]) == 1.0
    assert shares(["", "", "agent", "date"], true, scores_of)["by kind at 7%"] == {"agent": 0.0, "date": 0.0}


def _tiny_teacher(path: Path) -> str:
    """A file of the teacher's form, with one small layer."""
    size, rng = 24, np.random.default_rng(3)
    shapes = {"embeddings.word_embeddings.weight": (30527, size), "embeddings.position_embeddings.weight": (514, size)}
    shapes |= {"encoder.relative_attention_bias.weight": (32, 2)}
    shapes |= {f"{norm}.LayerNorm.{part}": (size,) for norm in ("embeddings", *_NORMS) for part in ("weight", "bias")}
    for name, (outputs, inputs) in _DENSE.items():
        shapes |= {f"{name}.weight": (outputs * size, inputs * size), f"{name}.bias": (outputs * size,)}
    values = {name: rng.standard_normal(shape, np.float32) * np.float32(0.1) for name, shape in shapes.items()}
    ends = np.cumsum([value.nbytes for value in values.values()]).tolist()
    header = {
        name: {"dtype": "F32", "shape": list(value.shape), "data_offsets": [end - value.nbytes, end]}
        for (name, value), end in zip(values.items(), ends, strict=True)
    }
    told = json.dumps(header).encode()
    path.write_bytes(len(told).to_bytes(8, "little") + told + b"".join(value.tobytes() for value in values.values()))
    return str(path)


_LAYER = "encoder.layer.0"
_NORMS = (f"{_LAYER}.attention", f"{_LAYER}.output")
_DENSE = {f"{_LAYER}.attention.attn.{part}": (1, 1) for part in "qkvo"}
_DENSE |= {f"{_LAYER}.intermediate.dense": (2, 1), f"{_LAYER}.output.dense": (1, 2)}


@pytest.mark.slow
def test_every_step_runs(data_folder: Path, tiny_minilm: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    import onnxruntime
    from training.evaluator.minilm import read_minilm
    from training.evaluator.model import Packed
    from training.evaluator.weights import load_weights
    from training.verifier import export, prepare, train
    from training.verifier.network import WORDS, verify

    written = "+ Number {n} is a river.\nobject | river => lake\n- date | It dried up in 19{n}0."
    lines = [f"@ {folder}:r{n}\n{written.format(n=n)}" for folder in ("squad", "hotpotqa", "2wiki") for n in range(8)]
    (tmp_path / "claims.txt").write_text("\n".join(lines), encoding="utf-8")
    prepared, run = tmp_path / "prepared", tmp_path / "run"
    prepare.main(["--data", str(data_folder), "--written", str(tmp_path / "claims.txt"), "--output", str(prepared)])
    start = str(tiny_minilm / "model.onnx")
    common = ["--prepared", str(prepared), "--start", start, "--words", start, "--output", str(run), "--workers", "0"]
    teacher = _tiny_teacher(tmp_path / "teacher.safetensors")
    few = ["--steps", "1", "--shrink", "24"]
    train.main([*common[:2], "--start", teacher, "--output", str(tmp_path / "taught"), "--workers", "0", *few])
    learning = ["--teacher", teacher, str(tmp_path / "taught"), "--mix", "taught"]
    train.main([*common, "--steps", "2", "--shrink", "24", "--deepen", "2", *learning])
    export.main(["--weights", str(run), str(run), "--output", str(tmp_path / "model")])

    words = read_minilm(Path(start))[WORDS]
    state = {name: torch.from_numpy(value) for name, value in {**load_weights(run), WORDS: words}.items()}
    ids = np.random.default_rng(1).integers(1000, 30000, 12).astype(np.int32)
    told = verify(state, Packed.of([ids], [5], torch.device("cpu")))
    session = onnxruntime.InferenceSession(tmp_path / "model" / "verifier.onnx")
    row = ids[None].astype(np.int64)
    fed = {"input_ids": row, "token_type_ids": (np.arange(12) >= 5)[None].astype(np.int64), "attention_mask": np.ones_like(row)}
    carried, words_astray = session.run(["carried", "astray"], {**fed, "words": words[row]})
    np.testing.assert_allclose(told.carried.detach().numpy(), carried, atol=0.05)
    np.testing.assert_allclose(told.astray.detach().numpy(), words_astray[0], atol=0.05)


def test_labelled_claims_of_one_passage_are_on_one_side() -> None:
    from training.verifier.prepare import fold_of

    rows = [{"claim": f"{claim}", "passages": [{"text": f"passage {number}"}]} for number in range(60) for claim in range(3)]
    parts = {}
    for row in rows:
        parts.setdefault(row["passages"][0]["text"], set()).add(fold_of(row))
    assert all(len(found) == 1 for found in parts.values())
    assert set().union(*parts.values()) == {0, 1, 2, 3, 4}
