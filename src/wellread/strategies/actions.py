"""Tools of a `react` model: search each source, read a page, calculate."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from wellread.errors import CalculationError, MissingExtra
from wellread.protocols import Model, Source
from wellread.run import Run
from wellread.sources.hits import plain
from wellread.strategies import context, lookup
from wellread.strategies.refine import beginning, part
from wellread.text.neighbours import places
from wellread.tools.calculate import calculate, is_arithmetic
from wellread.types import Hit, Passage

_ADDRESS = re.compile(r"https?://[^\s<>\"')\]]+")
_WANTS_SENTENCES = re.compile(r"in a full sentence|(?:whole|clear|specific) question|understands questions")  # of hints
_OPERATORS = (("**", " to the power of "), ("*", " times "), ("/", " divided by "), ("+", " plus "), ("-", " minus "))


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of an action: as the model sees it, fenced, and as a person does."""

    text: str
    shown: str


@dataclass(frozen=True, slots=True)
class Action:
    """One action with its line in the prompt."""

    name: str
    help: str
    example: str
    act: Callable[[str], Awaitable[Observation]]
    source: Source | None = None  # that it searches


@dataclass(frozen=True, slots=True)
class Limits:
    """How much an observation may hold."""

    hits: int
    characters: int
    page_tokens: int


@dataclass(slots=True)
class Actions:
    """The actions of one run, by name. It knows the addresses of what was found: only those may be read."""

    run: Run
    model: Model
    limits: Limits
    known: dict[str, Action] = field(default_factory=dict[str, Action])
    addresses: set[str] = field(default_factory=set[str])  # of what was found, and of the question
    shown: dict[str, int] = field(default_factory=dict[str, int])  # the numbers of passages, of joined ones too, by their ids

    def add(self, action: Action) -> None:
        self.known.setdefault(action.name, action)

    def describe(self) -> str:
        """One line for each, with an example."""
        return "\n".join(f"- {a.name}: {a.help} Example: Action: {a.name}: {a.example}" for a in self.known.values())

    async def act(self, name: str, given: str) -> Observation:
        """The observation. An unknown name or a missing input is one too, never an error."""
        action = self.known.get(name.lower())
        if action is None:
            return told(f"There is no action {name[:60]!r}. The actions are: {', '.join(self.known)}.")
        if not given:
            return told(f"{action.name} needs an input, like: Action: {action.name}: {action.example}")
        could_read = "read" in self.known
        observation = await action.act(given)
        if "read" in self.known and not could_read:
            now = "\n(One action more: read, with an address from an observation.)"
            return Observation(observation.text + now, observation.shown)
        return observation

    def see(self, address: str | None) -> None:
        """An address came up: from the first one on, pages can be read."""
        if address:
            self.addresses.add(address)
            self.add(Action("read", "Reads the page at an address from an observation.", "https://example.org/page", self.read))

    async def search(self, source: Source, term: str, *, snippets: bool) -> Observation:
        """The best hits that were not shown before: their snippets, or of their texts what is nearest. Neighbours are one."""
        limit = self.limits.hits + lookup.beyond_shown(self.run)
        hits = lookup.unique(await self.run.search(term, limit=limit, source=source))
        found = [passage for hit in hits if (passage := self._excerpt(hit, snippets)).text]
        if not found:
            return self._nothing(source, self.run.complaints.get(term, ()))
        numbers = {passage.id: self.shown.get(passage.id) or lookup.shown_as(self.run, passage) for passage in found}
        new = [passage for passage in found if numbers[passage.id] is None][: self.limits.hits]
        if not new:
            above = " ".join(f"[{number}]" for number in dict.fromkeys(numbers.values()))
            return told(f"Nothing new was found: {above} are shown above. Try another term.")
        observations = await self._observe_places(new, term)
        return Observation("\n".join(o.text for o in observations), "\n".join(o.shown for o in observations))

    async def read(self, url: str) -> Observation:
        """The beginning of a page that was found, or that the question names."""
        url = url.strip("<>\"'` ")
        # An address that the model makes up could carry anything out of the conversation; so could a choice among many that
        # a page lists, one for each letter.
        if url not in self.addresses:
            return told("Only addresses from the question and those of search results can be read.")
        page = await self.run.read(url)
        if page is None or not page.text.strip():
            return told("That page cannot be read.")
        passage = Passage(f"page:{url}", page.text, page.title, url, "read", page.published)
        return self._observe(context.shortened(self.run, self.model, passage, self.limits.page_tokens))

    async def calculate(self, expression: str) -> Observation:
        """A result that can be cited, or what is wrong with the expression."""
        try:
            result = await calculate(expression)
        except (CalculationError, MissingExtra) as problem:
            return told(f"error: {problem}")
        if not is_arithmetic(expression):
            return told(f"The result is {result}. To cite it, write the expression without other words.")
        words = expression
        for sign, spoken in _OPERATORS:
            words = words.replace(sign, spoken)
        text = f"{expression} = {result}\n{' '.join(words.split())} equals {result}; the result of the calculation is {result}."
        number = self.run.number(Passage(f"calculate:{expression}", text, "Calculation", source="calculate"))
        return told(f"[{number}] {expression} = {result}")

    async def _observe_places(self, passages: Sequence[Passage], term: str) -> list[Observation]:
        """Passages that stand beside each other as one, no longer than they may be one by one."""
        joined = places(passages)
        parts = Counter(place.id for place in joined.values())
        shown: dict[str, Observation] = {}
        for one, place in joined.items():
            if place.id not in shown:
                text = await part(self.run, place.text, term, self.limits.characters * parts[place.id])
                shown[place.id] = self._observe(replace(place, text=text))
            self.shown[one] = self.run.number(place)
        return list(shown.values())

    def _observe(self, passage: Passage) -> Observation:
        number = self.run.number(passage)
        where = f"\n{passage.url}" if passage.url else ""
        self.see(passage.url)
        inner = f"{passage.title}: {passage.text}{where}"
        return Observation(f"[{number}] {context.fence(self.run, inner)}", f"[{number}] {inner}")

    def _excerpt(self, hit: Hit, snippets: bool) -> Passage:
        """An excerpt of a hit. A passage of a local index is itself: its neighbours may join it before it is cut."""
        if hit.document is not None and hit.text:
            return hit.passage()
        whole = plain(hit.text)
        chosen = (plain(hit.snippet) or whole) if snippets else (whole or plain(hit.snippet))
        return lookup.excerpt(hit, beginning(chosen, self.limits.characters))

    def _nothing(self, source: Source, failures: Sequence[str]) -> Observation:
        """Why there is nothing to show. A source that cannot be reached is no action any more; what one complains of are words
        from outside like any others."""
        if source.name in self.run.withdrawn:
            gone = [name for name, action in self.known.items() if action.source is source]
            for name in gone:
                del self.known[name]
            return told(f"{' and '.join(gone) or source.name} cannot be reached. The actions left are: {', '.join(self.known)}.")
        if failures:
            why = failures[-1]
            failed = "The search failed{}. Try again, or another action."
            return Observation(f"{failed.format('')}\n{context.fence(self.run, why)}", failed.format(f" ({why})"))
        return told("Nothing was found. Try another term.")


def told(text: str) -> Observation:
    """An observation in our own words."""
    return Observation(text, text)


def available(run: Run, model: Model, limits: Limits, wikipedia: str | None, blog: str | None) -> Actions:
    """The actions of a run: Wikipedia, the blog, every configured source, reading where an address was seen, calculating."""
    actions = Actions(run, model, limits)
    sources = run.source.members
    wiki = _configured(sources, "wikipedia", "mediawiki") or _named(run, wikipedia)
    posts = _named(run, blog) if blog is not None else _configured(sources, "datasette")
    for source in sources:
        if source not in (wiki, posts):
            whole = _WANTS_SENTENCES.search(source.hint)  # an input as the hint wants it: a sentence, or the words alone
            example = "Which sea does the Danube flow into?" if whole else "Danube"
            _add_source(actions, _action_name(source.name, actions), source, f"Searches: {source.hint}", example)
    if wiki is not None:
        _add_source(actions, "wikipedia", wiki, "Looks a term up in Wikipedia and returns a snippet.", "Danube", snippets=True)
    if posts is not None:
        _add_source(actions, "blog_search", posts, "Searches the blog and returns how the best entry begins.", "museum")
    for address in (*_ADDRESS.findall(run.question), *(passage.url for passage in run.passages.values())):
        actions.see(address)
    actions.add(Action("calculate", "Calculates an expression in Python's notation.", "4 * 7 / 3", actions.calculate))
    return actions


def _add_source(actions: Actions, name: str, source: Source, help: str, example: str, *, snippets: bool = False) -> None:
    async def act(term: str) -> Observation:
        return await actions.search(source, term, snippets=snippets)

    actions.add(Action(name, " ".join(help.split()), example, act, source))


def _configured(sources: Sequence[Source], *kinds: str) -> Source | None:
    return next((source for source in sources if re.split(r"[:?]", source.name)[0] in kinds), None)


def _named(run: Run, spec: str | None) -> Source | None:
    """A source that only this recipe asks for. One that cannot be had is an action less."""
    return run.part(lambda: run.kit.source(spec), f"no {spec} action", "info") if spec else None


def _action_name(name: str, actions: Actions) -> str:
    """A source's name as a model can write it: letters, digits and underscores, and only once."""
    short = re.sub(r"\W+", "_", re.split(r"[:?]", name)[0].lower()).strip("_") or "search"
    count = 2
    while short in actions.known or short in ("read", "calculate", "wikipedia", "blog_search"):
        short = f"{short.rstrip('0123456789_')}_{count}"
        count += 1
    return short
