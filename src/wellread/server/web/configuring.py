"""The settings as a page, for whoever runs the server on this machine. What is saved goes into the settings file."""

from __future__ import annotations

import asyncio
import os
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from wellread import plugins
from wellread.effort import Effort
from wellread.errors import SettingsError, UsageError
from wellread.parameters import fill
from wellread.server import diagnosis, service, settings_file
from wellread.server.diagnosis import Finding
from wellread.server.peers import is_owner
from wellread.server.viewer import NotThere
from wellread.server.web.html import Safe, el, icon
from wellread.server.web.pages import page
from wellread.settings import Settings, config_path

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
_LONGEST = 4_000
_SIGNS = {"ok": "check", "note": "thought", "problem": "warning"}


@router.get("/settings")
async def show(request: Request, saved: bool = False) -> Response:
    _allowed(request)
    note = "Saved. It holds from the next start of the server on." if saved else ""
    return page("Settings", _form(await asyncio.to_thread(_in_file), note))


@router.post("/settings")
async def save(request: Request) -> Response:
    """Empty fields: a setting goes back to its default, a key stays as it is."""
    _allowed(request)
    form = {name: str(value).strip()[:_LONGEST] for name, value in (await request.form(max_files=0, max_fields=50)).items()}
    effort = form.get("effort")
    sources = [line.strip() for line in form.get("sources", "").splitlines() if line.strip()]
    plain: dict[str, object] = {
        "model": form.get("model") or None,
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
        await asyncio.to_thread(_save, plain, sources, keys)
    except UsageError as problem:
        shown = {**await asyncio.to_thread(_in_file), **plain}
        answer = page("Settings", _form(shown, str(problem), wrong=True))
        answer.status_code = 400
        return answer
    return RedirectResponse("/settings?saved=true", 303)


@router.post("/settings/check")
async def check(request: Request) -> Response:
    _allowed(request)
    found = await asyncio.to_thread(diagnosis.findings)
    return page("Settings", _form(await asyncio.to_thread(_in_file), "", found))


def _allowed(request: Request) -> None:
    """This machine and this user alone; requests from other sites have been refused before."""
    options = service.of(request).options
    client = (request.client.host, request.client.port) if request.client else None
    if not (options.setup and options.private and is_owner(client)):
        raise NotThere("settings are changed in the settings file of this server")


def _in_file() -> Mapping[str, Any]:
    try:
        return tomllib.loads(config_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _save(plain: Mapping[str, object], sources: Sequence[str], keys: Mapping[str, str | None]) -> None:
    fill(Settings, {name: value for name, value in plain.items() if value is not None}, "settings")
    for source in sources:
        plugins.load("sources", plugins.parse_source(source).name)
    if (model := plain["model"]) not in (None, "none"):
        plugins.load("models", plugins.parse_spec(str(model)).name)
    if any(not key.isprintable() or " " in key for key in keys.values() if key):
        raise SettingsError("a key is one word of printable characters")
    settings_file.change(config_path(), plain, keys)


def _form(said: Mapping[str, Any], note: str, found: Sequence[Finding] = (), *, wrong: bool = False) -> Safe:
    efforts = [el("option", name, value=name, selected=name == (said.get("effort") or "normal")) for name in get_args(Effort)]
    sources = "\n".join(said.get("sources") or ())
    form = el(
        "form",
        _field("Model", el("input", type="text", name="model", value=said.get("model") or "", placeholder="ollama:qwen3")),
        _field("Sources, one a line", el("textarea", sources, name="sources", rows=3, placeholder="library")),
        _field("How thorough", el("select", *efforts, name="effort")),
        el("h2", "Keys"),
        el("p", "They are kept in the settings file and never shown. An empty field changes nothing.", class_="facts"),
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
    there = "in the environment" if os.environ.get(name, "").strip() else "kept" if said.get("keys", {}).get(name) else "not set"
    field = _field(f"{name}: {purpose} ({there})", el("input", type="password", name=name, autocomplete="new-password"))
    box = el("input", type="checkbox", name=f"forget {name}", value="yes")
    forget = el("label", box, el("span", f"forget {name}"), class_="forget") if there == "kept" else None
    return el("div", field, forget, class_="key")


def _advice(one: Finding) -> Safe | None:
    return el("small", one.advice) if one.advice else None
