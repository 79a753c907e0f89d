"""Checks of arguments that both distributions take."""

from __future__ import annotations

from fixedfleet.errors import InputError

__all__ = ["check_seed", "check_whole"]


def check_whole(what: str, number: int, least: int) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if isinstance(number, bool) or int(number) != number or number < least:
        raise InputError(
            f"{what} is {number!r}, not a whole number of at least {least}"
        )


def check_seed(seed: int) -> int:
    """Return the seed if NumPy's legacy generator takes it."""
    check_whole("seed", seed, least=0)
    if seed >= 2**32:
        raise InputError(f"seed is {seed}, not below 2^32")
    return int(seed)
