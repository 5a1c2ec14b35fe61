"""Text as a reader sees it. What is checked in one form and shown in another would be shown as checked: a "not" with an invisible
sign inside it, in letters of another script that look the same, in circles, as entities or with a part of it in bold; one that is
struck through; a number that is a fraction in one sign, or has a letter for its last digit.
"""

from __future__ import annotations

import unicodedata

from wellread.text import patterns as re
from wellread.text.entities import unescaped

_MARKUP = re.compile(r"[&*`~<]")
_STYLED = re.compile(r"(?<=[^\W\d_])(?:\*|`|~~|</?[a-zA-Z]{1,12}/?>)++(?=[^\W\d_])")
# Struck through: between tildes, in an element, or by marks over half of a word's signs.
_STRUCK = re.compile(
    r"(?<![\w~])(~~?)(?=[^\s~])[^~\n]{0,200}(?<=[^\s~])\1(?![\w~])|<(del|strike|s)>[^<\n]{0,200}</\2>", re.IGNORECASE
)
_OVER = "\u0334-\u0338\u20d2\u20d3\u20d8-\u20da\u20e0\u20e5\u20e6\u20ea\u20eb"
_ANY_OVER = re.compile(f"[{_OVER}]")
_WRITTEN_OVER = re.compile(rf"[{_OVER}]*+(?:[^\W_][{_OVER}]*+)++")
_NUMBER = re.compile(
    r"(?<![\w.,])(?:\.(?P<part>\d+)|(?P<thousands>\d{1,4}(?:\.\d{1,3})?)k|(?P<power>\d{1,6}(?:\.\d{1,6})?[eE][+-]?\d{1,2})"
    r"|(?P<letters>(?:\d{1,9}O|[lI]\d)[\dO]{0,9}))(?!\w)"
)
_FRACTION = re.compile("([0-9]{1,9})?[ \u00a0\u202f]?([\u00bc-\u00be\u2150-\u215e])")
_WORD = re.compile(r"[^\W\d_]+")
_LETTER = re.compile(r"(?:LATIN (SMALL|CAPITAL)|INDICATOR SYMBOL) LETTER ([A-Z])\Z")
# Digits in circles, brackets or with a full stop. One alone counts the items of a list.
_DIGITS = re.compile(
    "[\u2460-\u2468\u2474-\u247c\u2488-\u2490\u24ea\u24f5-\u24fd\u24ff\u2776-\u277e\u2780-\u2788\u278a-\u2792\U0001f100-\U0001f10c]{2,}"
)
_OTHERS = "аАВеЕѕЅіІјЈКМНоОрРсСТуУхХԁԛԝһѵӏոօսհοΟαΑΒΕΖΗΙικΚΜΝνΡρΤτΥυΧχıɑɡ"
_LATIN = "aABeEsSiIjJKMHoOpPcCTyYxXdqwhvlnouhoOaABEZHIikKMNvPpTtYuXxiag"
_ALIKE = str.maketrans(_OTHERS, _LATIN)
_ANY_ALIKE = re.compile(f"[{_OTHERS}]")


class _Seen(dict[int, int | str | None]):
    """For `str.translate`: what is invisible goes, letters in circles and squares become letters, the rest stays."""

    def __missing__(self, code: int) -> int | str | None:
        sign = chr(code)
        category = unicodedata.category(sign)
        seen = None if category == "Cf" else _letter(sign) if category == "So" else code
        if code < 0x10000:  # so few that all may be remembered
            self[code] = seen
        return seen


def _letter(sign: str) -> str:
    found = _LETTER.search(unicodedata.name(sign, ""))
    if found is None:
        return sign
    return found[2] if found[1] == "CAPITAL" else found[2].lower()


_SEEN = _Seen(dict.fromkeys(map(ord, "≠¬∄∉∌≢≭≮≯≰≱⊄⊅⊈⊉"), " not "))


def as_seen(text: str) -> str:
    """The text with nothing in it that looks like something else."""
    if _MARKUP.search(text):
        text = _STYLED.sub("", _STRUCK.sub(" ", unescaped(text)))
    text = _NUMBER.sub(_number, text)
    if text.isascii():
        return text
    if _ANY_OVER.search(text):
        text = _WRITTEN_OVER.sub(_not_struck, text.replace("=\u0338", "≠"))
    text = _FRACTION.sub(_decimal, _DIGITS.sub(_digits, text)).translate(_SEEN)
    return _WORD.sub(_in_one_script, text) if _ANY_ALIKE.search(text) else text


def _not_struck(found: re.Match[str]) -> str:
    word, marks = _ANY_OVER.subn("", found[0])
    return "" if 2 * marks >= len(word) else word


def _number(found: re.Match[str]) -> str:
    if found["part"]:
        return f"0.{found['part']}"
    if found["letters"]:
        return found["letters"].translate({ord("O"): "0", ord("l"): "1", ord("I"): "1"})
    return f"{float(found['power'] or found['thousands'] + 'e3'):.15g}"


def _decimal(found: re.Match[str]) -> str:
    return f" {int(found[1] or 0) + unicodedata.numeric(found[2]):.4g} "


def _digits(found: re.Match[str]) -> str:
    return "".join(str(unicodedata.digit(sign, "")) for sign in found[0])


def _in_one_script(found: re.Match[str]) -> str:
    word = found[0]
    return word if word.isascii() or not any(map(str.isascii, word)) else word.translate(_ALIKE)
