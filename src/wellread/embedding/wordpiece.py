"""Tokenizers: BERT's uncased WordPiece, as the models in the package have it, and by the extra `tokenizers` whatever else a
model's `tokenizer.json` asks for.

WordPiece gives the numbers and places that the package `tokenizers` gives (a test holds them together), in less of its time
because a word is cut into pieces once. How BERT takes each character stands in `bert.json`, which
scripts/convert_embedder.py makes: by the Unicode of its day, whatever this Python knows.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import accumulate, chain, pairwise, repeat
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from wellread.core import codec
from wellread.errors import DamagedFile, EmbedderError, MissingExtra, first_line, optional, panics_as

K = TypeVar("K")
V = TypeVar("V")
Cut: TypeAlias = Literal["longest_first", "only_second"]
Ids: TypeAlias = list[int]
Places: TypeAlias = list[tuple[int, int]]

_BERT = Path(__file__).parent / "weights" / "all-minilm-l6-v2" / "bert.json"
_MOST_KEPT = 60_000  # words or characters, of which it is remembered what becomes of them
_LONGEST_WORD = 100  # characters; a longer one is unknown
_WORDS = re.compile(r"[^ !-/:-@\[-`{-~]+|[!-/:-@\[-`{-~]")  # punctuation of ASCII stands for itself


def open_tokenizer(file: Path, longest: int = 0, cut: Cut = "longest_first") -> Tokenizer:
    """The tokenizer of a `tokenizer.json`. It pads nothing and leaves no more than `longest` tokens, where that is given."""
    try:
        told = codec.loads(codec.Json, file.read_bytes())
        if settings(told) == _bert()["settings"]:
            added = {str(one["content"]): int(one["id"]) for one in told["added_tokens"]}
            return WordPiece(told["model"]["vocab"], added, longest)
        with optional(f"the tokenizer of {file}", "tokenizers"):
            import tokenizers
        with panics_as(DamagedFile, "opening it"):
            return _AnyTokenizer(tokenizers.Tokenizer.from_file(str(file)), file, longest, cut)
    except MissingExtra:
        raise
    except Exception as problem:  # the package raises plain Exception
        raise DamagedFile(f"{file} is not a tokenizer that can be read ({first_line(problem)})") from problem


def settings(told: Mapping[str, Any]) -> codec.Json | None:
    """What a `tokenizer.json` says but for its words; none of a kind that has other parts."""
    try:
        model = {name: value for name, value in told["model"].items() if name != "vocab"}
        added = [{name: value for name, value in one.items() if name not in ("id", "content")} for one in told["added_tokens"]]
        form = {name: told["post_processor"][name] for name in ("type", "single", "pair")}
        same = {name: told[name] for name in ("normalizer", "pre_tokenizer")}
    except (KeyError, TypeError, AttributeError):
        return None
    same["added_tokens"] = [one for number, one in enumerate(added) if one not in added[:number]]
    return same | {"model": model, "post_processor": form}


@cache
def _bert() -> codec.Json:
    return codec.loads(codec.Json, _BERT.read_bytes())


class _Made(dict[K, V]):
    """What is made of a key, once."""

    def __init__(self, make: Callable[[K], V]) -> None:
        self._make = make

    def __missing__(self, key: K) -> V:
        if len(self) >= _MOST_KEPT:
            self.clear()
        made = self[key] = self._make(key)
        return made


@cache
def _characters() -> _Made[int, str]:
    """What WordPiece makes of each character: small, without accents, between spaces where it is a word of its own."""
    starts, kinds = _bert()["starts"], _bert()["kinds"]

    def made(sign: str) -> str:
        kind = kinds[bisect(starts, ord(sign)) - 1]
        if kind in "- ":  # left out; space
            return kind.strip("-")
        parts = unicodedata.normalize("NFD", sign)
        text = sign.lower() if parts == sign else "".join(map(made, parts))
        return f" {text} " if kind == "|" else text

    return _Made(lambda code: made(chr(code)))


class WordPiece:
    """BERT's tokenizer: lower case, no accents, punctuation apart, and of each word the longest pieces that are known. May be
    called from several threads, as `_AnyTokenizer`."""

    def __init__(self, vocabulary: Mapping[str, int], added: Mapping[str, int], longest: int = 0) -> None:
        self._vocabulary, self._added, self._longest = vocabulary, added, longest
        self._named = re.compile(f"({'|'.join(map(re.escape, sorted(added, key=len, reverse=True)))})")
        self._longest_piece = max(map(len, vocabulary))
        self._first, self._last, self._unknown = (vocabulary[name] for name in ("[CLS]", "[SEP]", "[UNK]"))
        self._characters = _characters()
        self._numbers = _Made(self._pieces)

    @cached_property
    def _lengths(self) -> Mapping[int, int]:
        """Of the pieces, in characters."""
        return {number: len(piece.removeprefix("##")) for piece, number in self._vocabulary.items()}

    def number(self, token: str) -> int | None:
        """The number of a token, where there is one so called."""
        return self._added.get(token, self._vocabulary.get(token))

    def texts(self, texts: Sequence[str]) -> list[Ids]:
        """Each text as the model wants it, with special tokens, cut to the longest."""
        most = self._longest - 2 if self._longest else None
        return [[self._first, *self.ids(text)[:most], self._last] for text in texts]

    def pairs(self, question: str, texts: Sequence[str]) -> list[tuple[Ids, Ids]]:
        """The question beside each text, which is cut; and for each token whether it is the question's (0) or the text's (1)."""
        asked = [self._first, *self.ids(question), self._last]
        if self._longest:
            asked = [*asked[: self._longest - 2], self._last] if len(asked) >= self._longest else asked
        most = self._longest - 1 - len(asked) if self._longest else None
        told = [[*self.ids(text)[:most], self._last] for text in texts]
        return [(asked + one, [0] * len(asked) + [1] * len(one)) for one in told]

    def ids(self, text: str) -> Ids:
        """A whole text without special tokens."""
        if not self._named.search(text):
            return [*chain.from_iterable(map(self._numbers.__getitem__, _WORDS.findall(text.translate(self._characters))))]
        parts = (([self._added[part]] if named else self.ids(part)) for _, part, named in self._parts(text))
        return [*chain.from_iterable(parts)]

    def places(self, text: str, most: int) -> tuple[Ids, Places]:
        """The first tokens of a text without special tokens, with the characters that each stands for."""
        ids, places = Ids(), Places()
        for start, part, named in self._parts(text):
            if named:
                found, at = [self._added[part]], [(0, len(part))]
            else:
                found, at = self._placed(part, most - len(ids))
            ids += found
            places += [(start + a, start + b) for a, b in at] if start else at
            if len(ids) >= most:
                break
        return ids[:most], places[:most]

    def _placed(self, text: str, most: int) -> tuple[Ids, Places]:
        plain, lengths, ids, places = text.translate(self._characters), self._lengths, Ids(), Places()
        for match in _WORDS.finditer(plain):
            numbers = self._numbers[match[0]]
            ids += numbers
            if len(numbers) == 1:
                places.append(match.span())
            else:
                places += pairwise(accumulate(map(lengths.__getitem__, numbers), initial=match.start()))
            if len(ids) >= most:
                break
        if not text.isascii() or len(plain) != len(text):  # of ASCII nothing becomes longer
            lengths = map(len, map(self._characters.__getitem__, map(ord, text)))
            origin = [*chain.from_iterable(map(repeat, range(len(text)), lengths))]
            places = [(origin[start], origin[end - 1] + 1) for start, end in places]
        return ids, places

    def _parts(self, text: str) -> Iterator[tuple[int, str, bool]]:
        """What stands between the special tokens that a text calls by their names, and these, each with its place."""
        start = 0
        for number, part in enumerate(self._named.split(text)):
            yield start, part, number % 2 == 1
            start += len(part)

    def _pieces(self, word: str) -> tuple[int, ...]:
        """A word's pieces, by their numbers."""
        found, begun, rest = list[int](), "", word if len(word) <= _LONGEST_WORD else ""
        while rest != begun:
            for end in range(min(len(rest), self._longest_piece), len(begun), -1):
                if (number := self._vocabulary.get(rest[:end])) is not None:
                    found.append(number)
                    begun = "##"
                    rest = begun + rest[end:]
                    break
            else:
                return (self._unknown,)
        return tuple(found) or (self._unknown,)


class _AnyTokenizer:
    """Whatever the package `tokenizers` can read."""

    def __init__(self, tokenizer: Any, file: Path, longest: int, cut: Cut) -> None:
        self._tokenizer, self._file = tokenizer, file
        tokenizer.no_padding()
        if longest:
            tokenizer.enable_truncation(longest, strategy=cut)
        else:
            tokenizer.no_truncation()

    def number(self, token: str) -> int | None:
        return self._tokenizer.token_to_id(token)

    def texts(self, texts: Sequence[str]) -> list[Ids]:
        return [one.ids for one in self._encoded(self._tokenizer.encode_batch_fast, texts)]

    def pairs(self, question: str, texts: Sequence[str]) -> list[tuple[Ids, Ids]]:
        rows = self._encoded(self._tokenizer.encode_batch, [(question, text) for text in texts])
        return [(one.ids, one.type_ids) for one in rows]

    def ids(self, text: str) -> Ids:
        return self._encoded(self._tokenizer.encode, text, add_special_tokens=False).ids

    def places(self, text: str, most: int) -> tuple[Ids, Places]:
        found = self._encoded(self._tokenizer.encode, text, add_special_tokens=False)
        return found.ids[:most], found.offsets[:most]

    def _encoded(self, encode: Callable[..., Any], *given: Any, **how: Any) -> Any:
        with panics_as(EmbedderError, f"{self._file}: cutting texts into tokens"):
            return encode(*given, **how)


Tokenizer: TypeAlias = WordPiece | _AnyTokenizer
