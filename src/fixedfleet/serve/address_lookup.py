"""Looks up addresses in the background, one at a time, as the geocoder allows."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from fixedfleet.addresses import (
    check_url,
    find_places,
    keep_place,
    known_places,
    plain_address,
)
from fixedfleet.errors import InputError
from fixedfleet.serve.refusals import ApiError
from fixedfleet.serve.schema import ProgressDocument

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fixedfleet.files.address_columns import Place

__all__ = ["AddressLookup"]

_WAIT = 2.0  # seconds that a request waits for its addresses
_RETRY = 1  # seconds after which a client should ask again


class AddressLookup:
    """
    Finds places for the addresses of requests.

    A geocoder may allow only one address per second, and a table has hundreds. So a
    request waits a moment and is then refused with the number of addresses found so
    far; the client sends it again. One thread looks up the addresses of all requests,
    so that all requests together respect the geocoder's limit.
    """

    def __init__(self, url: str, pause: float, folder: Path) -> None:
        self._url, self._pause, self._folder = check_url(url), pause, folder
        self._missing: list[str] = []
        self._error: InputError | None = None
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look_up, name="addresses")
        self._thread.start()

    def find(self, addresses: Sequence[str]) -> Sequence[Place]:
        """
        Return the place of each address; refuse the request until all are known.

        Raises
        ------
        ApiError
            With 503: addresses are still being looked up, or the geocoder failed.
        """
        wanted = dict.fromkeys(map(plain_address, addresses))
        with self._changed:
            self._error = None
            known = known_places(self._url, self._folder)
            queued = {*self._missing}
            self._missing += [a for a in wanted if a not in known and a not in queued]
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: self._error or not wanted.keys() & {*self._missing}, _WAIT
            )
            if self._error is not None:
                sentence = str(self._error)
                raise ApiError(503, sentence, where="addresses", retry_after=60)
        known = known_places(self._url, self._folder)
        total, left = len(wanted), sum(address not in known for address in wanted)
        if left:
            raise ApiError(
                503,
                f"addresses are being looked up: {total - left} of {total} are known",
                where="addresses",
                progress=ProgressDocument(done=total - left, total=total),
                retry_after=_RETRY,
            )
        return [known[plain_address(address)] for address in addresses]

    def keep(self, address: str, latitude: float, longitude: float) -> None:
        """Store the place that a person has given for an address."""
        keep_place(address, self._url, latitude, longitude, self._folder)

    def close(self) -> None:
        """Stop the look-up. The places found so far stay stored."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()
        self._thread.join()

    def _look_up(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._missing or self._stop.is_set())
                if self._stop.is_set():
                    return
                address = self._missing[0]
            error = None
            try:
                find_places([address], self._url, folder=self._folder)
            except InputError as failed:
                error = failed
            with self._changed:
                if error is None:
                    self._missing.remove(address)
                else:  # the next request starts the look-up again
                    self._missing, self._error = [], error
                self._changed.notify_all()
            self._stop.wait(self._pause)
