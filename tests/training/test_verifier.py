"""Claims that the verifier learns from: the true ones and what is made of them."""

from __future__ import annotations

import random
import re

from training.verifier.changes import Scene, changed
from training.verifier.claims import claims
from training.verifier.facts import Sorts, facts, listed
from training.verifier.worlds import relations, world

TEXT = (
    "Mara Venn (born 4 May 1901) was a painter. She was taught by Otto Brink in Ulm. In 1930 she painted three bridges in Bath."
)


def test_a_world_has_every_true_claim_filled_and_none_among_the_untrue() -> None:
    rng = random.Random(1)
    for _ in range(200):
        made = world(rng)
        for true, untrue in made.claims:
            assert "{" not in true + "".join(untrue)
            assert true not in untrue


def test_every_form_of_a_fact_speaks_of_the_same() -> None:
    """A slot that only one form has would make the others say less, and their changes true."""
    for forms in relations():
        assert len({frozenset(re.findall(r"{(.)}", form)) for form in forms}) == 1, forms
        assert len(forms) >= 3, forms


def test_changes_are_no_sentences_of_the_passage_and_differ_from_the_claim() -> None:
    row = {"title": "Mara Venn", "text": TEXT}
    sorts = Sorts([("Mara Venn", TEXT)])
    made = [claim for seed in range(30) for claim in claims(0, [row, row], sorts, seed)]
    assert made
    for claim in made:
        assert all(one != claim.true and one not in TEXT for one in claim.untrue)
    said = " ".join(one for claim in made for one in claim.untrue)
    assert "not" in said
    assert "Otto Brink" in said


def test_names_in_a_list_are_not_put_for_each_other() -> None:
    text = "The film stars Ada Holt, Ben Cray and Cleo Marsh. It was directed by Dan Orr."
    assert listed(text, "Ada Holt", "Ben Cray")
    assert not listed(text, "Ada Holt", "Dan Orr")
    scene = Scene(text, facts(text), (), Sorts([]))
    rng = random.Random(2)
    made = {changed("Ada Holt is in the film.", scene, rng) for _ in range(200)} - {None}
    assert not any("Ben Cray" in str(one) for one in made)
    assert any("Dan Orr" in str(one) for one in made)
