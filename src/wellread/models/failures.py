"""Error translation, of providers' errors to ours: which kind, in the provider's own words, and whether trying again helps."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
    UserError,
)

from wellread.errors import BrokenStream, ContextTooLong, ModelBusy, ModelError, UnknownModel, WrongKey
from wellread.net.payload import Payload, complaint, told
from wellread.net.transport import TooMuch

PATIENCE = 30.0  # seconds; a provider that asks for a longer pause is reported, not waited for
_TOO_LONG = re.compile(
    r"context (?:size|length|window)|prompt is too long|input is too long|too many (?:input )?tokens|exceed_context_size|"
    r"reduce the length of|request_too_large",
    re.IGNORECASE,
)
_WINDOW = re.compile(
    r"(?:maximum (?:context )?(?:length|window)(?: is| of)?|context size \(|tokens? >|window of)\s*(\d{3,9})", re.IGNORECASE
)
# How a refusal names each thing that can be left out; the surest words first.
_NAMED = {
    "continue_final_message": r"continue_final_message|add_generation_prompt",
    "stream_options": r"stream_options|include_usage",
    "prefill": r"prefill|assistant message|(?:last|final) (?:message|role)|end with a user",
    "schema": r"response_format|json_schema|output_config|output_format|structured output|grammar",
    "tools": r"\btools?\b|tool_choice|function call",
    "thinking": r"reasoning|thinking",
    "stop_sequences": r"\bstop\b|stop_sequences?",
    "max_tokens": r"max_(?:completion_|output_)?tokens",
    "temperature": r"temperature",
}
_FINAL: tuple[tuple[type[ModelAPIError], type[ModelError], str], ...] = (
    (ModelQuotaExceededError, ModelError, "the account is out of credit: {}"),
    (ModelAuthenticationError, WrongKey, "{}"),
    (ModelNotFoundError, UnknownModel, "{}"),
)


class Refused(Exception):
    """The provider refuses one parameter; the request can go without."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class Failure(Exception):
    """Our error, and whether to try again: no, yes, or yes after so many seconds."""

    def __init__(self, error: ModelError, again: bool | float = False, window: int | None = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.again = again
        self.window = window  # the context window, when the provider tells it


@dataclass(frozen=True, slots=True)
class Where:
    """A model's name and address for error messages, and the secrets that must not be in them."""

    model: str
    address: str | None = None
    loopback: bool = False
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Where({self.model!r})"

    def clean(self, text: str) -> str:
        return told(text, self.secrets)


def translate(problem: Exception, where: Where, sent: frozenset[str], *, speaking: bool) -> Failure | Refused:
    """`sent` are the parameters that were used, `speaking`: the reply had begun."""
    if beyond := _too_much(problem):
        return Failure(BrokenStream(where.model, where.clean(str(beyond))))
    words = where.clean(_words(problem))
    if isinstance(problem, ModelAPIError):
        return _api(problem, where, words, frozenset() if speaking else sent, speaking=speaking)
    if isinstance(problem, UserError):
        return Failure(ModelError(where.model, words))
    # What remains is a reply that is no reply: not JSON, no such event, cut in the middle of one.
    return Failure(BrokenStream(where.model, f"the reply could not be read ({words})"), again=True)


def _api(problem: ModelAPIError, where: Where, words: str, sent: frozenset[str], *, speaking: bool) -> Failure | Refused:
    name, status, raw, suggested = where.model, 0, words, None
    if isinstance(problem, ModelHTTPError):
        status, suggested = problem.status_code, problem.suggested_model_id
        raw = f"{words} {problem.provider_error_type or ''} {problem.provider_error_code or ''}"
    rejected = status in (400, 413, 422)
    too_long = rejected and (status == 413 or _TOO_LONG.search(raw))
    if too_long or isinstance(problem, ModelContextWindowExceededError):
        return Failure(ContextTooLong(name, words), window=_window(problem.body, words))
    for kind, error, form in _FINAL:
        if isinstance(problem, kind):
            return Failure(error(name, form.format(words) + (f" (did you mean {suggested}?)" if suggested else "")))
    if rejected:
        named = (what for what, pattern in _NAMED.items() if what in sent and re.search(pattern, raw, re.IGNORECASE))
        what = next(named, None)
        return Refused(what) if what else Failure(ModelError(name, words))
    if isinstance(problem, ModelRateLimitError | ModelUnavailableError):
        return Failure(ModelBusy(name, words, problem.retry_after), again=_again(problem.retry_after))
    if isinstance(problem, ModelServerError):
        return Failure(ModelError(name, f"the provider failed: {words}"), again=_again(problem.retry_after))
    if isinstance(problem, ModelConnectionError) and not speaking:
        return _unreachable(problem, where, words)
    if 400 <= status < 500:
        return Failure(ModelError(name, words))
    return Failure(BrokenStream(name, f"the reply broke off ({words})"), again=True)


def _again(wait: float | None) -> bool | float:
    """Whether to try again, and after how many seconds if the provider names them."""
    return wait or True if wait is None or wait <= PATIENCE else False


def _unreachable(problem: ModelConnectionError, where: Where, words: str) -> Failure:
    place = where.address or "the provider"
    if isinstance(problem, ModelTimeoutError):
        return Failure(ModelError(where.model, f"no reply from {place} in time"), again=True)
    hint = ": is the server running?" if where.loopback else ""
    # A closed port on this machine stays closed; a network may come back.
    again = not (where.loopback and problem.phase == "connect")
    return Failure(ModelError(where.model, f"cannot reach {place} ({words}){hint}"), again=again)


def _too_much(problem: BaseException | None) -> TooMuch | None:
    """The client's own limit, under what libraries made of it. Trying again would bring as much again."""
    while problem is not None and not isinstance(problem, TooMuch):
        problem = problem.__cause__ or problem.__context__
    return problem


def _words(problem: Exception) -> str:
    """The provider's own words."""
    if isinstance(problem, ModelAPIError | UnexpectedModelBehavior):
        return complaint(Payload(problem.body)) or problem.message
    return str(problem) or type(problem).__name__


def _window(body: object, words: str) -> int | None:
    """The size of the window, from llama.cpp's own field or from the sentence."""
    said = Payload(body)
    if size := said.number("error", "n_ctx") or said.number("n_ctx"):
        return int(size)
    found = _WINDOW.search(words)
    return int(found.group(1)) if found else None
