"""HTML page of the settings, for whoever runs the server on this machine. What is saved goes into the settings file."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from wellread import plugins
from wellread import settings as settings_module
from wellread.core import keychain
from wellread.core.effort import Effort
from wellread.core.private_files import private_folder, replace_private
from wellread.errors import SettingsError, UsageError, os_errors
from wellread.models.default import available
from wellread.net.address import is_loopback
from wellread.parameters import fill, public
from wellread.server import diagnosis, service
from wellread.server.diagnosis import Finding
from wellread.server.menu import label, labels
from wellread.server.service import Service
from wellread.server.viewer import NotThere
from wellread.server.web.controls import THOROUGH
from wellread.server.web.html import Safe, el, field, icon
from wellread.server.web.pages import page
from wellread.settings import Settings, config_path


async def _allowed(request: Request) -> None:
    """This machine and this user alone; requests from other sites have been refused before."""
    options = service.of(request).options
    client, own = request.scope.get("client"), request.scope.get("server")
    if not (options.has_settings and is_owner((client, own) if client and own else None)):
        raise NotThere("settings are changed in the settings file of this server")


router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=[Depends(_allowed)])
_LONGEST = 4_000
_SIGNS = {"ok": "check", "note": "thought", "problem": "warning"}
AT_ONCE = ("model", "sources", "effort")
Changes = Mapping[str, object]  # None takes a line away
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED = "01"
Ends = tuple[tuple[str, int], tuple[str, int]]  # of a connection: the client's and ours


@router.get("/settings")
async def show(
    request: Request,
    saved: bool = False,
    held: Annotated[list[Literal["model", "sources", "effort"]] | None, Query(max_length=3)] = None,
    old_keys: bool = False,
    others: bool = False,
) -> Response:
    """With what became of a change that was saved just now."""
    note = Outcome(tuple(held or ()), old_keys, others).sentence if saved else ""
    return page(request, "Settings", await asyncio.to_thread(_form, service.of(request), note))


@router.post("/settings")
async def save(request: Request) -> Response:
    """Empty fields: a setting goes back to its default, a key stays as it is."""
    sent = await request.form(max_files=0, max_fields=200)
    form = {name: str(value).strip()[:_LONGEST] for name, value in sent.items()}
    here, effort = service.of(request), form.get("effort")
    file = await asyncio.to_thread(_in_file)
    known: Mapping[str, str] = {**_sources(here, file), public(file.get("model") or ""): file.get("model") or ""}
    lines = [*map(str, sent.getlist("source")), *form.get("sources", "").splitlines()]
    sources = list(dict.fromkeys(known.get(line.strip(), line.strip()) for line in lines if line.strip()))
    model = form.get("other model") or form.get("model", "")
    unset = not sources or (sources == ["library"] and not file.get("sources"))
    plain: dict[str, object] = {
        "model": known.get(model, model) or None,
        "sources": None if unset else sources,
        "effort": None if effort == Settings().effort else effort or None,
    }
    keys: dict[str, str | None] = {}
    for name, *_ in await asyncio.to_thread(diagnosis.keys):
        if form.get(f"forget {name}"):
            keys[name] = None
        elif given := form.get(name):
            keys[name] = given
    try:
        outcome = await asyncio.to_thread(_save, here, plain, sources, keys)
    except UsageError as problem:
        return page(request, "Settings", await asyncio.to_thread(_form, here, str(problem), (), {**file, **plain}), status=400)
    told = {"saved": True, "held": outcome.held, "old_keys": outcome.old_keys, "others": outcome.others}
    return RedirectResponse(f"/settings?{urlencode(told, doseq=True)}", 303)


@router.post("/settings/check")
async def check(request: Request) -> Response:
    found = await asyncio.to_thread(diagnosis.findings)
    return page(request, "Settings", await asyncio.to_thread(_form, service.of(request), "", found))


def _in_file() -> Mapping[str, Any]:
    """The settings file as it stands. Blocks."""
    try:
        return tomllib.loads(config_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _save(here: Service, plain: Mapping[str, object], sources: Sequence[str], keys: Mapping[str, str | None]) -> Outcome:
    """Into the file, keys into the keyring where one takes them; then into force."""
    fill(Settings, {name: value for name, value in plain.items() if value is not None}, "settings")
    for source in sources:
        plugins.load("sources", plugins.parse_source(source).name)
    if (model := plain["model"]) not in (None, "none"):
        plugins.load("models", plugins.parse_spec(str(model)).name)
    if any(not key.isprintable() or " " in key for key in keys.values() if key):
        raise SettingsError("a key is one word of printable characters")
    before = settings_module.load()
    for name, key in keys.items():
        if key is None:
            keychain.forget(name)
    kept = {name: keychain.MARK if key and keychain.keep(name, key) else key for name, key in keys.items()}
    change(config_path(), plain, kept)
    return take(here, before, keys)


def _sources(here: Service, said: Mapping[str, Any]) -> Mapping[str, str]:
    """The specs of what can be ticked, by what a browser is told of them: the file's, the menu's and collections. Blocks."""
    return {public(spec): spec for spec in (*(said.get("sources") or ()), *here.menu.single_sources.values())}


def _models(here: Service, chosen: str) -> Mapping[str, str]:
    """Models by name: of keys that are set, of a running Ollama, and those that the operator has named. Blocks."""
    found = [*available(here.engine.kit.environ)]
    usual = f"automatic: {label(found[0]) if found else 'none found'}"
    named = map(public, (*found, *here.options.models, *([chosen] if chosen else [])))
    return {"": usual, "none": "none: answers are quoted", **{spec: label(spec) for spec in named if spec != "none"}}


def _form(here: Service, note: str, found: Sequence[Finding] = (), refused: Mapping[str, Any] | None = None) -> Safe:
    """Names to choose from; specs, for what has none yet, behind "Advanced". Blocks."""
    said, keyring = refused or _in_file(), keychain.backend()
    where = f"the system's keyring ({keyring})" if keyring else "the settings file (no keyring of the system was found)"
    model, ticked = said.get("model") or "", set(said.get("sources") or ("library",))
    efforts = _options({name: THOROUGH[name][0] for name in get_args(Effort)}, said.get("effort") or "normal")
    sources = _sources(here, said)
    boxes = [
        el("label", el("input", type="checkbox", name="source", value=shown, checked=spec in ticked), el("span", name))
        for (shown, spec), name in zip(sources.items(), labels(sources).values(), strict=True)
    ]
    other = "openai:NAME@http://127.0.0.1:8080/v1"
    form = el(
        "form",
        field("Model", el("select", *_options(_models(here, model), public(model)), name="model")),
        el("fieldset", el("legend", "Search in"), *boxes, class_="boxes"),
        field("How thorough", el("select", *efforts, name="effort")),
        el(
            "details",
            el("summary", "Advanced"),
            field("Another model", el("input", type="text", name="other model", placeholder=other)),
            field("More sources, one a line", el("textarea", name="sources", rows=3, placeholder="files:~/notes")),
        ),
        el("h2", "Keys"),
        el("p", f"New ones are kept in {where}, and never shown. An empty field changes nothing.", class_="facts"),
        *(_key(name, purpose, said) for (name, *_), purpose in diagnosis.keys().items()),
        el("button", "Save", class_="button primary"),
        method="post", action="/settings", class_="of-folder", autocomplete="off",
    )  # fmt: skip
    checking = el("form", el("button", "Check", class_="button"), method="post", action="/settings/check")
    signs = [
        el(
            "li",
            icon(_SIGNS[one.state]),
            el("div", one.what, el("small", one.advice) if one.advice else None),
            class_=f"is-{one.state}",
        )
        for one in found
    ]
    told = el("p", note, class_="note" if refused else "saved", role="alert" if refused else "status") if note else None
    about = el("p", f"What is not set has its default. The file is {config_path()}.", class_="lead")
    checked = el("ul", *signs, class_="findings", id="findings") if found else None
    return el(
        "div", el("h1", "Settings"), about, told, form, el("h2", "Is everything in place?"), checking, checked,
        class_="history shelf",
    )  # fmt: skip


def _options(names: Mapping[str, str], chosen: str) -> list[Safe]:
    return [el("option", name, value=value, selected=value == chosen) for value, name in names.items()]


def _key(name: str, purpose: str, said: Mapping[str, Any]) -> Safe:
    value = said.get("keys", {}).get(name)
    kept = "" if not value else "in the keyring" if keychain.is_mark(value) else "in the settings file"
    there = "in the environment" if os.environ.get(name, "").strip() else kept or "not set"
    own = field(f"{name}: {purpose} ({there})", el("input", type="password", name=name, autocomplete="new-password"))
    box = el("input", type="checkbox", name=f"forget {name}", value="yes")
    forget = el("label", box, el("span", f"forget {name}"), class_="forget") if kept else None
    return el("div", own, forget, class_="key")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a change of settings."""

    held: tuple[str, ...] = ()  # settings that a flag or a variable has given for this start
    old_keys: bool = False  # a key that was there before was changed
    others: bool = False  # other processes serve too, and have read the file already

    @property
    def sentence(self) -> str:
        if self.others:
            return "Saved. It holds from the next start of the server on: all of its processes have to read it."
        parts = ["Saved. It holds from the next question on."]
        if self.held:
            names = " and ".join(self.held)
            parts.append(f"Not so {names}: given by a flag or a variable of this start, which goes before the file.")
        if self.old_keys:
            parts.append("A key that was there before is used until the next start: connections may be open with it.")
        return " ".join(parts)


def take(here: Service, before: Settings, keys: Mapping[str, str | None]) -> Outcome:
    """Bring what was saved into force; `before` is what the file and the variables said until then. Blocks."""
    if here.options.workers > 1:
        return Outcome(others=True)
    after, now = settings_module.load(), here.engine.settings
    free = [name for name in AT_ONCE if getattr(now, name) == getattr(before, name)]
    fresh = replace(now, keys=after.keys, **{name: getattr(after, name) for name in free})
    old_keys = any(here.engine.kit.environ.get(name, "").strip() for name in keys)
    here.resettle(fresh)
    saved = settings_module.load(environ={"WELLREAD_CONFIG": str(settings_module.config_path())})  # by the file alone
    held = tuple(name for name in AT_ONCE if getattr(fresh, name) != getattr(saved, name))
    return Outcome(held, old_keys)


def change(path: Path, plain: Changes, keys: Mapping[str, str | None]) -> None:
    """Set top-level values and entries of [keys]. The file is whole at any moment, and its owner's alone afterwards."""
    real = Path(os.path.realpath(path))
    with os_errors(SettingsError, f"{path} cannot be written"):
        try:
            fresh = changed(real.read_text(encoding="utf-8") if real.exists() else "", plain, keys)
        except ValueError as problem:
            raise SettingsError(f"{path} is broken: {problem}") from None
        private_folder(real.parent) if not real.parent.exists() else None
        replace_private(real, fresh.encode())


def changed(text: str, plain: Changes, keys: Mapping[str, str | None]) -> str:
    """The text of the file with other values; all else in it, comments too, stays as it is."""
    import tomlkit

    document: Any = tomlkit.parse(text)
    _set(document, plain)
    if any(keys.values()):
        document.setdefault("keys", tomlkit.table())
    _set(document.get("keys", {}), keys)
    return tomlkit.dumps(document)


def _set(table: dict[str, Any], values: Changes) -> None:
    for name, value in values.items():
        if value is None:
            table.pop(name, None)
        else:
            table[name] = value


def is_owner(ends: Ends | None) -> bool:
    """Whether a connection comes from this machine and this user, or root: loopback is open to all users of it, and the kernel
    knows who holds the other end. Where the system does not tell, from this machine."""
    if ends is None or not is_loopback(ends[0][0]):
        return False
    tables = [rows for path in _TABLES if (rows := _rows(path)) is not None]
    if not tables:
        return True
    # It is told by both ends, and while it is held: a port can have other connections, and the kernel writes root for one that
    # was closed.
    (client, port), (server, own) = ends
    wanted = {(f"{a}:{port:04X}", f"{b}:{own:04X}", _ESTABLISHED) for a, b in product(_forms(client), _forms(server))}
    user = next((int(row[7]) for rows in tables for row in rows if tuple(row[1:4]) in wanted), None)
    return user in (os.geteuid(), 0)


def _rows(table: Path) -> list[list[str]] | None:
    try:
        return [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return None


def _forms(host: str) -> tuple[str, ...]:
    """An address as the kernel writes it: words of four bytes, each in the machine's own order."""
    address = ipaddress.ip_address(host)
    packed = address.packed
    words = "".join(packed[at : at + 4][::-1].hex().upper() for at in range(0, len(packed), 4))
    return (words, f"0000000000000000FFFF0000{words}") if address.version == 4 else (words,)
