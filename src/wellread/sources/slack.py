"""`slack`: messages of a Slack workspace, through `search.messages`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from wellread.net.payload import Payload
from wellread.net.service import Manners, retry_after
from wellread.parameters import param
from wellread.sources.hits import hit
from wellread.sources.service import Key, Service, VendorOptions
from wellread.types import Hit, Query

_LINK = re.compile(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")
_KEY_TROUBLE = frozenset({"not_authed", "invalid_auth", "account_inactive", "token_revoked", "token_expired", "missing_scope"})
_EXPLAINED = {
    "not_allowed_token_type": "search needs a user token (xoxp-…), not a bot's",
    "missing_scope": "the token lacks search:read",
}


@dataclass(frozen=True, slots=True)
class Options(VendorOptions):
    base: str = param("https://slack.com", "address of the service")
    channel: str | None = param(None, "only messages in this channel")
    sort: Literal["score", "timestamp"] = param("score", "best or newest first", sent="sort")


class Slack(Service[Options]):
    """Messages of a Slack workspace."""

    public = False
    key = Key(("SLACK_TOKEN", "SLACK_USER_TOKEN"))
    # The method is limited to some twenty calls a minute; Retry-After tells when it was too much.
    manners = Manners(concurrency=2, patience=30)
    path, results = "/api/search.messages", ("messages", "matches")
    page_size = 100
    hint = (
        "Messages that colleagues wrote to each other. Few words, as people write them in chat; from:@name, in:#channel, "
        "has:link narrow it down."
    )

    def asks(self, query: Query, number: int) -> dict[str, object]:
        return {
            "query": self._narrowed(query),
            "count": min(query.limit, self.page_size),
            "sort_dir": "desc",
        }

    def _narrowed(self, query: Query) -> str:
        parts = [" ".join(query.text.split())]
        if self.options.channel:
            parts.append(f"in:#{self.options.channel.lstrip('#')}")
        # Slack's bounds leave out the day they name.
        if since := _day(query.since, -1):
            parts.append(f"after:{since}")
        if until := _day(query.until, 1):
            parts.append(f"before:{until}")
        return " ".join(parts)

    def check(self, answer: Payload, headers: Mapping[str, str]) -> None:
        if answer.at("ok").value is True:
            return
        code = answer.text("error") or "unknown_error"
        if code in ("ratelimited", "rate_limited"):
            raise self.http.busy("too many requests", retry_after(headers))
        message = f"{_EXPLAINED[code]} ({code})" if code in _EXPLAINED else code
        raise self.http.error(message + ("; is SLACK_TOKEN right?" if code in _KEY_TROUBLE else ""))

    def hit(self, item: Payload) -> Hit | None:
        text = _words(item.text("text"))
        channel, author = item.text("channel", "name"), item.text("username")
        return hit(
            title=f"{author or 'someone'} in #{channel}" if channel else author,
            url=item.text("permalink"),
            snippet=text[:500],
            text=text or None,
            published=item.text("ts"),
            score=item.number("score"),
            id=item.text("permalink") or item.text("iid"),
        )


def _day(value: str | None, shift: int) -> str | None:
    try:
        return (date.fromisoformat((value or "")[:10]) + timedelta(days=shift)).isoformat()
    except (ValueError, OverflowError):  # the first and the last day of all have no other beside them
        return None


def _words(text: str) -> str:
    """Slack's own markup as words: links by their label, people and channels by their name."""

    def spelled(found: re.Match[str]) -> str:
        kind, target, label = found[1], found[2], found[3]
        return f"{kind if kind != '!' else '@'}{label or target}" if kind else (label or target)

    return _LINK.sub(spelled, text)
