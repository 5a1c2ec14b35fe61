"""Server settings: the `[server]` table, two `WELLREAD_` variables and the flags of `serve`."""

from __future__ import annotations

import hashlib
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from wellread.core.effort import Effort
from wellread.core.private_files import at_home
from wellread.errors import SettingsError, UsageError
from wellread.net.address import is_loopback
from wellread.parameters import Length, ModelSpec, Range, SourceSpec, fill, param
from wellread.settings import Settings

_SHORTEST_TOKEN = 16
DATABASES = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The `[server]` table. Limits hold for every client; none of them can raise its own."""

    host: str = param("127.0.0.1", "address to listen on; any but a loopback one needs a token")
    port: Annotated[int, Range(0, 65535)] = param(8000, "port to listen on")
    token: str | None = field(default=None, repr=False, metadata={"help": "what clients must show; better in WELLREAD_TOKEN"})
    history: str | None = field(
        default=None,
        repr=False,  # its address may hold a password
        metadata={"help": "file of the history, in the user's data folder if not set; or the address of a PostgreSQL database"},
    )
    workers: Annotated[int, Range(1, 256)] = param(1, "processes behind the one address; more than one need a PostgreSQL history")
    verbose: bool = param(False, "log every request to a terminal, too; into a file all lines go in any case")
    retention_days: Annotated[int, Range(0, 100_000)] = param(90, "days that finished runs are kept; 0 keeps them for ever")
    keep_api: bool = param(True, "keep questions that come by /api/ask, /v1 and MCP in the history too, marked as such")
    allowed_hosts: tuple[str, ...] = param((), "names by which browsers may reach the server (answers.example.org)")
    sources: tuple[SourceSpec, ...] = param((), "sources clients may choose from, besides the default one")
    models: tuple[ModelSpec, ...] = param((), "models clients may choose from, besides the default one")
    max_effort: Effort = param(
        "high", "the most effort that clients may ask for; without a word of theirs it is the setting effort"
    )
    unknown_models: Literal["refuse", "default"] = param(
        "refuse", "model names that /v1 does not know: refuse and list those there are, or answer with the default strategy"
    )
    max_body: Annotated[int, Range(1, 1_000_000_000)] = param(256_000, "bytes of a request's body at most")
    max_question: Length = param(4_000, "characters of a question at most")
    max_running: Annotated[int, Range(1, 10_000)] = param(32, "runs at once")
    max_queued: Annotated[int, Range(0, 10_000)] = param(64, "runs that wait for their turn; more are sent away with 429")
    max_per_client: Annotated[int, Range(1, 10_000)] = param(8, "runs of one client, running and waiting")
    max_searching: Annotated[int, Range(1, 10_000)] = param(16, "plain searches and page readings at once")
    stop_seconds: Annotated[float, Range(0, 3600)] = param(
        10.0, "seconds that running answers get to finish when the server stops"
    )
    proxy: bool = param(False, "believe X-Forwarded-For and X-Forwarded-Proto of the proxies")
    proxies: tuple[str, ...] = param(("127.0.0.1", "::1"), "addresses or networks of the proxies that are believed")
    user_header: str | None = param(
        None, "header in which the proxies name who asks (X-Forwarded-Email): each gets a history and collections of their own"
    )
    setup: bool = param(True, "a page for the settings, where nobody but this machine can come and no token is asked for")
    collections: bool | None = param(
        None,
        "take documents in the page; unless set, where only this machine can come without a token, or users have names",
    )
    folders: tuple[str, ...] = param(
        (), "folders of this machine that the page may read documents from, and those inside them; on loopback alone"
    )
    max_collections: Annotated[int, Range(1, 10_000)] = param(50, "collections of documents at most")
    max_documents: Annotated[int, Range(1, 1_000_000)] = param(2_000, "documents of one collection at most")
    max_document: Annotated[int, Range(1, 200_000_000)] = param(50_000_000, "bytes of one document at most")
    max_upload: Annotated[int, Range(1, 100_000_000_000)] = param(500_000_000, "bytes of documents sent at once at most")
    max_stored: Annotated[int, Range(1, 100_000_000_000_000)] = param(2_000_000_000, "bytes of all documents sent at most")

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    @property
    def private(self) -> bool:
        """Whether whoever comes is at this machine, as far as we know: nothing stands before the server, no name leads to it."""
        return self.local and self.token is None and not self.proxied and not self.allowed_hosts

    @property
    def proxied(self) -> bool:
        return self.proxy or self.user_header is not None

    @property
    def has_settings(self) -> bool:
        """Whether there is a page for the settings."""
        return self.setup and self.private

    @property
    def takes_documents(self) -> bool:
        return self.private or self.user_header is not None if self.collections is None else self.collections

    @property
    def readable_folders(self) -> tuple[str, ...]:
        """Folders of this machine that may be added by their path."""
        return self.folders if self.takes_documents and self.local else ()

    def check(self) -> None:
        """Refuse to be open to a network without a token, or with a guessable one."""
        if self.user_header is not None and (self.workers > 1 or (self.history or "").startswith(DATABASES)):
            raise UsageError("user_header gives each user a file of history: it needs one process, and none in PostgreSQL")
        for network in self.proxies:
            try:
                ipaddress.ip_network(network)
            except ValueError as problem:
                raise UsageError(f"proxies: {problem}") from None
        if self.token is None and not self.local and self.user_header is None:
            raise UsageError(
                f"on {self.host} others could use this server: give a token with WELLREAD_TOKEN or --token, "
                "or listen on 127.0.0.1"
            )
        if self.token is not None and len(self.token) < _SHORTEST_TOKEN:
            raise UsageError(f"the token is too short: at least {_SHORTEST_TOKEN} characters, please")


def load(settings: Settings, flags: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ) -> ServerOptions:
    """Flags over environment over the table over defaults."""
    try:
        options = fill(ServerOptions, settings.server, "[server]")
    except UsageError as problem:
        raise SettingsError(str(problem)) from problem
    said = {name: environ.get(f"WELLREAD_{name.upper()}", "").strip() or None for name in ("token", "history")}
    given: dict[str, Any] = {name: value for name, value in (*said.items(), *(flags or {}).items()) if value is not None}
    options = replace(options, **given)
    bracketed = options.host.startswith("[") and options.host.endswith("]")  # as it stands in addresses
    return replace(options, host=options.host[1:-1]) if bracketed else options


def history_place(options: ServerOptions) -> Path | str:
    """Where the history is, or will be: a file, or the address of a database."""
    if options.history:
        return options.history if options.history.startswith(DATABASES) else at_home(options.history)
    return _data_folder() / "history.sqlite"


def collections_path(options: ServerOptions) -> Path:
    """Where documents that were sent lie with their indexes: beside the history, or in the user's data folder."""
    place = history_place(options)
    return (place.parent if isinstance(place, Path) else _data_folder()) / "collections"


def account_path(options: ServerOptions, user: str) -> Path:
    """Where one user's history and collections are, beside the server's own; names of users may hold anything."""
    return collections_path(options).with_name("users") / hashlib.sha256(user.encode()).hexdigest()[:32]


def _data_folder() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("wellread"))
