"""Units of measure and amounts: what stands beside a number and makes another one of it, and the Roman numeral behind a name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from wellread.text import patterns as re
from wellread.text.lexicon import SCALES
from wellread.text.lexicon import UNITS as COUNTED
from wellread.text.words import plain_number


class Unit(NamedTuple):
    """A unit: what it measures, its name, how much it is of the first unit of its measure; 0 where one is not worth another."""

    of: str
    name: str
    factor: float


class Measured(NamedTuple):
    """A number in a text with what it counts."""

    said: str
    number: str
    value: float
    unit: Unit | None


_TABLE: dict[str, dict[str, float]] = {
    "money": {"dollar dollars $ usd": 0, "euro euros € eur": 0, "yen ¥ jpy": 0, "pound pounds £ gbp": 0},
    "length": {
        "metre m metres meter meters": 1, "kilometre km kilometres kilometer kilometers": 1e3,
        "centimetre cm centimetres centimeter centimeters": 0.01, "millimetre mm millimetres millimeter millimeters": 1e-3,
        "mile mi miles": 1609.344, "foot ft feet": 0.3048, "inch inches": 0.0254,
    },
    "weight": {
        "kilogram kg kilograms kilo kilos": 1, "milligram mg milligrams": 1e-6, "gram g grams gramme grammes": 1e-3,
        "ton t tons tonne tonnes": 1e3,
    },
    "volume": {"litre litres liter liters": 1, "millilitre ml millilitres milliliter milliliters": 1e-3},
    "area": {
        "square_kilometre km² square_kilometres square_kilometer square_kilometers": 1, "hectare hectares": 0.01,
        "square_mile square_miles": 2.59,
    },
    "speed": {"km/h": 1, "mph": 1.609344},
    "time": {
        "second s sec secs seconds": 1, "millisecond ms milliseconds": 1e-3, "minute min mins minutes": 60,
        "hour h hr hrs hours": 3600, "day days": 86_400, "week weeks": 604_800, "month months": 2_629_746,
        "year years yr yrs": 31_556_952,
    },
    "data": {
        "byte bytes": 1, "kilobyte kb kib kilobytes": 1e3, "megabyte mb mib megabytes": 1e6, "gigabyte gb gib gigabytes": 1e9,
        "terabyte tb tib terabytes": 1e12,
    },
    "power": {"watt watts": 1, "kilowatt kw kilowatts": 1e3, "megawatt mw megawatts": 1e6},
    "heat": {"Celsius °c celsius": 0, "Fahrenheit °f fahrenheit": 0},
    "clock": {"morning am a.m.": 0, "afternoon pm p.m.": 0},
    "share": {"percent % per_cent": 0, "permille ‰ per_mille promille per_thousand": 0},
    "part": {
        "third thirds": 0, "quarter quarters fourths": 0, "fifth fifths": 0, "sixths": 0, "eighths": 0, "tenths": 0,
    },
}  # fmt: skip
UNITS = {
    word.replace("_", " ").lower(): Unit(of, words.split()[0], factor)
    for of, units in _TABLE.items()
    for words, factor in units.items()
    for word in words.split()
}
_NAMES = "|".join(re.escape(word) for word in sorted(UNITS, key=len, reverse=True))
_SCALE = "|".join(SCALES)
_BLANK = re.compile("[\u00a0\u2009\u202f]")  # between a number and its unit, or its thousands
_LARGE = frozenset("MGSHT")  # these are other units, or none
_DIGITS = r"(?<![\w.,])(?:\d{1,12}|(?=\.\d))(?:[.,]\d{1,6}){0,4}"
_MEASURED = re.compile(
    rf"(?P<sign>[$€¥£]) ?(?P<worth>{_DIGITS})(?:[ -]?(?P<these>{_SCALE})s?\b)?"
    rf"|(?P<number>{_DIGITS}|\b(?:{'|'.join(COUNTED)})\b)(?:[ -]?(?P<scale>{_SCALE})s?\b)?"
    rf"(?:(?:[ -]|(?!\w\b))(?P<unit>{_NAMES})(?![\w²³$€]))?",
    re.IGNORECASE,
)
_ROMAN = re.compile(r"\b([A-Z][a-z]{2,20}) ([IVX]{1,5})\b")


def measured(text: str) -> Iterator[Measured]:
    """The numbers of a text with their units."""
    for one in _MEASURED.finditer(_BLANK.sub(" ", text)):
        number = (one["worth"] or one["number"]).lower()
        number = str(COUNTED[number]) if number in COUNTED else plain_number(number)
        unit = one["sign"] or one["unit"]
        value = float(number) * SCALES.get((one["these"] or one["scale"] or "").lower(), 1)
        yield Measured(one[0], number, value, UNITS[unit.lower()] if unit and unit not in _LARGE else None)


def amounts(text: str) -> set[tuple[str, str]]:
    """All that are said in a text: a number with what it measures, and the unit; a name, and the numeral behind it."""
    found = {(f"{one.number} of {one.unit.of}", one.unit.name) for one in measured(text) if one.unit}
    return found | {(f"{one[1]} the", one[2]) for one in _ROMAN.finditer(text)}


def exchanged(said: str, near: str) -> set[tuple[str, str]]:
    """The amounts of a sentence in whose place a text near it has another."""
    told = amounts(near)
    others = {what for what, _ in told}
    return {one for one in amounts(said) - told if one[0] in others}
