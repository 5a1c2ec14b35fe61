"""`slack`: messages of a Slack workspace, through `search.messages`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from wellread.net.address import address, key
from wellread.net.payload import Payload
from wellread.net.service import Http, Manners, retry_after
from wellread.parameters import Seconds, fill, param
from wellread.protocols import Parts
from wellread.sources.hits import cleaned, hit
from wellread.sources.web import WebSource
from wellread.types import Hit, Query, Spec

_LINK = re.compile(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")
_MOST = 100
_KEY_TROUBLE = frozenset({"not_authed", "invalid_auth", "account_inactive", "token_revoked", "token_expired", "missing_scope"})
_EXPLAINED = {
    "not_allowed_token_type": "search needs a user token (xoxp-…), not a bot's",
    "missing_scope": "the token lacks search:read",
}


@dataclass(frozen=True, slots=True)
class Options:
    channel: str | None = param(None, "only messages in this channel")
    sort: Literal["score", "timestamp"] = param("score", "best or newest first")
    timeout: Seconds = param(15.0, "seconds for one request")
    base: str = param("https://slack.com", "address of the service")


def from_spec(spec: Spec, kit: Parts) -> Slack:
    """Messages of a Slack workspace."""
    options = fill(Options, spec.options, "source slack")
    base = address(options.base, "slack", "?base=https://slack.com")
    keys = {"Authorization": "Bearer " + key(kit, "slack", "SLACK_TOKEN", "SLACK_USER_TOKEN")}
    # The method is limited to some twenty calls a minute; Retry-After tells when it was too much.
    manners = Manners(timeout=options.timeout, concurrency=2, patience=30)
    return Slack(Http("slack", kit, manners, keys, "SLACK_TOKEN"), options, base.url)


class Slack(WebSource[Options]):
    """A message is a hit with its whole text."""

    hint = (
        "Messages that colleagues wrote to each other. Few words, as people write them in chat; from:@name, in:#channel, "
        "has:link narrow it down."
    )

    async def find(self, query: Query) -> Sequence[Hit]:
        params: dict[str, str | int] = {
            "query": self._narrowed(query),
            "count": min(query.limit, _MOST),
            "sort": self._options.sort,
            "sort_dir": "desc",
        }
        answer = await self._http.get(f"{self._base}/api/search.messages", params, check=self._check)
        hits = (_hit(match, rank) for rank, match in enumerate(answer.items("messages", "matches")))
        return (await cleaned(hits))[: query.limit]

    def _narrowed(self, query: Query) -> str:
        parts = [" ".join(query.text.split())]
        if self._options.channel:
            parts.append(f"in:#{self._options.channel.lstrip('#')}")
        # Slack's bounds leave out the day they name.
        if since := _day(query.since, -1):
            parts.append(f"after:{since}")
        if until := _day(query.until, 1):
            parts.append(f"before:{until}")
        return " ".join(parts)

    def _check(self, answer: Payload, headers: Mapping[str, str]) -> None:
        if answer.at("ok").value is True:
            return
        code = answer.text("error") or "unknown_error"
        if code in ("ratelimited", "rate_limited"):
            raise self._http.busy("too many requests", retry_after(headers))
        message = f"{_EXPLAINED[code]} ({code})" if code in _EXPLAINED else code
        raise self._http.error(message + ("; is SLACK_TOKEN right?" if code in _KEY_TROUBLE else ""))


def _day(value: str | None, shift: int) -> str | None:
    try:
        return (date.fromisoformat((value or "")[:10]) + timedelta(days=shift)).isoformat()
    except (ValueError, OverflowError):  # the first and the last day of all have no other beside them
        return None


def _hit(match: Payload, rank: int) -> Hit | None:
    text = _words(match.text("text"))
    channel, author = match.text("channel", "name"), match.text("username")
    return hit(
        "slack",
        rank,
        title=f"{author or 'someone'} in #{channel}" if channel else author,
        url=match.text("permalink"),
        snippet=text[:500],
        text=text or None,
        published=match.text("ts"),
        score=match.number("score"),
        id=match.text("permalink") or match.text("iid"),
    )


def _words(text: str) -> str:
    """Slack's own markup as words: links by their label, people and channels by their name."""

    def spelled(found: re.Match[str]) -> str:
        kind, target, label = found[1], found[2], found[3]
        return f"{kind if kind != '!' else '@'}{label or target}" if kind else (label or target)

    return _LINK.sub(spelled, text)
