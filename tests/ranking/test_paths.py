"""The search along paths, driven by hand: it asks, a script answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellread.core.effort import ALLOWED
from wellread.ranking.paths import (
    Collect,
    Found,
    Plan,
    Score,
    Verdict,
    Weights,
    log_probability,
    place_worth,
    rank_passages,
    rank_paths,
    reading_chains,
    search_paths,
)

WEIGHTS = Weights(temperature=1.0, bias=0.0, first_list=0.3)
Path = tuple[str, ...]


@dataclass
class Script:
    """Gives the verdicts and candidates of a search, and keeps what was asked."""

    relevance: Callable[[Path], float]
    after: Callable[[Path], Sequence[Sequence[str]]] = lambda chain: ([], [])
    scored: list[Path] = field(default_factory=list[Path])
    collected: list[Path] = field(default_factory=list[Path])

    settled: Callable[[Mapping[Path, Verdict]], bool] | None = None

    def run(self, ranked: Sequence[str], plan: Plan, weights: Weights = WEIGHTS) -> Found[str]:
        search = search_paths(ranked, plan, weights, self.settled)
        reply = None
        while True:
            try:
                request = next(search) if reply is None else search.send(reply)
            except StopIteration as end:
                return end.value
            if isinstance(request, Score):
                self.scored += request.chains
                reply = [Verdict(self.relevance(chain)) for chain in request.chains]
            else:
                assert isinstance(request, Collect)
                self.collected += request.chains
                reply = [self.after(chain) for chain in request.chains]


def order(found: Found[str]) -> list[str]:
    return [key for key, _ in found.ranking]


def test_every_effort_keeps_within_its_pairs() -> None:
    for allowed in ALLOWED.values():
        assert allowed.plan.pairs <= allowed.pairs


@pytest.mark.parametrize(("sure_from", "scored"), [("b", "ab"), ("c", "abcd")])
def test_reading_stops_when_the_answer_is_soon_sure(sure_from: str, scored: str) -> None:
    script = Script(lambda chain: 0.0, settled=lambda verdicts: (sure_from,) in verdicts)
    found = script.run("abcdef", Plan(singles=4, firsts=1, seconds=2, opening=2))
    assert [chain for chain in script.scored if len(chain) == 1] == [(key,) for key in scored]
    assert found.settled == (sure_from == "b")
    assert bool(script.collected) != found.settled, "nothing is followed"
    assert sorted(order(found)) == list("abcdef"), "what was not read stays in the list"


@pytest.mark.parametrize(("likely", "judged"), [("b", "bc"), ("e", "bcde")])
def test_more_candidates_are_judged_where_none_of_the_first_is_likely_to_follow(likely: str, judged: str) -> None:
    script = Script(lambda chain: 3.0 if chain[-1] == likely else -3.0, after=lambda chain: (list("bcde"), []))
    script.run("a", Plan(singles=1, firsts=1, seconds=2, again=2))
    assert [chain for chain in script.scored if len(chain) == 2] == [("a", key) for key in judged]


@pytest.mark.parametrize(
    ("logit", "singles", "followed"),
    [(-9.0, "ab", False), (-1.0, "abcd", True), (3.0, "ab", True)],
    ids=["nothing is near", "none is likely yet", "one is likely"],
)
def test_rounds_that_cannot_change_the_answer_are_left_out(logit: float, singles: str, followed: bool) -> None:
    script = Script(lambda chain: logit, settled=lambda verdicts: False)
    found = script.run("abcdef", Plan(singles=4, firsts=1, seconds=2, again=2, opening=2))
    assert [chain for chain in script.scored if len(chain) == 1] == [(key,) for key in singles]
    assert bool(script.collected) == followed
    assert not found.settled


def test_a_passage_that_leads_nowhere_is_not_followed() -> None:
    script = Script(lambda chain: 1.0 if chain == ("a",) else -9.0)
    script.run("abc", Plan(singles=3, firsts=2, seconds=1))
    assert script.collected == [("a",)]


def test_without_an_opening_everything_is_read_however_sure() -> None:
    script = Script(lambda chain: 0.0, settled=lambda verdicts: True)
    script.run("abcd", Plan(singles=4, firsts=1, seconds=2))
    assert script.collected


def test_a_low_effort_asks_nothing_and_keeps_the_list() -> None:
    script = Script(lambda chain: 0.0)
    assert order(script.run("abc", ALLOWED["low"].plan)) == ["a", "b", "c"]
    assert script.scored == script.collected == []


@pytest.mark.parametrize("effort", ["low", "normal", "high"])
def test_an_empty_list_leads_nowhere(effort: str) -> None:
    script = Script(lambda chain: 0.0)
    assert script.run([], ALLOWED[effort].plan).ranking == ()
    assert script.scored == script.collected == []


def test_a_second_step_that_the_first_list_does_not_hold_is_found() -> None:
    logits = {("film",): 3.0, ("film", "director"): 4.0}
    script = Script(
        lambda chain: logits.get(chain, -5.0),
        lambda chain: (["director"], ["noise", "b"]) if chain == ("film",) else ([], ["noise"]),
    )
    first = ["a", "film", *"bcdefgh"]
    found = script.run(first, ALLOWED["normal"].plan)
    assert order(found)[:2] == ["film", "director"]
    assert set(order(found)) == {*first, "director", "noise"}
    assert script.scored[: len(first)] == [(key,) for key in first], "first everything alone"
    assert script.collected[0] == ("film",), "the best passage is followed first"
    assert ("film", "film") not in script.scored


def test_no_chain_is_judged_twice() -> None:
    script = Script(lambda chain: -float(len(chain)), lambda chain: (["b", "b", "a"], ["a", "b"], ["b"]))
    script.run(["a", "b", "a"], ALLOWED["high"].plan)
    assert len(script.scored) == len(set(script.scored))


keys = st.sampled_from("abcdefghijklmnop")
lists = st.lists(keys, max_size=12)
plans = st.builds(
    Plan,
    singles=st.integers(0, 8),
    firsts=st.integers(0, 3),
    seconds=st.integers(0, 5),
    reads=st.integers(0, 4),
)


@given(lists, plans, st.lists(lists, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_never_more_pairs_than_planned_and_no_passage_lost(ranked: list[str], plan: Plan, more: list[list[str]], chance) -> None:  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]
    seen = set(ranked)
    script = Script(lambda chain: chance.uniform(-9, 9), lambda chain: [chance.sample(entries, len(entries)) for entries in more])
    found = script.run(ranked, plan)
    assert len(script.scored) <= plan.pairs
    assert max(map(len, script.scored), default=0) <= 4
    assert set(found.verdicts) == set(script.scored)
    got = order(found)
    assert len(got) == len(set(got)), "each passage once"
    assert set(got) >= seen, "nothing of the first list is lost"
    assert set(got) >= {chain[0] for chain in script.scored}
    assert set(got) <= seen.union(*more)
    scores = [score for _, score in found.ranking]
    assert scores == sorted(scores, reverse=True)
    assert all(map(math.isfinite, scores))


def test_paths_of_different_lengths_compete_by_their_mean_step() -> None:
    verdicts = {
        chain: Verdict(logit)
        for chain, logit in {("a",): 2.0, ("b",): -1.0, ("a", "b"): 2.0, ("b", "a"): 9.0, ("a", "b", "c"): 2.0}.items()
    }
    verdicts["x", "y"] = Verdict(9.0)  # nobody judged x alone: no path
    paths = rank_paths(verdicts, WEIGHTS)
    assert {path for path, _ in paths} == {("a", "b"), ("b", "a"), ("a", "b", "c")}
    assert paths[-1][0] == ("b", "a")
    by = dict(paths)
    assert by["a", "b"] == pytest.approx(by["a", "b", "c"])
    assert by["a", "b"] == pytest.approx(2 * log_probability(2.0, WEIGHTS))


def test_a_passage_is_as_good_as_its_better_half() -> None:
    verdicts = {("a",): Verdict(-4.0), ("b",): Verdict(3.0), ("b", "z"): Verdict(3.0)}
    ranking = rank_passages(["a", "b", "u", "v"], verdicts, WEIGHTS)
    assert [key for key, _ in ranking] == ["b", "z", "a", "u", "v"], "those nobody judged follow in their order"


def test_equal_verdicts_leave_the_first_list_as_it_was() -> None:
    verdicts = {(key,): Verdict(1.5) for key in "dbca"}
    assert [key for key, _ in rank_passages("dbca", verdicts, WEIGHTS)] == list("dbca")


@given(st.floats(-200, 200), st.floats(-200, 200), st.floats(0.2, 5), st.floats(-3, 3))
def test_log_probabilities_are_those_of_a_logistic_curve(one: float, other: float, temperature: float, bias: float) -> None:
    weights = Weights(temperature, bias)
    low, high = sorted((one, other))
    assert log_probability(low, weights) <= log_probability(high, weights) <= 0.0
    probability = math.exp(log_probability(one, weights))
    assert 0.0 <= probability <= 1.0
    scaled = one / temperature + bias
    if abs(scaled) < 30:
        assert probability == pytest.approx(1 / (1 + math.exp(-scaled)), rel=1e-6)


def test_places_are_worth_less_and_less() -> None:
    worth = [place_worth(rank) for rank in range(50)]
    assert worth[0] == 1.0
    assert worth[10] == 0.5
    assert worth == sorted(worth, reverse=True)


def test_chains_to_read_are_the_best_passages_together_and_the_best_path_backwards() -> None:
    verdicts = {("a",): Verdict(1.0), ("a", "b"): Verdict(1.0)}
    assert reading_chains(list("abcd"), verdicts, WEIGHTS, 9) == [("a", "b", "c"), ("a", "b", "c", "d"), ("b", "a")]
    assert reading_chains(list("abcd"), verdicts, WEIGHTS, 1) == [("a", "b", "c")]
    assert reading_chains(["a"], {}, WEIGHTS, 3) == []
