"""The words in a plan's table, in English or German."""

from __future__ import annotations

from typing import Literal

__all__ = ["Language", "to_english", "translate"]

Language = Literal["en", "de"]

_GERMAN = {
    # The columns of a stop, and what stands there instead of a tour.
    "tour": "Tour",
    "stop": "Stopp",
    "customer": "lfd. Nr.",
    "name": "Name",
    "demand": "Menge",
    "vehicle": "Fahrzeug",
    "arrival": "Ankunft",
    "service begins": "Beginn",
    "departure": "Abfahrt",
    "window": "Lieferfenster",
    "from": "ab",
    "until": "bis",
    "x": "x",
    "y": "y",
    "lat": "Breite",
    "lon": "Länge",
    "unserved": "nicht beliefert",
    # The columns of a tour's totals.
    "stops": "Stopps",
    "load": "Ladung",
    "capacity": "Kapazität",
    "room left": "frei",
    "length": "Strecke",
    "straight line": "Luftlinie",
    "by road": "auf Straßen",
    "times": "mal",
    "cost": "Kosten",
    "return": "Rückkehr",
    "all": "alle",
    # The second sheet of an Excel file.
    "tours": "Touren",
}
_ENGLISH = {german.casefold(): english for english, german in _GERMAN.items()}


def translate(word: str, language: Language) -> str:
    """Return an English word of a plan's table in a language."""
    return _GERMAN[word] if language == "de" else word


def to_english(word: str) -> str:
    """Return the English word for a German one; other words as they are."""
    return _ENGLISH.get(word.strip().casefold(), word)
