"""The whole of training on a tiny model, where torch is installed (it is not among the project's requirements)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.training.conftest import tiny_state

torch = pytest.importorskip("torch")


@pytest.mark.slow
def test_every_step_runs(data_folder: Path, tiny_minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from training.evaluator import again, calibrate, data, evaluate, export, figures, prepare, train

    monkeypatch.setattr(data, "HELD_OUT", {"hotpotqa": (1, 1), "2wiki": (1, 1), "nq_open_oracle": (1, 1)})
    prepare.main(["--data", str(data_folder), "--output", str(tmp_path / "prepared")])
    common = ["--prepared", str(tmp_path / "prepared"), "--minilm", str(tiny_minilm), "--output", str(tmp_path / "run")]
    train.main([*common, "--steps", "2", "--questions", "3", "--quick"])
    train.main([*common, "--steps", "1", "--questions", "3", "--quick", "--start", str(tmp_path / "run")])
    words = ["--words", str(tiny_minilm / "model.onnx")]
    export.main(["--weights", str(tmp_path / "run"), "--output", str(tmp_path / "model"), *words])
    model = tmp_path / "model" / "evaluator.onnx"
    train.main([*common, "--steps", "1", "--questions", "0", "--quick", "--start", str(model)])
    calibrate.main([*common[:2], "--records", str(tmp_path / "run"), "--model", str(model)])
    calibrated = [*common[:2], "--calibration", str(model.with_name("calibration.json"))]
    figures.main(["--records", str(tmp_path / "run"), *calibrated])
    shipped = [*common[:4], "--shipped", str(model.parent), "--output", str(tmp_path / "normal")]
    evaluate.main([*shipped, "--effort", "normal", "--limit", "3"])
    figures.main(["--records", str(tmp_path / "normal"), *calibrated, "--efforts", "normal"])
    once_more = ["--records", str(tmp_path / "run"), "--model", str(model), "--output", str(tmp_path / "again")]
    again.main([*common[:2], *once_more, "--sets", "hotpotqa", "--most", "1"])
    figures.main(["--records", str(tmp_path / "again"), *calibrated, "--efforts", "normal"])


def test_torch_and_onnx_agree() -> None:
    import onnxruntime
    from training.bert_graph import Float32Weights
    from training.evaluator.export import build_model
    from training.evaluator.model import Packed, judge

    from wellread.ranking.inputs import Row, pad_rows

    state = tiny_state(layers=2, heads=True)
    rng = np.random.default_rng(1)
    rows = [Row(rng.integers(1000, 30000, length).astype(np.int32), 4, ()) for length in (9, 17, 12)]
    packed = Packed.of([row.ids for row in rows], [row.question_length for row in rows], torch.device("cpu"))
    judged = judge({name: torch.from_numpy(value) for name, value in state.items()}, packed)
    session = onnxruntime.InferenceSession(build_model(state, Float32Weights()).SerializeToString())
    fed = dict(zip(("input_ids", "token_type_ids", "attention_mask"), pad_rows(rows), strict=True))
    everything, lowest = np.array(-np.inf, np.float32), np.array(np.sort(judged.early.numpy())[:2].mean())
    early, relevance, kinds, starts = session.run(["early", "relevance", "kinds", "starts"], fed | {"floor": everything})
    kept, of_those = session.run(["kept", "relevance"], fed | {"floor": lowest})
    assert len(kept) == (early >= lowest).sum() in (1, 2)
    np.testing.assert_allclose(of_those, relevance[kept.astype(int)], atol=1e-4)
    np.testing.assert_allclose(judged.early.numpy(), early, atol=1e-4)
    np.testing.assert_allclose(judged.relevance.numpy(), relevance, atol=1e-4)
    np.testing.assert_allclose(judged.kinds.numpy(), kinds, atol=1e-4)
    np.testing.assert_allclose(judged.starts.numpy()[0, 4:8], starts[0, 4:8], atol=1e-4)
