"""`wellread cluster`: an index in shards, on the nodes of a Ray cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wellread.cli import options
from wellread.cli.commands import Commands
from wellread.cli.progress import ticking
from wellread.cli.terminal import say, say_json
from wellread.core.private_files import at_home
from wellread.events import counted

if TYPE_CHECKING:
    from wellread.cluster.building import Order
    from wellread.cluster.on_ray import Deployed

app = Commands("Put an index on the nodes of a Ray cluster.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the deployed index.")]
Address = Annotated[str | None, typer.Option("--address", metavar="HOST:PORT", help="Ray's head; RAY_ADDRESS unless given.")]
Replicas = Annotated[int, typer.Option("--replicas", "-r", metavar="N", min=1, max=64, help="Copies of each shard in memory.")]


@app.command()
def split(
    index: Annotated[Path, typer.Argument(metavar="INDEX", help="Folder of an index.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the shards.")],
    shards: Annotated[int, typer.Option("--shards", "-n", metavar="N", min=1, max=10_000, help="How many.")],
    as_json: options.AsJson = False,
) -> None:
    """Make shards of an index that is there; nothing is embedded again.

    wellread cluster split my-index --output my-shards --shards 4
    """
    from wellread.cluster.reshard import shard_index

    with ticking(as_json) as ticker:
        made = asyncio.run(shard_index(index, output, shards, ticker))
    if as_json:
        say_json({"output": str(output), "shards": len(made.shards), "passages": made.passages})
    else:
        say(f"{counted(made.passages, 'passage', 'passages')} in {counted(len(made.shards), 'shard', 'shards')} in {output}")


@app.command()
def reshard(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a sharded index.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the new shards.")],
    shards: Annotated[int, typer.Option("--shards", "-n", metavar="N", min=1, max=10_000, help="How many.")],
    as_json: options.AsJson = False,
) -> None:
    """Make more shards, or fewer, of a sharded index; what is there stays as it is, and nothing is embedded again.

    With one shard more only the documents of the new one move. Interrupted, the same command goes on.

    wellread cluster reshard my-shards --output my-shards-5 --shards 5
    """
    from wellread.cluster.reshard import reshard as put_apart

    with ticking(as_json, go_on=f"{output} is unfinished; the same command goes on with it") as ticker:
        made, moved = asyncio.run(put_apart(folder, output, shards, ticker))
    if as_json:
        say_json({"output": str(output), "shards": len(made.shards), "passages": made.passages, "moved": moved})
    else:
        amount = f"{counted(made.passages, 'passage', 'passages')} in {counted(len(made.shards), 'shard', 'shards')} in {output}"
        say(f"{amount}; {moved} of them in another shard than before")


@app.command()
def publish(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a sharded index.")],
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="s3://bucket/path, gs://…, file:///path.")],
) -> None:
    """Copy a sharded index to where all nodes can fetch it, for clusters without a shared disk.

    wellread cluster publish my-shards s3://bucket/my-shards
    """
    from wellread.cluster.storage import publish as copy

    copy(folder, address)
    say(f"{folder} is at {address}")


@app.command()
def deploy(
    place: Annotated[str, typer.Argument(metavar="PLACE", help="Folder that all nodes see, or an address as s3://bucket/path.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What it is called: index:ray://NAME.")],
    replicas: Replicas = 2,
    evaluators: Annotated[int, typer.Option("--evaluators", metavar="N", min=0, help="Evaluators, one core each.")] = 0,
    address: Address = None,
    as_json: options.AsJson = False,
) -> None:
    """Start the replicas of each shard on different nodes, and wait until they can be searched.

    wellread cluster deploy my-shards --name notes --replicas 2
    wellread ask "…" --source index:ray://notes
    """
    from wellread.cluster import on_ray

    on_ray.connect(address)
    _tell(on_ray.deploy(_seen_by_all(place), name, replicas, evaluators), as_json)


@app.command()
def status(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Of one; all unless given.")] = None,
    address: Address = None,
    as_json: options.AsJson = False,
) -> None:
    """Say what is deployed, and on which nodes."""
    from wellread.cluster import on_ray

    on_ray.connect(address)
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
    replicas: Annotated[
        int | None, typer.Option("--replicas", "-r", metavar="N", min=1, max=64, help="Copies of each shard.")
    ] = None,
    evaluators: Annotated[int | None, typer.Option("--evaluators", metavar="N", min=0, help="Evaluators.")] = None,
    address: Address = None,
    as_json: options.AsJson = False,
) -> None:
    """Start or end replicas and evaluators; searches go on meanwhile.

    wellread cluster scale notes --replicas 3
    """
    from wellread.cluster import on_ray

    on_ray.connect(address)
    _tell(on_ray.scale(name, replicas, evaluators), as_json)


@app.command()
def stop(name: Name, address: Address = None) -> None:
    """End all replicas and evaluators of an index; its files stay."""
    from wellread.cluster import on_ray

    on_ray.connect(address)
    count = on_ray.stop(name)
    say(f"{name} is stopped: {counted(count, 'actor', 'actors')} ended" if count else f"{name} is not deployed here")


def build_on_ray(order: Order, output: str, address: str, *, verbose: bool, report: Path | None, as_json: bool) -> None:
    """`index build --ray`."""
    from wellread.cluster import on_ray
    from wellread.cluster.building import Told, build

    on_ray.connect(None if address == "auto" else address)
    told = Told()
    go_on = f"{output} is unfinished; the same command goes on with it"
    with ticking(as_json, told.unreadable, go_on=go_on, verbose=verbose, report=report) as ticker:
        made = build(_seen_by_all(output), order, ticker, told)
    if as_json:
        facts = {"passages": made.passages, "documents": told.documents, "shards": len(made.shards), "output": output}
        say_json({**facts, "unreadable": len(told.unreadable)})
    else:
        amount = f"{counted(made.passages, 'passage', 'passages')} of {counted(told.documents, 'document', 'documents')}"
        say(f"{amount} in {counted(len(made.shards), 'shard', 'shards')} in {output}")


def data_set_on_ray(order: Order, output: Path, address: str, as_json: bool) -> tuple[int, list[str]]:
    """`dataset create --ray`; the number of rows, and what was not read."""
    from wellread.cluster import on_ray
    from wellread.cluster.building import Told, data_set

    on_ray.connect(None if address == "auto" else address)
    told = Told()
    with ticking(as_json, told.unreadable, go_on=f"{output} is unfinished; the same command goes on with it") as ticker:
        return data_set(at_home(output).resolve(), order, ticker, told), told.unreadable


def _seen_by_all(place: str) -> str:
    """A place by a name that means the same on every node."""
    from wellread.cluster.storage import is_address

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
