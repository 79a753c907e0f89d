"""The compiler of the search, and what it stores between two processes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["clear_cache", "compiled"]

Function = TypeVar("Function", bound="Callable[..., Any]")


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Return Numba's compiler as a decorator that keeps types for mypy."""
    compiler: Callable[[Function], Function] = njit(cache=True, nogil=True, **options)
    return compiler


def clear_cache(function: Any) -> None:
    """Remove what Numba has stored of all functions beside this compiled one."""
    for index in Path(function.stats.cache_path).glob("*.nbi"):
        index.unlink()
