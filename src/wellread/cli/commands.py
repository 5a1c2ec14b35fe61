"""Commands and groups of commands, with a help text that shows what is typed and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup


class _Coercion:
    """What was typed as what the command takes; Typer's own way, which loads pydantic, only where text is not enough."""

    def __init__(self, typers: Callable[[], Any]) -> None:
        self._typers = typers

    def __call__(self) -> _Coercion:
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None or param.type_descriptor.annotation in (str, list[str]):
            many = param.multiple or param.nargs == -1
            return list(value or ()) if many else value
        return self._typers().coerce(value, param=param, ctx=ctx)


def _no_type(ctx: object) -> None:
    """In place of `<str>` beside the name of an argument."""


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
            parameter.display_type_rich = _no_type  # pyright: ignore[reportAttributeAccessIssue]
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
