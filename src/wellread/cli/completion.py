"""`wellread completion`: what a shell offers when Tab is pressed, names of strategies, sources and parameters included.

All three shells ask the command itself, in the words of typer's protocol for fish: the line so far in, one value and its
help on each line out. Names come from the registered entry points; only for `--param` a strategy is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from wellread.cli.terminal import say
from wellread.errors import UsageError

if TYPE_CHECKING:
    from wellread.parameters import Parameter
    from wellread.plugins import Kind

_ASK = "_WELLREAD_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=get-args"
_SCRIPTS = {
    # bash parts words at : and = too, and puts only the last part of a word in their place
    "bash": f"""_wellread_completion() {{
    local line="${{COMP_LINE:0:COMP_POINT}}" value
    local word="${{line##*[[:space:]]}}"
    local cut="${{word%"${{word##*[:=]}}"}}"
    COMPREPLY=()
    while IFS=$'\\t' read -r value _; do
        [[ $value == "$word"* ]] && COMPREPLY+=("${{value#"$cut"}}")
    done < <({_ASK} _TYPER_COMPLETE_ARGS="$line" "$1" 2>/dev/null)
    [[ ${{#COMPREPLY[@]}} -eq 1 && ${{COMPREPLY[0]}} == *[:=] ]] && compopt -o nospace
    return 0
}}
complete -o bashdefault -o default -F _wellread_completion wellread""",
    "zsh": f"""#compdef wellread
_wellread() {{
    local -a values shown
    local value help
    while IFS=$'\\t' read -r value help; do
        values+=("$value"); shown+=("$value${{help:+  $help}}")
    done < <({_ASK} _TYPER_COMPLETE_ARGS="${{words[1,$CURRENT]}}" ${{words[1]}} 2>/dev/null)
    if (( $#values )); then
        if [[ ${{values[1]}} == *[:=] ]]; then compadd -S '' -l -d shown -a values
        else compadd -l -d shown -a values; fi
    else
        compset -P '*:'
        _files
    fi
}}
compdef _wellread wellread""",
    "fish": f"""function __wellread_values
    env {_ASK} _TYPER_COMPLETE_ARGS=(commandline -cp | string collect) wellread 2>/dev/null
end
complete --command wellread --keep-order --arguments '(__wellread_values)'""",
}


def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.", autocompletion=lambda: list(_SCRIPTS))],
) -> None:
    """Print the completion for a shell; put the line for yours into its start-up file.

    bash: eval "$(wellread completion bash)"
    zsh: eval "$(wellread completion zsh)"
    fish: wellread completion fish | source
    """
    if shell not in _SCRIPTS:
        raise UsageError(f"there is no completion for {shell!r}; there is one for: {', '.join(_SCRIPTS)}")
    say(_SCRIPTS[shell])


def strategies() -> list[str]:
    return _names("strategies")


def sources() -> list[str]:
    """Names; where none begins like what is typed the shell offers files."""
    with_place = {"index", "files", "urls", "mediawiki", "datasette", "searxng", "elasticsearch"}
    return [f"{name}:" if name in with_place else name for name in _names("sources")]


def models() -> list[str]:
    known = sorted(_names("models"), key="local".__eq__)  # which alone stands without an argument
    return [*(name if name == "local" else f"{name}:" for name in known), "none"]


def efforts() -> list[str]:
    from wellread.core.effort import Effort

    return list(get_args(Effort))


def kinds() -> list[str]:
    """Completions for `wellread plugins`."""
    from wellread.plugins import KINDS

    return sorted({*KINDS, *(name for kind in KINDS for name in _names(kind))})


def _names(kind: Kind) -> list[str]:
    from wellread import plugins

    return plugins.names(kind)


def parameters(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Parameters of the strategies that the line names, with their help; after `name=` the values, where they can be counted."""
    from wellread import plugins
    from wellread.parameters import describe

    given: Any = ctx.params.get("strategy") or ["quote"]
    chosen = cast("list[str]", [given] if isinstance(given, str) else given)
    known = [plugins.load("strategies", name) for name in chosen if name in plugins.names("strategies")]
    every = [one for strategy in known for one in describe(cast("Any", strategy).Params)]
    return list(dict.fromkeys(pair for one in every for pair in _pairs(one, incomplete)))


def _pairs(one: Parameter, incomplete: str) -> list[tuple[str, str]]:
    if not incomplete.startswith(f"{one.name}="):
        return [(f"{one.name}=", one.help)]
    values = ("true", "false") if one.kind == "bool" else one.kind.split("|")
    return [(f"{one.name}={value}", "") for value in values] if len(values) > 1 else []
