"""The check of a seed, which both distributions take."""

from __future__ import annotations

from fixedfleet.errors import InputError, check_whole

__all__ = ["check_seed"]


def check_seed(seed: int) -> int:
    """Return the seed if NumPy's legacy generator takes it."""
    seed = check_whole("seed", seed, least=0)
    if seed >= 2**32:
        raise InputError(f"seed is {seed}, not below 2^32")
    return seed
