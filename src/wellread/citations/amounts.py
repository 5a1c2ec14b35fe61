"""What stands beside a number and makes another one of it: a minus, a sign for parts of a hundred or of a thousand, a million, a
unit or a currency, parts and multiples in words, and the Roman numeral behind a name."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from wellread.text import patterns as re

Amount = tuple[str, str, object]  # what it is, what it belongs to, and how much

_SMALL = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_PARTS = {"thirds": 3, "quarters": 4, "fourths": 4, "fifths": 5, "sixths": 6, "sevenths": 7, "eighths": 8, "tenths": 10}
_COUNT = "|".join(_SMALL)
_ZEROS = {"hundred": 2, "thousand": 3, "million": 6, "millions": 6, "mn": 6, "billion": 9, "billions": 9, "bn": 9, "trillion": 12}
_UNITS = {
    word: (of, unit)
    for of, units in {
        "money": {
            "dollar": "$ dollar dollars usd",
            "euro": "€ euro euros eur",
            "yen": "¥ yen jpy",
            "pound": "£ pound pounds gbp",
        },
        "length": {
            "metre": "m metre metres meter meters",
            "kilometre": "km kilometre kilometres kilometer kilometers",
            "centimetre": "cm centimetre centimetres centimeter centimeters",
            "millimetre": "mm millimetre millimetres millimeter millimeters",
            "mile": "mi mile miles",
            "foot": "ft foot feet",
            "inch": "inch inches",
        },
        "weight": {
            "milligram": "mg milligram milligrams",
            "gram": "g gram grams gramme grammes",
            "kilogram": "kg kilogram kilograms kilo kilos",
            "ton": "ton tons tonne tonnes",
        },
        "volume": {
            "litre": "litre litres liter liters",
            "millilitre": "ml millilitre millilitres milliliter milliliters",
        },
        "time": {
            "millisecond": "ms millisecond milliseconds",
            "second": "s sec secs second seconds",
            "minute": "min mins minute minutes",
            "hour": "h hr hrs hour hours",
            "day": "day days",
            "week": "week weeks",
            "month": "month months",
            "year": "year years yr yrs",
        },
        "data": {
            "byte": "byte bytes",
            "kilobyte": "kb kib kilobyte kilobytes",
            "megabyte": "mb mib megabyte megabytes",
            "gigabyte": "gb gib gigabyte gigabytes",
            "terabyte": "tb tib terabyte terabytes",
        },
        "heat": {"Celsius": "°c celsius", "Fahrenheit": "°f fahrenheit"},
        "power": {"watt": "watt watts", "kilowatt": "kw kilowatt kilowatts", "megawatt": "mw megawatt megawatts"},
        "clock": {"morning": "am a.m.", "afternoon": "pm p.m."},
    }.items()
    for unit, words in units.items()
    for word in words.split()
}


def _names(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_BLANK = re.compile("[\u00a0\u2009\u202f]")  # between a number and its unit
_LARGE = frozenset("MGSH")  # these are other units, or none
_DIGITS = r"(?<![\w.,])(?:\d{1,12}|(?=\.\d))(?:[.,]\d{1,6}){0,4}"
_NUMBER = re.compile(
    r"(?:(?<=\s)|(?<=\()|\A)(?P<sign>[-−]|minus )?(?P<number>\d{1,12}(?:[.,]\d{1,6}){0,4})"
    r"(?P<scale> ?[%‰]| per ?cent\b| per ?mille\b| promille\b| per thousand\b)?",
    re.IGNORECASE,
)
_MEASURED = re.compile(
    rf"(?P<sign>[$€¥£]) ?(?P<worth>{_DIGITS})(?:[ -]?(?P<these>{_names(_ZEROS)})\b)?"
    rf"|(?P<number>{_DIGITS}|\b(?:{_COUNT})\b)(?:[ -]?(?P<zeros>{_names(_ZEROS)})\b)?"
    rf"(?:(?:[ -]|(?!\w\b))(?P<unit>{_names(_UNITS)})(?![\w²³$€]))?",
    re.IGNORECASE,
)
_IN_PARTS = re.compile(rf"\b({_COUNT})[ -]({'|'.join(_PARTS)})\b", re.IGNORECASE)
_TIMES = re.compile(rf"\b(?:(twice|thrice)|({_COUNT}|\d{{1,3}}) times)\b", re.IGNORECASE)
_ROMAN = re.compile(r"\b([A-Z][a-z]{2,20}) ([IVX]{1,5})\b")
_BELOW = re.compile(
    r"\b(?:below|under|less|negative|minus|los[st]\w*|fall\w*|fell|drop\w*|declin\w*|decreas\w*|reduc\w*|down|deficit|shr[aiu]nk)\b",
    re.IGNORECASE,
)


def amounts(text: str) -> set[Amount]:
    """All that are said in a text."""
    found: set[Amount] = set()
    text = _BLANK.sub(" ", text)
    for one in _NUMBER.finditer(text):
        found.add(("sign", one["number"], bool(one["sign"])))
        if scale := one["scale"]:
            found.add(("scale", one["number"], "%" in scale or "cent" in scale.lower()))
    for one in _MEASURED.finditer(text):
        number = (one["worth"] or one["number"]).lower()
        number = str(_SMALL.get(number, number.removeprefix("0") if "." in number else number))
        if zeros := one["these"] or one["zeros"]:
            found.add(("zeros", number, _ZEROS[zeros.lower()]))
        if (unit := one["sign"] or one["unit"]) and unit not in _LARGE:
            of, name = _UNITS[unit.lower()]
            found.add(("unit", f"{number} of {of}", name))
    for one in _IN_PARTS.finditer(text):
        found.add(("parts", "", Fraction(_SMALL[one[1].lower()], _PARTS[one[2].lower()])))
    for one in _TIMES.finditer(text):
        count = (one[2] or {"twice": "2", "thrice": "3"}[one[1].lower()]).lower()
        found.add(("times", "", _SMALL[count] if count in _SMALL else int(count)))
    found.update(("roman", one[1], one[2]) for one in _ROMAN.finditer(text))
    return found


def is_measure(one: Amount) -> bool:
    """Whether there is nothing in it to conclude or to count: no reader takes one for another."""
    return one[0] not in ("sign", "times")


def exchanged(said: str, near: str) -> set[Amount]:
    """The amounts of a sentence in whose place a text near it has another."""
    told = amounts(near)
    others = {one[:2] for one in told}
    strange = {one for one in amounts(said) - told if one[:2] in others}
    if _BELOW.search(f"{said} {near}".replace("minus ", "-")):  # "-5" is a fall by 5
        return {one for one in strange if one[0] != "sign"}
    return strange
