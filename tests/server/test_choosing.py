"""What a client may choose, at every door: parts come from the operator's lists, in parameters too."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.server.stage import PLAIN, Live, finished, quoting, running, stream
from tests.strategies.bench import Shelf
from tests.wire.server import Response, serving

from wellread.engine import Engine
from wellread.errors import UsageError
from wellread.models.scripted import ScriptedModel
from wellread.server.menu import AskRequest, Menu
from wellread.server.options import ServerOptions
from wellread.settings import Settings
from wellread.types import Prompt

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

QUESTION = "What does the diary say of the safe?"
SECRET = "The safe opens with 1729."


def curious(prompt: Prompt) -> str:
    """A model that asks for the blog and passes on what it is shown."""
    last = prompt.messages[-1].text
    return f"Answer: {last}" if "Observation:" in last else "Action: blog_search: safe\nPAUSE"


def engine(**settings: Any) -> Engine:
    model = ScriptedModel(curious, capabilities=PLAIN)
    return Engine(Settings(strategy="react", effort="low", **settings), model=model, source=Shelf([], name="shelf"))


@pytest.fixture
def diary(tmp_path: Path) -> str:
    folder = tmp_path / "diary"
    folder.mkdir()
    (folder / "safe.txt").write_text(f"Diary. {SECRET} It stands behind the shelf.\n", encoding="utf-8")
    return f"files:{folder}?meaning=false"


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with running(engine(), tmp_path) as server:
        yield server


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """One that searches the index of the library."""
    with running(Engine(Settings(model="none", effort="low")), tmp_path_factory.mktemp("shared")) as server:
        yield server


def attached(live: Live, params: Mapping[str, object]) -> str:
    with live.client() as client:
        return client.post("/api/ask", json={"question": QUESTION, "strategy": "react", "params": params}).text


def detached(live: Live, params: Mapping[str, object]) -> str:
    with live.client() as client:
        begun = client.post("/api/runs", json={"question": QUESTION, "strategy": "react", "params": params})
        return begun.text if begun.is_error else str(finished(client, begun.json()["id"]))


def completions(live: Live, params: Mapping[str, object]) -> str:
    body = {"model": "wellread/react", "messages": [{"role": "user", "content": QUESTION}], "params": params, **params}
    with live.client() as client:
        return client.post("/v1/chat/completions", json=body).text


def responses(live: Live, params: Mapping[str, object]) -> str:
    body = {"model": "wellread/react", "input": QUESTION, "params": params, **params}
    with live.client() as client:
        return client.post("/v1/responses", json=body).text


def page(live: Live, params: Mapping[str, object]) -> str:
    with live.client(follow_redirects=True) as client:
        reply = client.post("/ask", data={"question": QUESTION, "strategy": "react", **params})
        if reply.is_error:
            return reply.text
        return str(finished(client, str(reply.url).rpartition("/")[2]))


async def mcp(live: Live, params: Mapping[str, object]) -> str:
    async with Client(f"{live.url}/mcp") as client:
        more = {"params": params, **params} if params else {}
        return str(await client.call_tool("ask", {"question": QUESTION, "strategy": "react", **more}))


DOORS: tuple[Callable[[Live, Mapping[str, object]], Any], ...] = (attached, detached, completions, responses, page, mcp)


async def enter(door: Callable[[Live, Mapping[str, object]], Any], live: Live, params: Mapping[str, object]) -> str:
    said = door(live, params)
    return said if isinstance(said, str) else await said


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
async def test_no_door_opens_a_folder_or_an_address_of_the_clients_choice(
    live: Live, diary: str, door: Callable[[Live, Mapping[str, object]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY_OF_THE_OPERATOR", "not-for-strangers")
    with serving([Response([SECRET.encode()])]) as inside:
        for params in (
            {"blog": diary, "wikipedia": "none"},
            {"wikipedia": diary},
            {"blog": f"urls:{inside.url}/", "wikipedia": "none"},
            {"blog": f"searxng:{inside.url}", "wikipedia": "none"},
            {"answer_model": f"openai:x@{inside.url}/v1?key_env=A_KEY_OF_THE_OPERATOR", "wikipedia": "none"},
            {"rewrite_model": f"openai:x@{inside.url}/v1", "wikipedia": "none"},
        ):
            said = await enter(door, live, params)
            assert SECRET not in said
            if door in (attached, detached):
                assert "is not offered here" in said
        assert not inside.requests


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
async def test_every_door_leads_through_the_menu(
    live: Live, door: Callable[[Live, Mapping[str, object]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object, **__: object) -> None:
        raise UsageError("the menu is closed")

    monkeypatch.setattr(Menu, "authorize", closed)
    assert "the menu is closed" in await enter(door, live, {})


def test_what_the_operator_lists_can_be_chosen_in_parameters(tmp_path: Path, diary: str) -> None:
    with running(engine(), tmp_path, sources=(diary,)) as live:
        assert SECRET in attached(live, {"blog": diary, "wikipedia": "none"})
        assert "is not offered here" in attached(live, {"blog": diary.replace("diary", "."), "wikipedia": "none"})


def test_what_the_operator_has_set_stays(tmp_path: Path, diary: str) -> None:
    with running(engine(params={"react": {"blog": diary, "wikipedia": "none"}}), tmp_path) as live:
        assert SECRET in attached(live, {})
        assert SECRET in attached(live, {"blog": diary, "hits": 2})
        assert SECRET not in attached(live, {"blog": "none"})
        refused = attached(live, {"wikipedia": diary})  # set for one place, not for all
        assert "strategy react: wikipedia: source" in refused


def test_models_in_parameters_are_those_of_the_menu() -> None:
    menu = Menu(engine(), ServerOptions(models=("ollama:small",)))
    for name in ("answer_model", "rewrite_model"):
        for fine in ("ollama:small", "none", menu.default_model or ""):
            assert menu.authorize(AskRequest(QUESTION, "react", params={name: fine})).params == {name: fine}
        for wrong in ("ollama:large", "ollama:small?context=9", " ollama:small", "library"):
            with pytest.raises(UsageError, match=f"{name}: model .* is not offered here; there are: scripted, ollama:small"):
                menu.authorize(AskRequest(QUESTION, "react", params={name: wrong}))


def test_the_stream_is_there_for_a_fine_choice(live: Live) -> None:
    with live.client() as client:
        body = {"question": QUESTION, "strategy": "react", "params": {"blog": "library", "wikipedia": "none"}}
        assert stream(client, "POST", "/api/ask", json=body)[-1]["event"] == "answered"


@pytest.mark.parametrize("number", [10**9, 10**18, 10**30, -1, 1e300])
@pytest.mark.parametrize(
    ("strategy", "parameter"),
    [
        ("quote", "results"),
        ("corrective", "top_k"),
        ("corrective", "fallback_results"),
        ("fanout", "results_per_query"),
        ("fanout", "max_queries"),
        ("iterative", "results_per_search"),
        ("react", "hits"),
        ("digest", "similarity_search_top_k_nodes"),
        ("digest", "similarity_search_rescore_multiplier"),
    ],
)
def test_no_number_ends_the_server(shared: Live, strategy: str, parameter: str, number: float) -> None:
    with shared.client() as client:
        for path in ("/api/ask", "/api/runs"):
            reply = client.post(path, json={"question": QUESTION, "strategy": strategy, "params": {parameter: number}})
            assert reply.status_code == 400, reply.text
            assert f"strategy {strategy}: {parameter} must be" in reply.json()["error"]
        assert client.get("/healthz").json() == {"status": "ok"}


def test_the_most_that_is_allowed_is_answered(shared: Live) -> None:
    with shared.client() as client:
        body = {"question": "Who discovered Titan?", "strategy": "quote", "params": {"results": 1000}}
        assert "Huygens" in stream(client, "POST", "/api/ask", json=body)[-1]["answer"]["answer"]
        for path in ("/api/search?q=moons&limit=1000000000", f"/api/search?q=moons&limit={10**30}"):
            assert client.get(path).status_code == 422
        assert len(client.get("/api/search?q=moons&limit=100").json()["hits"]) == 100


async def test_a_fallback_comes_from_the_operators_list(diary: str) -> None:
    menu = Menu(engine(), ServerOptions(sources=(diary,)))
    chosen = menu.authorize(AskRequest(QUESTION, "corrective", fallback=diary))
    assert chosen.engine.settings.fallback == diary
    with pytest.raises(UsageError, match="fallback 'files:/etc' is not offered here"):
        menu.authorize(AskRequest(QUESTION, "corrective", fallback="files:/etc"))


async def test_a_fallback_and_null_go_over_http(live: Live) -> None:
    with live.client() as client:
        body = {"question": QUESTION, "strategy": "react", "params": {"wikipedia": None, "blog": None}}
        assert client.post("/api/ask", json=body).status_code == 200
        refused = client.post("/api/ask", json={**body, "fallback": "files:/etc"})
        assert (refused.is_error, "is not offered here" in refused.text) == (True, True)
        assert client.post("/api/ask", json={**body, "fallback": "library"}).status_code == 200


@pytest.mark.parametrize("seen", [[{}, {"Papers": "library"}], [{"Papers": "library"}, {}]])
@pytest.mark.parametrize(
    "look",
    [
        lambda menu: menu.single_sources,
        lambda menu: menu.searching(("Papers",)),
        lambda menu: menu.authorize(AskRequest(QUESTION, sources=("Papers",))),
        lambda menu: menu.authorize(AskRequest(QUESTION, fallback="Papers")),
    ],
)
def test_a_collection_that_comes_or_goes_between_two_looks_is_there_or_is_not(
    seen: list[Mapping[str, str]], look: Callable[[Menu], object]
) -> None:
    looks = itertools.cycle(seen)
    menu = Menu(engine(), ServerOptions(), lambda: next(looks))
    for _ in range(4):
        with suppress(UsageError):
            look(menu)


PASSWORD = "correct-horse-staple"
LOGIN = f"http://ann:{PASSWORD}@127.0.0.1:9"  # where nothing listens


async def test_no_client_ever_sees_a_password_in_an_address(tmp_path: Path) -> None:
    own = {"iterative": {"rewrite_model": f"openai:third@{LOGIN}/v1"}}
    secret = Engine(Settings(model=f"openai:first@{LOGIN}/v1", sources=("library", f"searxng:{LOGIN}"), params=own, effort="low"))
    offered = {"sources": (f"brave?base={LOGIN}".replace("@", "%40"),), "models": (f"openai:other@{LOGIN}/v1",)}
    seen: list[str] = []
    with running(secret, tmp_path, **offered) as live, live.client(follow_redirects=True) as client:
        menu = client.get("/api/menu").json()
        names = {kind: [one["name"] for one in menu[kind]] for kind in ("sources", "models")}
        assert "searxng:http://127.0.0.1:9" in names["sources"]
        assert names["models"] == ["openai:first@http://127.0.0.1:9/v1", "openai:other@http://127.0.0.1:9/v1"]
        wish = {"question": QUESTION, "strategy": "iterative", "params": {"answer_model": names["models"][1]}}
        wishes = [wish, *({**wish, "sources": [name]} for name in names["sources"] if "127" in name), {**wish, "model": "x"}]
        for one in [*wishes, {**wish, "model": names["models"][1]}, {**wish, "fallback": "no"}]:
            seen.append(client.post("/api/ask", json=one).text)
        begun = client.post("/api/runs", json=wish).json()["id"]
        seen.append(str(finished(client, begun)))
        chat = {"model": "wellread/iterative", "messages": [{"role": "user", "content": QUESTION}]}
        seen += [client.post("/v1/chat/completions", json=chat).text, client.post("/v1/responses", json={"input": QUESTION}).text]
        ways = ("", "/export.md", "/export.json")
        places = [f"/api/runs/{begun}", f"/api/runs/{begun}/events", *(f"/r/{begun}{way}" for way in ways)]
        for place in [
            "/",
            "/history",
            "/search?q=a",
            "/api/menu",
            "/api/plugins",
            "/api/export",
            "/v1/models",
            "/metrics",
            *places,
        ]:
            seen.append(client.get(place).text)
        async with Client(f"{live.url}/mcp") as other:
            seen += [str(await other.list_tools()), str(await other.call_tool("ask", {"question": QUESTION}))]
            with suppress(Exception):
                seen.append(str(await other.call_tool("search", {"query": QUESTION, "source": "no"})))
    assert [one for one in seen if PASSWORD in one] == []
    assert sum("127.0.0.1:9" in one for one in seen) > 10  # it is about these


def test_nor_in_what_goes_wrong_with_one(tmp_path: Path) -> None:
    broken = tuple(f"{name}:{LOGIN}" for name in ("urls", "files", "index", "zotero", "searxng"))
    seen: list[str] = []
    with running(quoting(), tmp_path, sources=broken) as live, live.client() as client:
        for name in (one["name"] for one in client.get("/api/menu").json()["sources"] if "127" in one["name"]):
            seen += [client.post("/api/ask", json={"question": QUESTION, "sources": [name]}).text]
            seen += [client.get(place, params={"q": QUESTION, "source": name}).text for place in ("/api/search", "/search")]
    assert [one for one in seen if PASSWORD in one] == []
    assert sum("127.0.0.1:9" in one for one in seen) > 8


def test_a_public_spec_leads_back_to_the_one_with_the_password() -> None:
    specs = (f"searxng:{LOGIN}", f"searxng:{LOGIN}".replace("ann", "bob"))
    menu = Menu(engine(), ServerOptions(sources=specs, models=(f"openai:m@{LOGIN}/v1",)))
    first, second = (name for name in menu.sources if name.startswith("searxng"))
    assert menu.authorize(AskRequest(QUESTION, "corrective", fallback=second)).engine.settings.fallback == specs[1]
    wish = AskRequest(QUESTION, "react", sources=(first,), model=menu.models[1], params={"answer_model": menu.models[1]})
    asked = menu.authorize(wish)
    assert asked.sources == (first,)
    assert asked.model == "openai:m@http://127.0.0.1:9/v1"
    assert asked.engine.kit.model_spec() == asked.params["answer_model"] == f"openai:m@{LOGIN}/v1"
