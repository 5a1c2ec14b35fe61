"""Exceptions: everything that can go wrong, as one tree.

    WellreadError
    ├── UsageError            what was asked makes no sense: question, flag, spec, parameter  (exit status 2)
    │   └── SettingsError     a broken or unknown setting in the file or the environment
    ├── MissingExtra          an optional part is not installed; says what to install
    ├── DamagedFile           weights, index or recording that fail their check
    ├── BudgetExhausted       a limit was reached; strategies answer from what they have
    ├── SourceError           a search service failed, with its own words
    │   ├── SourceBusy        … and asks to come back later (rate limit, overload)
    │   ├── Unreachable       … because nobody answers there; a run does not ask again
    │   └── Withheld          … because its query holds what only private sources said, and was not sent
    ├── ReadError             a page or file could not be read
    │   ├── Blocked           … because the guard or robots.txt forbids it
    │   ├── Scanned           … because there is a picture where a text should be
    │   └── TooCostly         … in the time and memory that a document may take
    ├── EmbedderError         the embedder failed
    ├── IndexFault            a local index cannot be opened, written or searched
    ├── ModelError            a language model failed, with the provider's own words
    │   ├── WrongKey          no key, or a key the provider refuses
    │   ├── UnknownModel      no model of that name there
    │   ├── ContextTooLong    the prompt does not fit the model's window
    │   ├── ModelBusy         rate limit or overload, after the retries
    │   ├── BrokenStream      the connection broke while the model was speaking
    │   └── BadOutput         the model's words could not be understood, even after a repair
    ├── CalculationError      an expression cannot be calculated
    └── ReplayMismatch        a replayed run asked for something that was not recorded

Errors carry facts; they never log and never format for a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec

from wellread.core.logins import without_logins
from wellread.core.unicode_safety import encodable


class WellreadError(Exception):
    """The root. `str(error)` is one line a person can act on."""

    def __str__(self) -> str:
        """Services say why in words of their own; what is told of a source or a model may name its address."""
        return without_logins(encodable(super().__str__()))


class UsageError(WellreadError):
    """The request itself is wrong."""


class SettingsError(UsageError):
    """A setting in the file or the environment is wrong."""


class MissingExtra(WellreadError):
    """An optional part is needed and not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f'{what} needs an optional part: pip install "wellread[{extra}]"')
        self.extra = extra


@contextmanager
def optional(what: str, extra: str, *later: str) -> Generator[None]:
    """Around imports of an optional dependency: where it is not installed, the error names the line that installs it. So it does
    where packages are not that are imported `later`, when it is too late to be told."""
    try:
        yield
    except ImportError:
        raise MissingExtra(what, extra) from None
    if not all(map(find_spec, later)):
        raise MissingExtra(what, extra)


class DamagedFile(WellreadError):
    """A file that wellread wrote or shipped is not what it should be."""


class BudgetExhausted(WellreadError):
    """A limit of the run was reached."""

    def __init__(self, limit: str) -> None:
        super().__init__(f"the limit on {limit} is reached")
        self.limit = limit


class SourceError(WellreadError):
    """A search service failed."""

    def __init__(self, source: str, message: str) -> None:
        super().__init__(f"{source}: {message}")
        self.source = source
        self.message = message


class SourceBusy(SourceError):
    """A search service asks to come back later."""

    def __init__(self, source: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(source, message)
        self.retry_after = retry_after


class Unreachable(SourceError):
    """Nobody answers where a search service should be."""


class Withheld(SourceError):
    """A query was not sent, because a service of others would have learned from it what private sources said."""


class ReadError(WellreadError):
    """A page or file could not be read."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url}: {reason}")
        self.url = url
        self.reason = reason


class Blocked(ReadError):
    """The guard or robots.txt forbids this address."""


class Scanned(ReadError):
    """There is a picture where a text should be."""


class TooCostly(ReadError):
    """Reading it takes more time or memory than a document may take."""


class EmbedderError(WellreadError):
    """The embedder failed."""


class IndexFault(WellreadError):
    """A local index cannot be opened, written or searched."""


class ModelError(WellreadError):
    """A language model failed. The tokens are those of replies that broke off, which are billed: an estimate."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __init__(self, model: str, message: str) -> None:
        super().__init__(f"{model}: {message}")
        self.model = model
        self.message = message


class WrongKey(ModelError):
    """No key, or one that the provider refuses."""


class UnknownModel(ModelError):
    """The provider has no model of that name."""


class ContextTooLong(ModelError):
    """The prompt does not fit."""


class ModelBusy(ModelError):
    """Rate limit or overload, still there after the retries."""

    def __init__(self, model: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(model, message)
        self.retry_after = retry_after


class BrokenStream(ModelError):
    """The connection broke while the model was speaking."""


class BadOutput(ModelError):
    """The model's words could not be understood."""


class CalculationError(WellreadError):
    """The expression cannot be calculated; the message says why."""


class ReplayMismatch(WellreadError):
    """The replayed run departs from its recording; `diff` shows what was recorded and what was asked now."""

    def __init__(self, message: str, diff: str = "") -> None:
        super().__init__(message)
        self.diff = diff


def first_line(problem: Exception) -> str:
    """A library's error message, in one line."""
    return (str(problem).strip() or type(problem).__name__).split("\n")[0][:300]


@contextmanager
def os_errors(error: Callable[[str], WellreadError], what: str, *others: type[Exception]) -> Generator[None]:
    """Around work on files: what the system refuses (a full disk, a closed folder) becomes `error`, with what could not be done
    and the reason in one line. `others` are what else may be raised by such work."""
    try:
        yield
    except (OSError, *others) as problem:
        raise error(f"{what}: {getattr(problem, 'strerror', None) or problem}") from problem


@contextmanager
def panics_as(error: Callable[[str], WellreadError], doing: str) -> Generator[None]:
    """Around calls of libraries written in Rust (tantivy, tokenizers, pydantic-monty, nh3): they panic where others raise, with a
    `BaseException` that no handler expects. It becomes `error`, which is told what was being done."""
    try:
        yield
    except BaseException as problem:
        # Each library has a class of its own by this name, and none can be imported.
        if type(problem).__name__ != "PanicException":
            raise
        raise error(f"{doing}: a library has failed ({str(problem)[:200]})") from problem
