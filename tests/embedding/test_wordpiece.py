"""Our WordPiece beside the package `tokenizers`: the same numbers and the same characters for each."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from wellread.embedding.onnx import SHIPPED
from wellread.embedding.wordpiece import WordPiece, open_tokenizer
from wellread.errors import DamagedFile, MissingExtra

FILE = SHIPPED / "tokenizer.json"
PACKAGE, OURS = Tokenizer.from_file(str(FILE)), open_tokenizer(FILE)
ROOT = Path(__file__).parents[2]

TEXTS = [
    "",
    " \t\n\r",
    "Ganymede's 5,268 km; Öl—„jeden Abend“ naïve café Ångström",
    "e\u0301le\u0300ve A\u030angstro\u0308m \u0301alone \u0130stanbul ΣΊΣΥΦΟΣ ẞ ŉ Ǆ ﬁ",  # combining marks, ligatures
    "灯台守は毎晩、風と雲を書きとめた。がぎぐ ｶﾞ 車 𠀀",
    "한국어 각 갂 ᄀ\u1161\u11a8 ㄱ",
    "भारत का संविधान ประเทศไทย العربية \u200fעברית\u200e",
    "👩‍👩‍👧 ☺\ufe0f 🇩🇪 x\u200db \ufeffstart",
    "a\0b\x01c\x7fd\x85e\xa0f\u3000g\u2028h\ufffdi\x0bj\x1ck",
    "[SEP] in [MASK] the[CLS]text[sep] [[PAD]] [UNK][UNK]x [unused1]",
    "x" * 99 + " " + "x" * 100 + " " + "x" * 101 + " " + "é" * 100 + "!" * 200,
    "def f(a_b: int) -> None:\n\treturn {'a': a_b ** 2}  # ≠ ≤ ∑ → €5 ½ ²\n",
    "https://example.org/a?b=c&d=%20#e user@example.org C:\\x\\y",
    "\u0378 \U0001f98a \ue000 \U000e0001 ؝ \u08d4 ᙭",
]


def the_same(texts: Sequence[str]) -> None:
    for text, expected in zip(texts, PACKAGE.encode_batch(list(texts), add_special_tokens=False), strict=True):
        assert OURS.ids(text) == expected.ids, text
        assert OURS.places(text, sys.maxsize) == (expected.ids, expected.offsets), text
        assert OURS.places(text, 5) == (expected.ids[:5], expected.offsets[:5]), text


def test_texts_of_many_kinds() -> None:
    the_same([*TEXTS, " ".join(TEXTS), "\0".join(TEXTS)])


def test_the_library_and_the_code() -> None:
    the_same([path.read_text(encoding="utf-8") for part in ("library/articles/*.md", "*.py") for path in _files(part)])


def _files(part: str) -> list[Path]:
    return sorted((ROOT / "src" / "wellread").glob(part))


@pytest.mark.slow
@pytest.mark.parametrize("codes", [range(0x3400), range(0xA000, 0x20000), range(0x2F000, 0x30000), range(0xE0000, 0xE0200)])
def test_every_character(codes: range) -> None:
    """What `bert.json` says of each, together with what this Python knows; the rest are ideographs, and of nobody."""
    signs = [chr(code) for code in codes if not 0xD800 <= code < 0xE000]
    the_same(["".join(f"a{sign}a x{sign}{sign} {sign}\n" for sign in signs[at : at + 500]) for at in range(0, len(signs), 500)])


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    the_same([text])


SPECIAL = ["un", "aff", "able", "##s", "é", "e\u0301", "가", "中", " ", "-", "[SEP]", "[", "\u200d", "Σ", "q" * 60]


@given(st.lists(st.sampled_from(SPECIAL)))
def test_any_text_of_what_is_special(parts: list[str]) -> None:
    the_same(["".join(parts)])


def test_a_text_and_a_pair_are_cut_as_the_package_cuts_them() -> None:
    texts, longest = [*TEXTS, "moon " * 40], 24
    single, paired = (Tokenizer.from_file(str(FILE)) for _ in range(2))
    single.enable_truncation(longest)
    paired.enable_truncation(longest, strategy="only_second")
    ours, question = open_tokenizer(FILE, longest), "Which moon is the largest?"
    assert ours.texts(texts) == [one.ids for one in single.encode_batch(texts)]
    pairs = paired.encode_batch([(question, text) for text in texts])
    assert ours.pairs(question, texts) == [(one.ids, one.type_ids) for one in pairs]
    assert OURS.texts(texts) == [one.ids for one in PACKAGE.encode_batch(texts)]
    assert OURS.pairs(question, texts)[-1][0] == PACKAGE.encode(question, texts[-1]).ids
    ((ids, _),) = ours.pairs("moon " * 99, ["Titan"])  # the package fails here
    assert len(ids) == longest


def test_a_vocabulary_of_its_own(tmp_path: Path) -> None:
    words = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", "moon", "##light", "!"]
    told = _changed(vocab={word: number for number, word in enumerate(words)})
    for one in told["added_tokens"]:
        one["id"] = words.index(one["content"])
    ours = open_tokenizer(_file(tmp_path, told))
    assert isinstance(ours, WordPiece)
    assert ours.texts(["Moonlight! Titan"]) == [[1, 5, 6, 7, 3, 2]]
    assert (ours.number("[PAD]"), ours.number("moon"), ours.number("<pad>")) == (0, 5, None)


OTHERS: dict[str, Any] = {
    "cased": {"normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": False}},
    "without words of its own": {"pre_tokenizer": {"type": "Whitespace"}},
    "another form": {"post_processor": None},
    "no special tokens": {"added_tokens": []},
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=list(OTHERS))
def test_another_kind_is_the_packages(change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _file(tmp_path, _changed() | change)
    found, expected = open_tokenizer(file), Tokenizer.from_file(str(file))
    assert not isinstance(found, WordPiece)
    plain = expected.encode("Moon Light!", add_special_tokens=False)
    assert (found.ids("Moon Light!"), found.places("Moon Light!", 2)) == (plain.ids, (plain.ids[:2], plain.offsets[:2]))
    assert (found.texts(["Moon Light!"]), found.number("[PAD]")) == ([expected.encode("Moon Light!").ids], 0)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match=r'tokenizer.json needs an optional part: pip install "wellread\[tokenizers\]"'):
        open_tokenizer(file)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"model": {"type": "WordPiece", "vocab": {}}}'])
def test_a_damaged_file_is_said(text: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    with pytest.raises(DamagedFile, match="is not a tokenizer that can be read"):
        open_tokenizer(tmp_path / "tokenizer.json")


def _changed(**model: Any) -> dict[str, Any]:
    told = json.loads(FILE.read_text(encoding="utf-8"))
    return told | {"model": told["model"] | model}


def _file(folder: Path, told: dict[str, Any]) -> Path:
    (folder / "tokenizer.json").write_text(json.dumps(told), encoding="utf-8")
    return folder / "tokenizer.json"
