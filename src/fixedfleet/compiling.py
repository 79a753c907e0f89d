"""The compilers: Numba for a CPU, and CuPy for a GPU."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fixedfleet.errors import InputError, require

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["clear_cache", "compiled", "load_cupy"]

_OLDEST_ARCHITECTURE = 80  # the first with a minimum over a warp in one instruction

Function = TypeVar("Function", bound="Callable[..., Any]")


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Return Numba's compiler as a decorator that keeps types for mypy."""
    from numba import njit

    compiler: Callable[[Function], Function] = njit(cache=True, nogil=True, **options)
    return compiler


def clear_cache(function: Any) -> None:
    """Remove what Numba has stored of all functions beside this compiled one."""
    for index in Path(function.stats.cache_path).glob("*.nbi"):
        index.unlink()


@cache
def load_cupy() -> Any:
    """Return CuPy; raise InputError if there is no GPU, or if it is too old."""
    cupy = require("cupy", "gpu", "the search on a GPU")
    try:
        architecture = int(cupy.cuda.Device().compute_capability)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise InputError(f"the search on a GPU found no GPU: {error}") from None
    if architecture < _OLDEST_ARCHITECTURE:
        raise InputError(
            f"the GPU has compute capability {architecture / 10:g}; the search needs "
            f"{_OLDEST_ARCHITECTURE / 10:g} or later"
        )
    return cupy
