"""The question box and its controls, in the words of someone who asks and not of someone who builds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from wellread.events import Event, Outlined, Searched, Started
from wellread.server.history import Record
from wellread.server.menu import Menu, label, labels
from wellread.server.security import COLLECTIONS
from wellread.server.web.html import Safe, el, icon

# Every recipe in a word or two and in one line; one that a plugin brings has its name and its own summary.
_HOW = {
    "auto": ("Automatic", "the cheapest way that is sure enough"),
    "quote": ("Quote", "sentences word for word, no language model"),
    "guided": ("Guided", "one call of the model on the best chain of passages"),
    "iterative": ("Step by step", "plan, search, reflect, answer"),
    "fanout": ("Many searches", "several queries at once, the likeliest results"),
    "react": ("Think and act", "search, read, calculate, in turns"),
    "corrective": ("Check and correct", "look elsewhere where the sources are poor"),
    "digest": ("Read and digest", "digest each document, answer from the digests"),
    "research": ("Report", "a cited report in sections; takes its time"),
}
THOROUGH = {
    "low": ("Quick", "by words and meaning alone"),
    "normal": ("Normal", ""),
    "high": ("Thorough", "a model checks its own answer"),
}
_WAYS = 3  # other sources that are offered


@dataclass(frozen=True, slots=True)
class _Choice:
    value: str
    shown: str
    about: str = ""
    usable: bool = True

    @property
    def line(self) -> str:
        return f"{self.shown}: {self.about}" if self.about else self.shown


def facts(record: Record) -> list[str]:
    """How, with which model, where and when a run was asked."""
    when = time.localtime(record.created)
    day = f"{when.tm_mday} {time.strftime('%B %Y, %H:%M', when)}"
    return [record.strategy, label(record.model or "no language model"), " + ".join(map(label, record.sources)), day]


def ask_box(
    menu: Menu,
    *,
    parent: Record | None = None,
    label: str = "Your question",
    autofocus: bool = False,
    sources: Sequence[str] = (),
) -> Safe:
    """The form: a question and the controls."""
    hidden = el("input", type="hidden", name="parent", value=parent.id) if parent else None
    return _form(menu, label, hidden, pickers(menu, parent, sources), autofocus=autofocus)


def again_box(menu: Menu, record: Record) -> Safe:
    """The same question once more with other settings, to be seen beside its first answer."""
    before = el("input", type="hidden", name="parent", value=record.parent) if record.parent else ""
    hidden = Safe(before + el("input", type="hidden", name="again", value=record.id))
    form = _form(menu, "The question again", hidden, pickers(menu, record), question=record.question)
    return el("details", el("summary", "Ask again, and compare"), form, class_="again")


def ways_on(menu: Menu, record: Record, seen: Sequence[Event]) -> Safe | None:
    """Suggestions that may bring a better answer, each as a button that asks the same again, in the words of the controls."""
    answer, ways = record.answer, list[Safe]()
    effort = next((event.effort for event in seen if isinstance(event, Started)), "normal")
    if any(isinstance(event, Outlined) for event in seen) and (answer is None or answer.outcome in ("exhausted", "failed")):
        ways.append(_again(record, "Go on", resume=record.id))
    kept = dict.fromkeys(label(name) for event in seen if isinstance(event, Searched) for name in event.withheld)
    if kept and menu.asks_to_share:
        ways.append(_again(record, f"Send my words to {' and '.join(kept)}", share="true"))
    if record.state == "failed" and record.model:
        ways.append(_again(record, "Ask without it", strategy="quote", model=""))
    elif answer and answer.outcome in ("unsure", "partial") and not answer.asks:
        more = {"low": "normal", "normal": "high" if record.model else ""}.get(effort, "")  # high has a model check its answer
        if more in menu.efforts:
            ways.append(_again(record, THOROUGH[more][0], effort=more))
        others = [(name, shown) for name, shown in labels(menu.single_sources).items() if name not in record.sources]
        ways += [_again(record, f"Search {shown} too", name) for name, shown in others[:_WAYS]]
        if not record.model and menu.default_model:
            ways.append(_again(record, f"With {label(menu.default_model)}", strategy="auto", model=menu.default_model))
    if menu.options.has_settings and (record.state == "failed" or (ways and not menu.models)):
        ways.append(el("a", "Settings" if menu.models else "Set up a language model", href="/settings", class_="button"))
    return el("div", el("span", "To try: "), *ways, class_="actions ways") if ways else None


def _again(record: Record, button: str, *more: str, **other: str) -> Safe:
    """The same question once more, otherwise: in more sources, or with other choices."""
    fields = {"question": record.question, "strategy": record.strategy, "model": record.model, "parent": record.parent, **other}
    pairs = [*fields.items(), *(("source", one) for one in (*record.sources, *more))]
    hidden = [el("input", type="hidden", name=name, value=value) for name, value in pairs if value]
    return el("form", *hidden, el("button", button, class_="button"), method="post", action="/ask")


def pickers(menu: Menu, like: Record | None = None, chosen_sources: Sequence[str] = ()) -> list[Safe]:
    """How, how thorough, where and with which model; as in the run that is given."""
    strategies = [
        _Choice(name, *_HOW.get(name, (name, about)), usable or name == "auto")  # which is to quote where there is no model
        for name, about, usable in menu.strategies()
    ]
    strategies.sort(key=lambda one: [*_HOW, one.value].index(one.value))
    efforts = [_Choice(name, *THOROUGH[name]) for name in menu.efforts]
    models = [_Choice(name, label(name)) for name in menu.models] or [_Choice("", "none")]
    preset = menu.engine.settings.strategy or "auto"
    chosen = like.strategy if like and like.strategy != menu.default_strategy else preset
    return [
        _picker("strategy", "How", strategies, chosen),
        _picker("effort", "How thorough", efforts, menu.engine.settings.effort),
        ticks(menu, like.sources if like else chosen_sources),
        _picker("model", "Model", models, (like.model if like else None) or menu.default_model or ""),
    ]


def ticks(menu: Menu, wanted: Sequence[str] = ()) -> Safe:
    """Sources side by side, by their names; those that are wanted are ticked, or else the usual ones."""
    names = labels(menu.single_sources)
    chosen = [name for name in names if name in wanted] or list(menu.default_sources)
    boxes = [
        el("label", el("input", type="checkbox", name="source", value=name, checked=name in chosen), el("span", shown))
        for name, shown in names.items()
    ]
    said = ", ".join(names[name] for name in chosen if name in names)
    add = el("a", "Add documents …", href=COLLECTIONS) if menu.options.takes_documents else None
    head = el("summary", el("span", "Search in"), " ", el("b", said, class_="ticked"))
    panel = el("div", *boxes, add, class_="panel", role="group", aria_label="Search in")
    return el("details", head, panel, class_="picker ticks")


def _form(
    menu: Menu, label: str, hidden: Safe | None, controls: Sequence[Safe], *, question: str = "", autofocus: bool = False
) -> Safe:
    area = el(
        "textarea", question, name="question", rows=1, required=True, maxlength=menu.options.max_question,
        placeholder=f"{label} …", aria_label=label, autofocus=autofocus, enterkeyhint="send",
    )  # fmt: skip
    send = el("button", icon("send"), el("span", "Ask", class_="hidden"), class_="send", title="Ask (Enter)")
    row = el("details", el("summary", "Options"), el("div", *controls, class_="pickers"), class_="options", open=True)
    problem = el("p", class_="problem", role="alert", hidden=True)
    return el("form", area, row, send, hidden, problem, class_="ask", method="post", action="/ask")


def _picker(name: str, label: str, choices: Sequence[_Choice], chosen: str) -> Safe:
    options = [
        el("option", one.line, value=one.value, disabled=not one.usable, selected=one.value == chosen, data_shown=one.shown)
        for one in choices
    ]
    return el("label", el("span", label), el("select", *options, name=name, aria_label=label), class_="picker")
