"""Keeps distances and travel times by road on disk, by coordinates."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.files.atomic import exclusive, replacing

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["Legs", "keep_legs", "kept_path", "read_legs"]

# The largest number of places to keep, which need 72 MB. The places that were added
# last are kept.
MOST_PLACES = 3000
_NAMES = ("places", "metres", "seconds")


@dataclass(frozen=True)
class Legs:
    """
    The metres and seconds by road from each place to each other place.

    A leg is the way from one place to another. Its metres and seconds are NaN if they
    are not known, and inf if no road leads from one place to the other. The leg from a
    place to itself is known if and only if the server was asked about this place.
    """

    places: NDArray[np.float64]  # (P, 2): latitude and longitude
    metres: NDArray[np.float64]  # (P, P)
    seconds: NDArray[np.float64]  # (P, P)

    def between(self, places: NDArray[np.float64]) -> Legs:
        """Return the legs between these places; legs that are not known are NaN."""
        rows = {tuple(place): row for row, place in enumerate(self.places.tolist())}
        own = np.array([rows.get(tuple(place), -1) for place in places.tolist()], int)
        known = np.ix_(own >= 0, own >= 0)
        found = empty_legs(places)
        for theirs, ours in (
            (self.metres, found.metres),
            (self.seconds, found.seconds),
        ):
            ours[known] = theirs[np.ix_(own[own >= 0], own[own >= 0])]
        return found


def empty_legs(places: NDArray[np.float64]) -> Legs:
    """
    Return the legs between these places, with all metres and seconds unknown (NaN).
    """
    unknown = np.full((len(places), len(places)), np.nan)
    return Legs(places, unknown, unknown.copy())


def kept_path(folder: Path, url: str) -> Path:
    """Return the path of the file in which the legs of a server are kept."""
    return folder / f"roads-{hashlib.sha256(url.encode()).hexdigest()[:12]}.npz"


def read_legs(path: Path) -> Legs:
    """Return the legs in a file; no legs if it does not exist or is damaged."""
    try:
        with np.load(path, allow_pickle=False) as file:
            legs = Legs(*(file[name].astype(float) for name in _NAMES))
    except (FileNotFoundError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return empty_legs(np.empty((0, 2)))  # the server can be asked again
    size = len(legs.places)
    shapes = [array.shape for array in (legs.places, legs.metres, legs.seconds)]
    if shapes != [(size, 2), (size, size), (size, size)]:
        return empty_legs(np.empty((0, 2)))
    return legs


def keep_legs(path: Path, new: Legs, *, forget: bool = False) -> None:
    """
    Add legs to a file; with ``forget``, first drop all legs in it.

    If there are more than ``MOST_PLACES`` places, those that were added first are
    dropped. Several processes may call this at the same time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(path):
        old = empty_legs(np.empty((0, 2))) if forget else read_legs(path)
        both = np.vstack((new.places, old.places))
        _, first = np.unique(both, axis=0, return_index=True)
        legs = old.between(both[np.sort(first)][:MOST_PLACES])
        size = min(len(new.places), MOST_PLACES)
        for ours, theirs in ((legs.metres, new.metres), (legs.seconds, new.seconds)):
            block, known = ours[:size, :size], theirs[:size, :size]
            np.copyto(block, known, where=~np.isnan(known))
        with replacing(path) as file:
            # 32-bit numbers hold whole metres exactly up to 16,777 km.
            np.savez(
                file,
                places=legs.places,
                metres=legs.metres.astype(np.float32),
                seconds=legs.seconds.astype(np.float32),
            )
