"""The fixed headings of a report or an annotated bibliography, translated into the language of its question."""

from __future__ import annotations

from typing import NamedTuple

from wellread.questions.languages import ENGLISH


class Headings(NamedTuple):
    """The headings of the parts that every report has; `contradiction` begins a sentence."""

    introduction: str
    conclusion: str
    contradiction: str
    contradictions: str
    missing: str
    sources: str
    bibliography: str
    other: str


_TABLE = {
    "de": Headings("Einleitung", "Fazit", "Widerspruch", "Widersprüche zwischen Quellen", "Was nicht zu finden war",
                   "Quellen", "Kommentierte Bibliographie", "Weiteres"),
    ENGLISH: Headings("Introduction", "Conclusion", "Contradiction", "Contradictions between sources", "What could not be found",
                      "Sources", "Annotated bibliography", "Other"),
    "es": Headings("Introducción", "Conclusión", "Contradicción", "Contradicciones entre las fuentes",
                   "Lo que no se pudo encontrar", "Fuentes", "Bibliografía comentada", "Otros"),
    "fr": Headings("Introduction", "Conclusion", "Contradiction", "Contradictions entre les sources", "Ce qui n’a pas été trouvé",
                   "Sources", "Bibliographie commentée", "Autres"),
    "it": Headings("Introduzione", "Conclusione", "Contraddizione", "Contraddizioni tra le fonti", "Che cosa non è stato trovato",
                   "Fonti", "Bibliografia ragionata", "Altro"),
    "nl": Headings("Inleiding", "Conclusie", "Tegenspraak", "Tegenspraken tussen bronnen", "Wat niet te vinden was",
                   "Bronnen", "Geannoteerde bibliografie", "Overige"),
    "pt": Headings("Introdução", "Conclusão", "Contradição", "Contradições entre as fontes", "O que não foi encontrado",
                   "Fontes", "Bibliografia comentada", "Outros"),
}  # fmt: skip
CONTRADICTION = "|".join(sorted({one.contradiction for one in _TABLE.values()}))
TAKEN = {heading.casefold() for one in _TABLE.values() for heading in one}  # no section is called so


def headings(language: str | None) -> Headings:
    """Those of the language with this code; None, or one that is not here: the English ones."""
    return _TABLE.get(language or ENGLISH, _TABLE[ENGLISH])
