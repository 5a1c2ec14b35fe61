"""The settings as a page, for whoever runs the server on this machine. What is saved goes into the settings file."""

from __future__ import annotations

import asyncio
import os
import tomllib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from wellread import plugins
from wellread import settings as settings_module
from wellread.core import keychain
from wellread.effort import Effort
from wellread.errors import SettingsError, UsageError
from wellread.parameters import fill, public
from wellread.server import diagnosis, effective, service, settings_file
from wellread.server.diagnosis import Finding
from wellread.server.effective import Outcome
from wellread.server.peers import is_owner
from wellread.server.service import Service
from wellread.server.viewer import NotThere
from wellread.server.web.html import Safe, el, icon
from wellread.server.web.pages import page
from wellread.settings import Settings, config_path

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
_LONGEST = 4_000
_WHERE = " where new keys go"  # no name of a setting
_SIGNS = {"ok": "check", "note": "thought", "problem": "warning"}


@router.get("/settings")
async def show(
    request: Request,
    saved: bool = False,
    held: Annotated[list[Literal["model", "sources", "effort"]] | None, Query(max_length=3)] = None,
    old_keys: bool = False,
    others: bool = False,
) -> Response:
    """With what became of a change that was saved just now."""
    _allowed(request)
    note = Outcome(tuple(held or ()), old_keys, others).sentence if saved else ""
    return page("Settings", _form(await asyncio.to_thread(_in_file), note))


@router.post("/settings")
async def save(request: Request) -> Response:
    """Empty fields: a setting goes back to its default, a key stays as it is."""
    _allowed(request)
    form = {name: str(value).strip()[:_LONGEST] for name, value in (await request.form(max_files=0, max_fields=50)).items()}
    effort = form.get("effort")
    file = await asyncio.to_thread(_in_file)
    shown: dict[str, str] = {public(spec): spec for spec in (*(file.get("sources") or ()), file.get("model") or "")}
    lines = [line.strip() for line in form.get("sources", "").splitlines() if line.strip()]
    sources = [shown.get(line, line) for line in lines]
    model = form.get("model", "")
    plain: dict[str, object] = {
        "model": shown.get(model, model) or None,
        "sources": sources or None,
        "effort": None if effort == Settings().effort else effort or None,
    }
    keys: dict[str, str | None] = {}
    for name in diagnosis.KEYS:
        if form.get(f"forget {name}"):
            keys[name] = None
        elif given := form.get(name):
            keys[name] = given
    try:
        outcome = await asyncio.to_thread(_save, service.of(request), plain, sources, keys)
    except UsageError as problem:
        answer = page("Settings", _form({**file, **plain}, str(problem), wrong=True))
        answer.status_code = 400
        return answer
    told = {"saved": True, "held": outcome.held, "old_keys": outcome.old_keys, "others": outcome.others}
    return RedirectResponse(f"/settings?{urlencode(told, doseq=True)}", 303)


@router.post("/settings/check")
async def check(request: Request) -> Response:
    _allowed(request)
    found = await asyncio.to_thread(diagnosis.findings)
    return page("Settings", _form(await asyncio.to_thread(_in_file), "", found))


def _allowed(request: Request) -> None:
    """This machine and this user alone; requests from other sites have been refused before."""
    options = service.of(request).options
    client, own = request.scope.get("client"), request.scope.get("server")
    if not (options.setup and options.private and is_owner((client, own) if client and own else None)):
        raise NotThere("settings are changed in the settings file of this server")


def _in_file() -> Mapping[str, Any]:
    """What the file says, and where keys would be kept. Blocks."""
    keyring = keychain.backend()
    where = f"the system's keyring ({keyring})" if keyring else "the settings file (no keyring of the system was found)"
    try:
        return {**tomllib.loads(config_path().read_text(encoding="utf-8")), _WHERE: where}
    except (OSError, ValueError):
        return {_WHERE: where}


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
    settings_file.change(config_path(), plain, kept)
    return effective.take(here, before, keys)


def _form(said: Mapping[str, Any], note: str, found: Sequence[Finding] = (), *, wrong: bool = False) -> Safe:
    efforts = [el("option", name, value=name, selected=name == (said.get("effort") or "normal")) for name in get_args(Effort)]
    sources, model = "\n".join(map(public, said.get("sources") or ())), public(said.get("model") or "")
    form = el(
        "form",
        _field("Model", el("input", type="text", name="model", value=model, placeholder="ollama:qwen3")),
        _field("Sources, one a line", el("textarea", sources, name="sources", rows=3, placeholder="library")),
        _field("How thorough", el("select", *efforts, name="effort")),
        el("h2", "Keys"),
        el("p", f"New ones are kept in {said[_WHERE]}, and never shown. An empty field changes nothing.", class_="facts"),
        *(_key(name, purpose, said) for name, purpose in diagnosis.KEYS.items()),
        el("button", "Save", class_="button primary"),
        method="post", action="/settings", class_="of-folder", autocomplete="off",
    )  # fmt: skip
    checking = el("form", el("button", "Check", class_="button"), method="post", action="/settings/check")
    signs = [el("li", icon(_SIGNS[one.state]), el("div", one.what, _advice(one)), class_=f"is-{one.state}") for one in found]
    told = el("p", note, class_="note" if wrong else "saved", role="alert" if wrong else "status") if note else None
    about = el("p", f"What is not set has its default. The file is {config_path()}.", class_="lead")
    checked = el("ul", *signs, class_="findings", id="findings") if found else None
    return el(
        "div", el("h1", "Settings"), about, told, form, el("h2", "Is everything in place?"), checking, checked,
        class_="history shelf",
    )  # fmt: skip


def _field(label: str, control: Safe) -> Safe:
    return el("label", el("span", label), control, class_="field")


def _key(name: str, purpose: str, said: Mapping[str, Any]) -> Safe:
    value = said.get("keys", {}).get(name)
    kept = "" if not value else "in the keyring" if keychain.is_mark(value) else "in the settings file"
    there = "in the environment" if os.environ.get(name, "").strip() else kept or "not set"
    field = _field(f"{name}: {purpose} ({there})", el("input", type="password", name=name, autocomplete="new-password"))
    box = el("input", type="checkbox", name=f"forget {name}", value="yes")
    forget = el("label", box, el("span", f"forget {name}"), class_="forget") if kept else None
    return el("div", field, forget, class_="key")


def _advice(one: Finding) -> Safe | None:
    return el("small", one.advice) if one.advice else None
