"""Commands and groups of commands, with a help text that shows what is typed and nothing else; flags that several of them share,
and what these make together: settings, parameters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from wellread.cli import completion
from wellread.core.values import frozen
from wellread.errors import UsageError

if TYPE_CHECKING:
    from wellread.settings import Settings


class _Coercion:
    """Type coercion of what was typed; Typer's own way, which loads pydantic, only where text is not enough."""

    def __init__(self, typers: Callable[[], Any]) -> None:
        self._typers = typers

    def __call__(self) -> _Coercion:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None or param.type_descriptor.annotation in (str, list[str]):
            many = param.multiple or param.nargs == -1
            return list(value or ()) if many else value
        return self._typers().coerce(value, param=param, ctx=ctx)


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> Any:
        return _shown(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.strip("{}").replace("}...", "...") for piece in super().collect_usage_pieces(ctx)]


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> Any:
        return _shown(super().get_params(ctx))


def _shown(parameters: list[Any]) -> list[Any]:
    """Arguments by their name alone, `--help` as the plain flag that it is, values read without pydantic where that can be."""
    for parameter in parameters:
        if not isinstance(typers := getattr(parameter, "get_runtime_param", None), _Coercion | None):
            parameter.get_runtime_param = _Coercion(typers)
        if isinstance(parameter, TyperArgument):
            parameter.display_type_rich = lambda ctx: None  # in place of `<str>`  # pyright: ignore[reportAttributeAccessIssue]
        elif "--help" in parameter.opts:
            parameter.metavar = ""
    return parameters


class Commands(typer.Typer):
    """A group of commands; called alone it shows its help."""

    def __init__(self, help: str, **more: Any) -> None:
        super().__init__(
            cls=_Group, help=help, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, **more
        )

    def command(self, name: str | None = None, **more: Any) -> Callable[[Any], Any]:
        return super().command(name, cls=_Command, **more)


def flag(names: str, metavar: str | None, help: str, default: Any = None, **more: Any) -> Any:
    """A flag of a command, as the default of its parameter: `limit: int = flag("--limit -n", "N", "How many.", 10, min=1)`."""
    return typer.Option(default, *names.split(), metavar=metavar, help=help, **more)


_KINDS = "How to answer: auto, quote, guided, iterative, fanout, react, corrective, digest, research."
_PLACES = "What to search: library, wikipedia, FOLDER, FILE, index:FOLDER … (wellread plugins sources). May be repeated."
_MODELS = "Language model: anthropic:NAME, openai:NAME, openai:NAME@URL, ollama:NAME, local, none."
_EFFORTS = "How much is read closely: low (nothing), normal, high (a model also checks its own answer)."
STRATEGY = flag("--strategy -s", "NAME", _KINDS, show_default=False, autocompletion=completion.strategies)
SOURCES = flag("--source", "SPEC", _PLACES, show_default=False, autocompletion=completion.sources)
MODEL = flag("--model -m", "SPEC", _MODELS, autocompletion=completion.models)
EFFORT = flag("--effort", "LEVEL", _EFFORTS, autocompletion=completion.efforts)
HOPS = flag("--hops", "N", "2: every search also follows what its first passages lead to.", min=1, max=2)
PARAMS = flag(
    "--param -p", "NAME=VALUE", "A parameter of the strategy, name=value. May be repeated.", autocompletion=completion.parameters
)
Question = Annotated[
    list[str],
    typer.Argument(metavar="QUESTION", help="What you want to know, in one or more words; - reads it from standard input."),
]
Words = Annotated[list[str], typer.Argument(metavar="QUERY", help="What to look for, in one or more words.")]
AsEvents = Annotated[bool, typer.Option("--events", metavar="", help="Print every event as one JSON object a line.")]
AsJson = Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON object on stdout and nothing else there.")]
NoCache = Annotated[bool, typer.Option("--no-cache", metavar="", help="Take nothing from the HTTP cache.")]

_fallback = flag("--fallback", "SPEC", "Where corrective looks when the index does not know.", autocompletion=completion.sources)
_limit = partial(flag, min=0, rich_help_panel="Limits")
# The flags of every command that answers, in the order of their help: type and default.
_ANSWERING: Mapping[str, tuple[Any, Any]] = {
    "strategy": (str | None, STRATEGY),
    "source": (list[str] | None, SOURCES),
    "fallback": (str | None, _fallback),
    "model": (str | None, MODEL),
    "effort": (str | None, EFFORT),
    "hops": (int | None, HOPS),
    "param": (list[str] | None, PARAMS),
    "no_cache": (NoCache, False),
    "max_searches": (int | None, _limit("--max-searches", "N", "Outer limit on searches.")),
    "max_tokens": (int | None, _limit("--max-tokens", "N", "Outer limit on tokens, in and out together.")),
    "max_seconds": (float | None, _limit("--max-seconds", "S", "Outer limit on time (300 unless set).")),
    "max_cost": (float | None, _limit("--max-cost", "USD", "Outer limit on dollars.")),
}


@frozen
class Chosen:
    """Settings and parameters that these flags have chosen."""

    settings: Settings
    params: dict[str, object]
    strategy: str | None  # as given on the command line


def answering(
    *, without: Sequence[str] = (), seconds: float | None = None, like: Callable[..., None] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command these flags, in the place of its parameter `chosen`, which it gets made of them. `seconds` are those that
    it has unless told otherwise, where they are not those of the settings. Its own are those of a command that it is `like`."""
    taken = {name: given for name, given in _ANSWERING.items() if name not in without}

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(**given: Any) -> None:
            given["max_seconds"] = seconds if given["max_seconds"] is None else given["max_seconds"]
            flags = {name: given.pop(name) for name in taken}
            pairs, strategy = parameters(flags.pop("param", None)), flags.get("strategy")
            made = load(sources=flags.pop("source"), no_cache=bool(flags.pop("no_cache")), **flags)
            command(chosen=Chosen(made, pairs, strategy), **given)

        flags = [Parameter(name, Parameter.KEYWORD_ONLY, default=value, annotation=kind) for name, (kind, value) in taken.items()]
        taking = signature(getattr(like, "__wrapped__", command), eval_str=True).parameters
        own = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in taking.values()]
        place = list(taking).index("chosen")
        cast("Any", called).__signature__ = Signature([*own[:place], *flags, *own[place + 1 :]])
        return called

    return decorated


def asked(words: Sequence[str]) -> str:
    """The question, with or without quotes around it; `-` stands for standard input."""
    return sys.stdin.read() if list(words) == ["-"] else " ".join(words)


def parameters(pairs: list[str] | None, flag: str = "--param") -> dict[str, object]:
    """`["top_k=5"]` → `{"top_k": "5"}`."""
    found: dict[str, object] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{flag} {pair!r}: write name=value")
        found[name.strip()] = value
    return found


def load(*, sources: list[str] | None = None, no_cache: bool = False, **flags: object) -> Settings:
    """Settings with these flags on top; a flag that is None was not given."""
    from wellread import settings

    return settings.load({**flags, "sources": tuple(sources) if sources else None, "cache": False if no_cache else None})
