"""Which sentences of an answer are carried by what they cite, and by which words."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.timing import seconds

from wellread.citations.check import check
from wellread.citations.evidence import Source
from wellread.text.sentences import sentences
from wellread.types import Passage, Sentence

GALILEO = Passage(
    "galileo",
    "Galileo Galilei was born in Pisa on 15 February 1564. In January 1610 he discovered four moons of Jupiter with a "
    "telescope: Io, Europa, Ganymede and Callisto. He did not discover Saturn's moons. "
    "About 1,000 copies of his book were printed. He died near Florence in 1642.",
    title="Galileo (astronomer)",
    url="https://en.wikipedia.org/wiki/Galileo_(astronomer)",
    source="wikipedia",
)
PLANETS = Passage(
    "planets",
    "Jupiter has 95 known moons. Saturn has 146 moons. Ganymede is the largest moon of Jupiter, with a diameter of 5,268 "
    "kilometres. Io is not the largest moon. Nearly 1.5 million people watched NASA's broadcast in the 1960s.",
    title="Planets and their moons",
    url="https://example.org/planets",
    published="2023-06-05",
)
AGENCY = Passage(
    "agency",
    "The National Aeronautics and Space Administration was founded in 1958. The agency works with Italy and the U.S. Navy.",
)
CHINESE = Passage("chinese", "伽利略于1610年发现了木星的四颗卫星。木星是太阳系最大的行星。", title="伽利略")
JAPANESE = Passage("japanese", "ガリレオは木星の衛星ガニメデを発見した。土星には多くの衛星がある。")
GERMAN = Passage("german", "Die Donau fließt durch Wien. Sie ist nicht der längste Fluss Europas.")
HINDI = Passage("hindi", "गैलीलियो ने 1610 में बृहस्पति के चार चंद्रमा देखे। वे एक खगोलशास्त्री थे।")
PASSAGES = {1: GALILEO, 2: PLANETS, 3: AGENCY, 4: CHINESE, 5: JAPANESE, 6: GERMAN, 7: HINDI}

CARRIED = [
    "Galileo discovered four moons of Jupiter in 1610 [1].",
    "Galileo discovered 4 moons of Jupiter in January 1610. [1]",
    "In 1610, four of Jupiter's moons were discovered by Galileo[1].",
    "Galileo Galilei was born in Pisa on February 15, 1564 [1].",
    "GALILEO was born in Pisa 【1】.",
    "Four moons were discovered with a telescope [source 1].",
    "He printed about 1000 copies of the book [1].",
    "One thousand copies of his book were printed [1].",
    "He was born in 1564 and died in 1642 [1].",
    "He did not discover Saturn's moons [1].",
    "He didn't discover Saturn's moons [1].",
    "Jupiter has 95 moons and Saturn has 146 moons [2].",
    "Jupiter has ninety-five moons [2].",
    "The largest moon of Jupiter is Ganymede [2].",
    "Ganymede has a diameter of 5268 kilometres [2].",
    "Galileo discovered Ganymede [1], the largest moon of Jupiter [2].",
    "Io isn't the largest moon [2].",
    "1,500,000 people watched the NASA broadcast [2].",
    "People watched the broadcast of NASA in the 1960s [2].",
    "NASA was founded in 1958 [3].",
    "Galileo died at the age of 78 [1].",
    "The agency works with the Italian side and the US Navy [3].",
    "Callisto [1].",
    "G. Galilei was born in Pisa in 1564 [1].",
    "Answer: 1642 [1]",
    "In short, Galileo died near Florence in 1642 [1].",
    "Galileo's four moons, Io among them, were not only discovered in 1610 but discovered with a telescope [1].",
    "Ganymède est le largest moon de Jupiter [2].",
    "Ganyme\u0300de is the largest moon of Jupiter [2].",
    "गैलीलियो ने 1610 में बृहस्पति के चंद्रमा देखे [7]।",
    "Jupiter has 95 known moons, published in June 2023 [2].",
    "According to [Wikipedia](https://en.wikipedia.org/wiki/Galileo_(astronomer)), Galileo was born in Pisa.",
    "[Galileo](https://en.wikipedia.org/wiki/Galileo_(astronomer)) was born in Pisa in 1564.",
    "Galileo died near Florence. ([Galileo, an article](http://en.wikipedia.org/wiki/Galileo_%28astronomer%29#Death))",
    "Saturn has 146 moons [2][99].",
    "- **Ganymede** has a diameter of 5,268 kilometres [2]",
    "伽利略于1610年发现了木星的四颗卫星。[4]",
    "1610年伽利略发现了木星的卫星[4]。",
    "木星の衛星ガニメデを発見した[5]。",
    "Die Donau fließt durch Wien [6].",
]
NOT_CARRIED = [
    "Galileo discovered five moons of Jupiter in 1610 [1].",
    "Galileo discovered four moons of Jupiter in 1611 [1].",
    "Galileo discovered 44 moons of Jupiter in January 1610 [1].",
    "Galileo Galilei was born in Padua on 15 February 1564 [1].",
    "Galileo Galilei was born in Pisa on 16 February 1564 [1].",
    "Galileo Galilei was born in Pisa on 15 March 1564 [1].",
    "Zorblax discovered four moons of Jupiter in 1610 [1].",
    "Simon Marius discovered four moons of Jupiter in 1610 [1].",
    "Marius, a German, discovered four moons of Jupiter [1].",
    "Galileo and Marius discovered four moons of Jupiter [1].",
    "Marius's telescope showed four moons of Jupiter [1].",
    "Galileo discovered four moons of Jupiter in 1610.",
    "Galileo discovered four moons of Jupiter in 1610 [99].",
    "Galileo discovered four moons of Jupiter in 1610 [2].",
    "Galileo discovered Saturn's moons [1].",
    "Galileo did not discover four moons of Jupiter [1].",
    "Galileo never discovered four moons of Jupiter [1].",
    "About 10,000 copies of his book were printed [1].",
    "Io is the largest moon [2].",
    "Ganymede isn't the largest moon of Jupiter [2].",
    "Ganymede has a diameter of 5,628 kilometres [2].",
    "Nearly 1.5 billion people watched the broadcast [2].",
    "People watched the broadcast of NASA in the 1970s [2].",
    "ESA was founded in 1958 [3].",
    "Galileo died at the age of 87 [1].",
    "The agency was founded in 1958 by eNASA [3].",
    "The weather was lovely and everybody enjoyed cheap coffee [1].",
    "Yes [1].",
    "伽利略于1611年发现了木星的四颗卫星。[4]",
    "木星の衛星カリストを発見した[5]。",
    "Die Donau fließt durch Graz [6].",
    "गैलीलियो ने 1611 में बृहस्पति के चंद्रमा देखे [7]।",
    "Sie ist der längste Fluss Europas [6].",
    "[Marius](https://en.wikipedia.org/wiki/Galileo_(astronomer)) was born in Pisa in 1564.",
    "[Galileo](https://example.org/other) was born in Pisa.",
]


def only(text: str) -> Sentence:
    found = check(text, PASSAGES)
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("text", CARRIED)
def test_carried(text: str) -> None:
    sentence = only(text)
    assert sentence.supported
    assert sentence.citations
    assert any(citation.quote for citation in sentence.citations)


@pytest.mark.parametrize("text", NOT_CARRIED)
def test_not_carried(text: str) -> None:
    assert not only(text).supported


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        ("In Scandinavia the Bristly Bellflowers are native [1].", True),
        ("In Scandinavia the Bristly Bellbirds are native [1].", False),
        ("It grew in Scandinavia in the 2018–19 season [1].", True),
        ("It grew in Scandinavia in the 2018–20 season [1].", False),
        ("It grew in Scandinavia in the 2017–19 season [1].", False),
    ],
)
def test_names_in_two_words_and_spans_of_years_may_be_spelled_otherwise(text: str, carried: bool) -> None:
    told = Passage("b", "The bristly bell flower is native to Scandinavia. In Scandinavia it grew in the 2018-2019 season.")
    assert [one.supported for one in check(text, {1: told})] == [carried]


@pytest.mark.parametrize(
    ("text", "number", "quote"),
    [
        ("Galileo died near Florence [1].", 1, "He died near Florence in 1642."),
        ("“Saturn has 146 moons.” [2]", 2, "Saturn has 146 moons."),
        ("> Saturn has 146 moons [2].", 2, "Saturn has 146 moons."),
        ("with a telescope: Io, Europa, Ganymede and Callisto [1]", 1, "with a telescope: Io, Europa, Ganymede and Callisto"),
        (
            "Ganymede is the biggest of them [2].",
            2,
            "Ganymede is the largest moon of Jupiter, with a diameter of 5,268 kilometres.",
        ),
        ("木星是太阳系最大的行星[4]。", 4, "木星是太阳系最大的行星。"),
        ("Dogs chase cats [2].", 2, ""),
    ],
)
def test_the_words_that_carry(text: str, number: int, quote: str) -> None:
    (citation,) = only(text).citations
    assert (citation.number, citation.quote) == (number, quote)


def test_support_is_the_share_that_was_found() -> None:
    whole, half, none = (
        only(text).citations[0].support for text in ("Saturn has moons [2].", "Saturn has gold [2].", "Gold [2].")
    )
    assert whole == 1.0
    assert 0.0 < half < 1.0
    assert none == 0.0


def test_several_passages_carry_a_sentence_together() -> None:
    sentence = only("Galileo died near Florence and NASA was founded in 1958 [1][3].")
    assert sentence.supported
    assert [citation.number for citation in sentence.citations] == [1, 3]
    assert all(0 < citation.support < 1 for citation in sentence.citations)


def test_of_a_linked_page_the_piece_that_carries_is_cited() -> None:
    pieces = {
        n: Passage(str(n), text, url="https://a.org/p") for n, text in ((1, "Cats sleep a lot."), (2, "Dogs bark at night."))
    }
    (sentence,) = check("[Dogs](https://www.a.org/p/) bark at night.", pieces)
    assert sentence.supported
    assert [citation.number for citation in sentence.citations] == [2]


@pytest.mark.parametrize("denial", ["It is not true that {}.", "The story that {} is false.", "That {} is a myth."])
def test_words_beside_a_denial_are_no_quotation(denial: str) -> None:
    passages = {1: Passage("a", denial.format("the Great Wall can be seen from the Moon"))}
    (sentence,) = check("The Great Wall can be seen from the Moon [1].", passages)
    assert not sentence.supported


@pytest.mark.parametrize(
    "text",
    [
        "# The moons of Jupiter\n\nSaturn has 146 moons [2].",
        "**The largest moon**\n\nSaturn has 146 moons [2].",
        "Here is what I found:\n\n- Saturn has 146 moons [2].",
        "How many moons has Saturn? Saturn has 146 moons [2].",
        "Saturn has 146 moons [2].\n\n---\n\nSources:\n\n- [2] Planets and their moons\n- [Planets](https://example.org/planets)",
        "Saturn has 146 moons [2].\n\nI could not find an answer about the rest.",
        "Saturn has 146 moons [2].\n\nThe passages do not say more about Saturn.",
        "| Planet | Moons |\n|---|---:|\n| Saturn | 146 [2] |",
    ],
)
def test_what_states_nothing_needs_no_citation(text: str) -> None:
    assert all(sentence.supported for sentence in check(text, PASSAGES))


@pytest.mark.parametrize(
    "text",
    [
        "# Marius found 500 moons\n\nSaturn has 146 moons [2].",
        "Did you know that Saturn has 500 moons? Saturn has 146 moons [2].",
        "Here is what Marius found:\n\n- Saturn has 146 moons [2].",
        "The results of Saturn were not good.\n\nSaturn has 146 moons [2].",
    ],
)
def test_a_form_that_states_nothing_hides_no_fact(text: str) -> None:
    assert [sentence.supported for sentence in check(text, PASSAGES)] == [False, True]


@pytest.mark.parametrize(
    ("text", "supported"),
    [
        ("Galileo was born in Pisa. He died near Florence in 1642 [1].", [True, True]),
        ("Galileo was born in Pisa. He saw six comets. He died near Florence [1].", [True, False, True]),
        ("Galileo was born in Padua. He died near Florence [1].", [False, True]),
        ("Galileo was born in Pisa.\n\nHe died near Florence [1].", [False, True]),
        ("Galileo was born in Pisa. He died near Florence [1]. He was old.", [False, True, False]),
        ("He died near Florence [1]. Galileo was born in Pisa.", [True, False]),
        ("Galileo was born in Pisa [99]. He died near Florence [1].", [False, True]),
        ("Galileo discovered four moons:\n- Io [1]\n- Europa [1]", [True, True, True]),
        ("The moons that Galileo discovered are [1]:\n- Io\n- Europa\n- Titan", [True, True, True, False]),
    ],
)
def test_a_sentence_borrows_the_citation_at_the_end_of_its_paragraph(text: str, supported: list[bool]) -> None:
    found = check(text, PASSAGES)
    assert [sentence.supported for sentence in found] == supported
    assert all(sentence.citations for sentence in found if sentence.supported)


def test_spans_and_texts_agree() -> None:
    text = "# Moons\n\nSaturn has 146 moons. [2] And so on [1, 2].\n- Io [1]"
    for sentence in check(text, PASSAGES):
        assert text[sentence.start : sentence.end] == sentence.text


def test_nothing_to_check() -> None:
    assert check("", PASSAGES) == []
    assert check(" \n ", {}) == []
    (sentence,) = check("Saturn has 146 moons [2].", {})
    assert (sentence.supported, sentence.citations) == (False, ())
    (sentence,) = check("Saturn has 146 moons [1].", {1: Passage("empty", "")})
    assert (sentence.supported, sentence.citations[0].quote) == (False, "")


WORDS = "river mountain tiger yellow quietly jumps builds ancient bridge stone music window garden village teacher".split()  # noqa: SIM905
NAMES = ["Anna", "Berlin", "Dr. Weber", "J. S. Bach", "Zürich", "Łódź", "São Paulo", "the U.S. Navy", "Åsa"]
NUMBERS = ["3", "3.14", "1,000", "1610", "42 %", "$2.5 million", "1/2", "15 May 1990", "0.5"]
SENTENCE = st.tuples(
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=6, unique=True),
    st.sampled_from(NUMBERS),
    st.sampled_from([".", "!", "…", ".)"]),
).map(lambda parts: f"{parts[0][0].upper()}{parts[0][1:]} {' '.join(parts[1])} {parts[2]} e.g. {parts[1][0]}{parts[3]}")
PASSAGE = st.lists(SENTENCE, min_size=1, max_size=6, unique=True).map(" ".join)
MARKS = st.sampled_from([" [1]", "[1]", " [1][2]", " [1, 2]", " [1-2] [99]", " 【1】", " [x](https://a.org/1)"])


@pytest.mark.slow
@given(PASSAGE, PASSAGE, MARKS, st.data())
def test_a_quoted_sentence_is_always_carried(first: str, second: str, mark: str, data: st.DataObject) -> None:
    passages = {1: Passage("1", first, url="https://a.org/1"), 2: Passage("2", second)}
    start, end = data.draw(st.sampled_from(sentences(first)))
    quoted = first[start:end]
    (sentence,) = check(quoted + mark, passages)
    assert sentence.supported
    assert sentence.citations[0].quote == quoted
    assert sentence.citations[0].support == 1.0


@pytest.mark.slow
@given(PASSAGE, st.sampled_from(["Quimby", "in 1777", "Mrs. Xanthippe", "7,777", "Ördög"]), MARKS, st.data())
def test_a_made_up_name_or_number_is_never_carried(text: str, lie: str, mark: str, data: st.DataObject) -> None:
    start, end = data.draw(st.sampled_from(sentences(text)))
    words = text[start:end].split(" ")
    place = data.draw(st.integers(2, len(words) - 1))
    assume(not words[place - 1].endswith("."))
    told = " ".join([*words[:place], lie, *words[place:]])
    found = check(told + mark, {1: Passage("1", text, url="https://a.org/1")})
    assert not all(sentence.supported for sentence in found)


@given(st.text(max_size=200), st.text(max_size=300), st.text(max_size=300))
@example("x [1] 【2】[1-2]", "x", "")
def test_any_text_is_checked_without_error(answer: str, first: str, second: str) -> None:
    passages = {1: Passage("1", first, title=second, url="http://[bad"), 2: Passage("2", second)}
    text = f"{answer} [1][2] {answer}\n\n{answer}"
    found = check(text, passages)
    assert found == check(text, passages)
    for sentence in found:
        assert text[sentence.start : sentence.end] == sentence.text
        for citation in sentence.citations:
            assert 0 <= citation.start <= citation.end <= len(citation.passage.text)
            assert 0.0 <= citation.support <= 1.0


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=120))
@example("E\xad")
def test_any_passage_sentence_can_be_quoted(text: str) -> None:
    assume("[" not in text and "`" not in text and "【" not in text and "［" not in text and "\n" not in text)
    for start, end in sentences(text):
        quoted = text[start:end]
        assume(quoted[0].isalpha() and len(sentences(quoted + " [1]")) == 1)
        assume(Passage("1", text).text == text)  # controls are taken out of passages
        (sentence,) = check(f"{quoted} [1]", {1: Passage("1", text)})
        assert sentence.supported
        assert sentence.citations[0].quote == quoted


def test_nothing_is_quoted_by_no_words() -> None:
    assert Source(Passage("1", "\u2060")).quotation('"') is None


MANY = {
    n: Passage(str(n), " ".join(f"Person{i} Name{n} built {i * 7 + n} houses near the river in {1800 + i}." for i in range(20)))
    for n in range(1, 21)
}
LONG: dict[str, Callable[[int], str]] = {
    "prose": lambda k: f"Person{k % 20} Name{k % 19} built {k} houses in {1800 + k % 20} [{k % 20 + 1}][{k % 7 + 1}]. ",
    "one paragraph without citations": lambda k: f"Person{k % 20} built houses. ",
    "one list without citations": lambda k: f"- Person{k % 20} built houses:\n",
    "markers": lambda k: f"[{k % 20 + 1}]",
    "remarks": lambda k: "The sources not " if k == 0 else "not ",
    "quotations": lambda k: f"Person{k % 20} Name1 built {k % 20 * 7 + 1} houses near the river in {1800 + k % 20}. [1]\n",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("kind", LONG)
def test_a_long_answer_takes_time_in_proportion(kind: str) -> None:
    def took(count: int, enough: float = 0.0) -> float:
        text = "".join(LONG[kind](k) for k in range(count))
        return seconds(lambda: check(text, MANY), enough=enough)

    took(10)
    limit = 40 * took(100) + 0.1
    assert took(1000, limit) <= limit


def test_years_before_christ_are_no_hindrance() -> None:
    qin = {1: Passage("q", "The Qin dynasty began in 221 BC and ended in 206 BC, after years of war.", title="Qin")}
    (sentence,) = check("The Qin dynasty lasted 19 years, until 206 BC. [1]", qin)
    assert sentence.verdict == "not carried"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("Ada Holt was about 36 when she died.", "Ada Holt was about 52 when she died."),
        ("Ada Holt, the mapmaker, died in the nineteenth century.", "Ada Holt, the mapmaker, died in the 17th century."),
        ("Ada Holt sold nearly 22,000 maps.", "Ada Holt sold nearly 29,000 maps."),
    ],
)
def test_what_follows_from_a_passage_is_carried(right: str, wrong: str) -> None:
    holt = {
        1: Passage(
            "h", "Ada Holt, a mapmaker, was born in London in 1815 and died in 1852. She sold 21,870 maps.", title="Ada Holt"
        )
    }
    assert [check(f"{text} [1]", holt)[0].supported for text in (right, wrong)] == [True, False]


def test_a_passage_that_lists_every_year_is_not_compared_pair_by_pair() -> None:
    listed = {1: Passage("y", f"The bridge stood in {' '.join(map(str, range(1000, 2100)))}.", title="Bridge")}
    begun = time.thread_time()
    assert not check("The bridge stood for 1101.5 years and 1102.5 years and 1103.5 years [1].", listed)[0].supported
    assert time.thread_time() - begun < 0.5


def test_addresses_are_read_only_where_a_link_may_lead_to_one() -> None:
    passages = {n: Passage(str(n), "The bridge stood.", url=f"https://source.example/{'%41' * 2000}{n}") for n in range(100)}
    begun = time.thread_time()
    for _ in range(30):
        assert check("The bridge stood [1].", passages)[0].supported
    assert time.thread_time() - begun < 0.5


@pytest.mark.parametrize("word", ["isnt", "isn′t", "isn t", "isn’t"])
def test_a_not_is_seen_whatever_its_apostrophe_is(word: str) -> None:
    passages = {1: Passage("t", "Titan is the largest moon of Saturn.", title="Titan")}
    assert check(f"Titan {word} the largest moon of Saturn [1].", passages)[0].verdict == "not carried"


BRIDGE = {
    1: Passage(
        "b",
        "The Ashford bridge was opened in 1990. It was built by Maria Keller. Write to bridge@ashford.example.",
        title="Ashford bridge",
        url="https://www.theguardian.example/bridge",
    )
}


@pytest.mark.parametrize(
    "word", ["not", "(not)", r"\(not\)", "n\u200bot", "n\u00adot", "n&#111;t", "n&ZeroWidthSpace;ot", "n\U000e006fot"]
)
def test_a_sentence_is_checked_as_it_is_shown(word: str) -> None:
    assert check(f"The Ashford bridge was {word} opened in 1990 [1].", BRIDGE)[0].verdict == "not carried"


@pytest.mark.parametrize(
    "text",
    [
        *(
            f"The Ashford bridge was {word} opened in 1990 [1]."
            for word in (
                "ɴᴏᴛ",
                "🚫",
                "n0t",
                r"$\neg$",
                "n\u043et",
                "ｎｏｔ",
                "ⓝⓞⓣ",
                "🇳🇴🇹",
                "n**o**t",
                "n<b>o</b>t",
                "n<i></i>ot",
                "n[](https://www.theguardian.example/bridge)ot",
                "n o t",
                "n-o-t",
                "n_o_t",
                "n\u3164ot",
                "n\u115fot",
                "~~surely~~",
                "n\u0336o\u0336t\u0336",
            )
        ),
        *(f"The Ashford bridge was opened in {year} [1]." for year in ("①⑨⑨⓪", "199O", "l990", "1990½")),
        "The Ashford bridge was ≠ opened in 1990 [1].",
        "It is a myth that the Ashford bridge was opened in 1990 [1].",
        "The Ashford bridge was opened in 1990 — a lie [1].",
    ],
)
def test_what_is_not_plain_is_not_checked_and_says_so(text: str) -> None:
    (sentence,) = check(text, BRIDGE)
    assert (sentence.verdict, sentence.supported) == ("not checked", False)
    own = {1: Passage("b", f"Somebody wrote: {text.removesuffix(' [1].')}.")}
    assert check(text, own)[0].supported, "its passage has it word for word"


@pytest.mark.parametrize(
    "text",
    [
        "The **Ashford bridge**, a “bridge” – or *span* – was opened in 1990 … [1].",
        "The Ashford bridge → opened in the 1990s [1].",
    ],
)
def test_plain_signs_are_no_disguise(text: str) -> None:
    assert check(text, BRIDGE)[0].verdict == "carried"


DRUG = {1: Passage("d", "The drug is not safe for children. The dose is 5 mg per day. A cup of ½ litre and 2.5 kg go with it.")}


@pytest.mark.parametrize("dose", ["is 5½", "is ⅝", "is ½", "is .5", "is 5e3", "is 5k", "is 5O", "is 1½5"])
def test_a_number_in_another_writing_is_another_number(dose: str) -> None:
    assert check("The dose is 5 mg per day [1].", DRUG)[0].supported
    assert not check(f"The dose {dose} mg per day [1].", DRUG)[0].supported
    assert check("With the dose go a cup of ½ litre and ~2.5 kg [1].", DRUG)[0].supported


def test_invisible_signs_in_a_word_do_not_make_it_another() -> None:
    assert check("The Ash\u00adford bridge was opened in 1990 [1].", BRIDGE)[0].supported
    persian = {1: Passage("p", "او می\u200cخواهد به خانه برود.")}
    assert check("او می\u200cخواهد به خانه برود [1].", persian)[0].supported


@pytest.mark.parametrize(
    "shown",
    [
        "1990 ([and four thousand people drowned](https://www.theguardian.example/bridge)).",
        "1990. [And four thousand people drowned](https://www.theguardian.example/bridge)",
        "1990 【1†and four thousand people drowned】.",
        "1990 【1: and four thousand people drowned】.",
        "1990, with tickets at https://evil.example/pay [1].",
        "1990, with tickets at www.evil.example/pay [1].",
        "1990, as pay@evil.example will tell [1].",
    ],
)
def test_all_that_is_shown_of_a_sentence_is_checked(shown: str) -> None:
    assert not any(one.supported for one in check(f"The Ashford bridge was opened in {shown}", BRIDGE))


@pytest.mark.parametrize(
    "shown",
    [
        "1990 ([The Guardian](https://www.theguardian.example/bridge)).",
        "1990. ([source](https://www.theguardian.example/bridge))",
        "1990 【1†L3-L5】.",
        "1990 【1:0†source】.",
        "1990, see https://www.theguardian.example/bridge [1].",
        "1990, as bridge@ashford.example will tell [1].",
    ],
)
def test_what_names_a_source_is_no_claim(shown: str) -> None:
    assert all(one.supported for one in check(f"The Ashford bridge was opened in {shown}", BRIDGE))


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("The rate rose by 5% in 2020.", "The rate rose by 5‰ in 2020."),
        ("The rate rose by 5‰ in 2020.", "The rate rose by 5 percent in 2020."),
        ("Two thirds of the members voted for the plan.", "Two fifths of the members voted for the plan."),
        ("World War II ended in Europe in May.", "World War I ended in Europe in May."),
        ("The bridge cost 45 million dollars.", "The bridge cost 45 billion dollars."),
        ("The bridge cost $45 million.", "The bridge cost 45 million euros."),
        ("The trail is 12 km long.", "The trail is 12 miles long."),
        ("A battery weighs 20 kilograms.", "A battery weighs 20 tonnes."),
        ("The lease lasts for 30 minutes.", "The lease lasts for 30 seconds."),
        ("The museum opens at 10 am on Monday.", "The museum opens at 10 pm on Monday."),
        ("A file has at most 4 GiB.", "A file has at most 4 MB."),
    ],
)
def test_what_makes_another_amount_of_a_number_is_seen(told: str, said: str) -> None:
    assert not check(f"{said[:-1]} [1].", {1: Passage("p", told)})[0].supported


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("The rate rose by 5 per cent in 2020.", "The rate rose by 5% in 2020."),
        ("The temperature was −5 degrees in Oslo.", "The temperature was minus 5 degrees in Oslo."),
        ("The index of the exchange lost in May: -5 points.", "The index of the exchange lost 5 points in May."),
        ("Two thirds of the members voted for the plan.", "Two-thirds of the members voted for the plan."),
        ("The team won the cup two times.", "The team won the cup twice."),
        ("World War II began after World War I.", "After World War I, World War II began."),
        ("The bridge cost $45 million.", "The bridge cost 45 million dollars."),
        ("The trail is 12 km long.", "The trail is 12 kilometres long."),
        ("A card has 2 GB and lasts for two years, or 2 days in the sun.", "A card lasts for 2 years."),
        ("The output has the dimension 2l by n, and 2 ml of it remain.", "The output has the dimension 2l by n."),
    ],
)
def test_the_same_amount_in_other_words_is_the_same(told: str, said: str) -> None:
    assert check(f"{said[:-1]} [1].", {1: Passage("p", told)})[0].supported


SERIES = Passage(
    "s", "The club was founded in 1910. The first volume came out in 1950 and the final volume in 1955.", title="The club"
)


@pytest.mark.parametrize(("years", "carried"), [("five", True), ("nine", False), ("forty-five", False)])
def test_years_are_counted_from_the_one_that_is_named(years: str, carried: bool) -> None:
    """1955 is forty-five years from 1910, which the sentence does not speak of."""
    assert check(f"The final volume came out {years} years after 1950 [1].", {1: SERIES})[0].supported == carried


@pytest.mark.parametrize(
    ("said", "carried"),
    [
        ("Third, the ferry was late on August 10.", True),  # counts the answer's points, not the ferries
        ("A fourth point is that the ferry was late.", True),
        ("Third, the ferry was late with all 3 ferries.", False),  # the same number, which counts something now
        ("The third ferry was late on August 10.", False),
        ("A third of the ferries was late.", False),
        ("The ferry was late on April 10.", False),
    ],
)
def test_points_of_an_answer_may_be_counted_and_months_be_short(said: str, carried: bool) -> None:
    told = "Published Aug. 10: the ferry was late, which was the point of all complaints about ferries."
    assert check(f"{said[:-1]} [1].", {1: Passage("p", told)})[0].supported == carried


def test_a_number_behind_a_thousand_signs_is_still_one_that_nobody_has() -> None:
    (sentence,) = check("{" * 1200 + " 7 [1].", {1: Passage("1", "A lamp.", "T")})
    assert sentence.verdict == "not carried"


def test_no_year_is_a_sum_that_was_rounded() -> None:
    passages = {1: Passage("1", "In 1969 about 2 billion people watched the landing.", title="The landing")}
    assert check("About 2 billion people watched the landing [1].", passages)[0].supported
    assert not check("About 2 thousand people watched the landing [1].", passages)[0].supported
