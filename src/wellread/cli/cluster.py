"""`wellread cluster`: an index in shards, on the nodes of a Ray cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from wellread.cli import options
from wellread.cli.feeds import ticking
from wellread.cli.options import Commands
from wellread.cli.terminal import say, say_json, tell
from wellread.core.private_files import at_home
from wellread.events import counted

if TYPE_CHECKING:
    from wellread.cluster.building import Order
    from wellread.cluster.on_ray import Deployed
    from wellread.cluster.sharded import Sharded

app = Commands("Put an index on the nodes of a Ray cluster.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the deployed index.")]
ADDRESS = options.flag("--address", "HOST:PORT", "Ray's head; RAY_ADDRESS unless given.")
SHARDS = options.flag("--shards -n", "N", "How many.", ..., min=1, max=10_000)


@app.command()
def split(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="Folder of an index.")],
    output: Path = options.flag("--output -o", "DIR", "Folder for the shards.", ...),
    shards: int = SHARDS,
    as_json: options.AsJson = False,
) -> None:
    """Make shards of an index that is there; nothing is embedded again.

    wellread cluster split my-index --output my-shards --shards 4
    """
    from wellread.cluster.reshard import shard_index

    with ticking(as_json) as ticker:
        made = asyncio.run(shard_index(index, output, shards, ticker))
    tell(as_json, *_made(made, output))


@app.command()
def reshard(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a sharded index.")],
    output: Path = options.flag("--output -o", "DIR", "Folder for the new shards.", ...),
    shards: int = SHARDS,
    as_json: options.AsJson = False,
) -> None:
    """Make more shards, or fewer, of a sharded index; what is there stays as it is, and nothing is embedded again.

    With one shard more only the documents of the new one move. Interrupted, the same command goes on.

    wellread cluster reshard my-shards --output my-shards-5 --shards 5
    """
    from wellread.cluster.reshard import reshard as put_apart

    with ticking(as_json, go_on=f"{output} is unfinished; the same command goes on with it") as ticker:
        made, moved = asyncio.run(put_apart(folder, output, shards, ticker))
    facts, amount = _made(made, output)
    tell(as_json, {**facts, "moved": moved}, f"{amount}; {moved} of them in another shard than before")


@app.command()
def publish(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a sharded index.")],
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="s3://bucket/path, gs://…, file:///path.")],
) -> None:
    """Copy a sharded index to where all nodes can fetch it, for clusters without a shared disk.

    wellread cluster publish my-shards s3://bucket/my-shards
    """
    from wellread.cluster.sharded import publish as copy

    copy(folder, address)
    say(f"{folder} is at {address}")


@app.command()
def deploy(
    place: Annotated[str, typer.Argument(metavar="PLACE", help="Folder that all nodes see, or an address as s3://bucket/path.")],
    name: str = options.flag("--name", "NAME", "What it is called: index:ray://NAME.", ...),
    replicas: int = options.flag("--replicas -r", "N", "Copies of each shard in memory.", 2, min=1, max=64),
    evaluators: int = options.flag("--evaluators", "N", "Evaluators, one core each.", 0, min=0),
    address: str | None = ADDRESS,
    as_json: options.AsJson = False,
) -> None:
    """Start the replicas of each shard on different nodes, and wait until they can be searched.

    wellread cluster deploy my-shards --name notes --replicas 2
    wellread ask "…" --source index:ray://notes
    """
    _tell(_on_ray(address).deploy(_seen_by_all(place), name, replicas, evaluators), as_json)


@app.command()
def status(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Of one; all unless given.")] = None,
    address: str | None = ADDRESS,
    as_json: options.AsJson = False,
) -> None:
    """Say what is deployed, and on which nodes."""
    on_ray = _on_ray(address)
    found = [on_ray.status(one) for one in ([name] if name else on_ray.names())]
    if as_json:
        say_json([_facts(one) for one in found])
    elif not found:
        say("nothing is deployed; see: wellread cluster deploy --help")
    for one in [] if as_json else found:
        _tell(one, False)


@app.command()
def scale(
    name: Name,
    replicas: int | None = options.flag("--replicas -r", "N", "Copies of each shard.", min=1, max=64),
    evaluators: int | None = options.flag("--evaluators", "N", "Evaluators.", min=0),
    address: str | None = ADDRESS,
    as_json: options.AsJson = False,
) -> None:
    """Start or end replicas and evaluators; searches go on meanwhile.

    wellread cluster scale notes --replicas 3
    """
    _tell(_on_ray(address).scale(name, replicas, evaluators), as_json)


@app.command()
def stop(name: Name, address: str | None = ADDRESS) -> None:
    """End all replicas and evaluators of an index; its files stay."""
    count = _on_ray(address).stop(name)
    say(f"{name} is stopped: {counted(count, 'actor', 'actors')} ended" if count else f"{name} is not deployed here")


def build_on_ray(order: Order, output: str, address: str, *, verbose: bool, report: Path | None, as_json: bool) -> None:
    """`index build --ray`."""
    from wellread.cluster.building import Told, build

    _on_ray(None if address == "auto" else address)
    told = Told()
    go_on = f"{output} is unfinished; the same command goes on with it"
    with ticking(as_json, told.unreadable, go_on=go_on, verbose=verbose, report=report) as ticker:
        made = build(_seen_by_all(output), order, ticker, told)
    facts, words = _made(made, output, told.documents)
    tell(as_json, {**facts, "documents": told.documents, "unreadable": len(told.unreadable)}, words)


def data_set_on_ray(order: Order, output: Path, address: str, as_json: bool) -> tuple[int, list[str]]:
    """`dataset create --ray`; the number of rows, and what was not read."""
    from wellread.cluster.building import Told, data_set

    _on_ray(None if address == "auto" else address)
    told = Told()
    with ticking(as_json, told.unreadable, go_on=f"{output} is unfinished; the same command goes on with it") as ticker:
        return data_set(at_home(output).resolve(), order, ticker, told), told.unreadable


def _on_ray(address: str | None) -> ModuleType:
    """The module of operations on a cluster, once it is connected."""
    from wellread.cluster import on_ray

    on_ray.connect(address)
    return on_ray


def _made(made: Sharded, output: Path | str, documents: int = 0) -> tuple[dict[str, object], str]:
    """The facts of a sharded index, and words on them."""
    of = f" of {counted(documents, 'document', 'documents')}" if documents else ""
    words = f"{counted(made.passages, 'passage', 'passages')}{of} in {counted(len(made.shards), 'shard', 'shards')} in {output}"
    return {"output": str(output), "shards": len(made.shards), "passages": made.passages}, words


def _seen_by_all(place: str) -> str:
    """A place by a name that means the same on every node."""
    from wellread.cluster.sharded import is_address

    return place if is_address(place) else str(at_home(place).resolve())


def _tell(deployed: Deployed, as_json: bool) -> None:
    if as_json:
        say_json(_facts(deployed))
        return
    say(f"{deployed.name}: {deployed.place}")
    for shard, nodes in deployed.replicas.items():
        say(f"  shard {shard:04d}  " + "  ".join(node[:8] or "starting" for node in nodes))
    if deployed.evaluators:
        say("  evaluators  " + "  ".join(node[:8] or "starting" for node in deployed.evaluators))


def _facts(deployed: Deployed) -> dict[str, object]:
    shards = {str(shard): list(nodes) for shard, nodes in deployed.replicas.items()}
    return {"name": deployed.name, "place": deployed.place, "shards": shards, "evaluators": list(deployed.evaluators)}
