"""The commands of a cluster, typed as a person would: build, deploy, ask, scale, stop."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.test_building import write_documents
from typer.testing import CliRunner, Result

from wellread.cli.main import app
from wellread.errors import WellreadError

pytest.importorskip("ray")
pytestmark = pytest.mark.slow
MOONS = {
    "titan.txt": "Titan\n\nTitan is the largest moon of Saturn. It was discovered by Christiaan Huygens in 1655.\n",
    "triton.txt": "Triton\n\nTriton is the largest moon of Neptune. It was discovered by William Lassell in 1846.\n",
    "phobos.txt": "Phobos\n\nPhobos is a moon of Mars. It was discovered by Asaph Hall in 1877.\n",
}


def typed(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def said(*words: str) -> str:
    done = typed(*words)
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def test_an_index_is_built_deployed_asked_and_stopped(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_documents(tmp_path / "notes", 20)
    for name, text in MOONS.items():
        (folder / name).write_text(text)
    shards, address = str(tmp_path / "shards"), cluster.address
    built = json.loads(said("index", "build", str(folder), "-o", shards, "--ray", address, "--shards", "2", "--json"))
    assert (built["documents"], built["shards"]) == (24, 2)
    assert "Huygens" in said("ask", "Who discovered Titan?", "--source", shards)  # without Ray, in one process
    assert "shard 0001" in said("cluster", "deploy", shards, "--name", "moons", "--address", address)
    answer = json.loads(said("ask", "Who discovered Triton?", "--source", "index:ray://moons", "--json"))
    assert "Lassell" in answer["answer"]
    assert answer["citations"][0]["source"] == "index:ray://moons"
    assert "Phobos" in said("search", "moon of Mars", "--source", "index:ray://moons")
    status = json.loads(said("cluster", "status", "--json", "--address", address))
    assert [(one["name"], len(one["shards"])) for one in status] == [("moons", 2)]
    monkeypatch.setenv("WELLREAD_SOURCE", "index:ray://moons")
    monkeypatch.setenv("WELLREAD_RERANKER", "ray:moons")
    looked = typed("doctor")
    assert "2 shards, 4 of 4 replicas answer" in looked.stdout
    assert ("✗ reranker ray:moons: no evaluators" in looked.stdout, looked.exit_code) == (True, 1)
    monkeypatch.delenv("WELLREAD_SOURCE")
    scaled = json.loads(said("cluster", "scale", "moons", "--replicas", "1", "--evaluators", "1", "--json"))
    assert (len(scaled["evaluators"]), [len(nodes) for nodes in scaled["shards"].values()]) == (1, [1, 1])
    assert "✓ reranker ray:moons: 1 of 1 evaluators answer" in typed("doctor").stdout
    monkeypatch.delenv("WELLREAD_RERANKER")
    assert "3 actors ended" in said("cluster", "stop", "moons")
    assert isinstance(typed("search", "moon", "--source", "index:ray://moons").exception, WellreadError)


def test_a_data_set_made_by_many_is_the_one_made_by_one(cluster: Any, tmp_path: Path) -> None:
    from wellread.index.dataset import DatasetFeed

    folder = write_documents(tmp_path / "notes", 20)
    said("dataset", "create", str(folder), "-o", str(tmp_path / "many"), "--ray", cluster.address)
    said("dataset", "create", str(folder), "-o", str(tmp_path / "one"))

    def rows(place: Path) -> list[tuple[str, bytes]]:
        import pyarrow.parquet as pq

        table = pq.read_table(sorted(place.glob("*.parquet")))
        return sorted(zip(table["_id"].to_pylist(), (bytes(row) for row in table["emb_ubinary"].to_pylist()), strict=True))

    assert rows(tmp_path / "many") == rows(tmp_path / "one")
    assert DatasetFeed(tmp_path / "many").scale is not None


def test_a_split_index_is_deployed_from_afar(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WELLREAD_CACHE_DIR", str(tmp_path / "cache"))
    folder = write_documents(tmp_path / "notes", 20)
    said("index", "build", str(folder), "-o", str(tmp_path / "index"))
    assert "2 shards" in said("cluster", "split", str(tmp_path / "index"), "-o", str(tmp_path / "shards"), "-n", "2")
    place = f"file://{tmp_path}/far/away"
    said("cluster", "publish", str(tmp_path / "shards"), place)
    said("cluster", "deploy", place, "--name", "far", "--replicas", "1", "--address", cluster.address)
    assert "note" in said("search", "note 7 river", "--source", "index:ray://far").lower()
    said("cluster", "stop", "far")


def test_an_index_is_built_at_an_address(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WELLREAD_CACHE_DIR", str(tmp_path / "cache"))
    folder, place = write_documents(tmp_path / "notes", 5), f"file://{tmp_path}/far/built"
    refused = typed("index", "build", str(folder), "-o", place)
    assert "only a cluster builds at an address" in str(refused.exception)
    built = json.loads(said("index", "build", str(folder), "-o", place, "--ray", cluster.address, "--shards", "2", "--json"))
    assert (built["output"], built["shards"], built["documents"]) == (place, 2, 6)
    said("cluster", "deploy", place, "--name", "built", "--replicas", "1", "--address", cluster.address)
    assert "Note 3" in said("search", "note 3", "--source", "index:ray://built")
    said("cluster", "stop", "built")


@pytest.mark.parametrize(
    ("address", "said_of_it"),
    [("127.0.0.1:1", "nobody answers at 127.0.0.1:1"), ("nowhere.invalid:6379", "nobody answers"), ("head", "HOST:PORT")],
)
def test_an_address_where_nobody_is_is_said_at_once(address: str, said_of_it: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray itself goes on trying for minutes."""
    import ray

    from wellread.cluster import on_ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", lambda **_: pytest.fail("Ray was asked"))
    with pytest.raises(WellreadError, match=said_of_it):
        on_ray.connect(address)
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(WellreadError, match=said_of_it):
        on_ray.connect()


def test_a_cluster_that_lets_nobody_in_is_not_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    from wellread.cluster import on_ray

    def refuse(**_: object) -> None:
        raise ConnectionError("Failed to connect to Ray cluster")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        address = f"127.0.0.1:{somebody.getsockname()[1]}"
        with pytest.raises(WellreadError, match=r"does not let us in .*token"):
            on_ray.connect(address)
    with pytest.raises(WellreadError, match="no Ray cluster on this machine"):
        on_ray.connect("auto")
