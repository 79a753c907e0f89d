"""The compilers: Numba for a CPU, and CuPy for a GPU."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fixedfleet.errors import InputError, require

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["clear_cache", "compiled", "load_cupy", "say_compiling"]

# The kernels compute the minimum over a warp in one instruction, which is new in 8.0.
_OLDEST_ARCHITECTURE = 80

_log = logging.getLogger(__name__)

Function = TypeVar("Function", bound="Callable[..., Any]")


def compiled(**options: Any) -> Callable[[Function], Function]:
    """
    Return a decorator that compiles a function with Numba.

    The type of the function stays visible to mypy. Compiled code is stored on disk. If
    some code is not stored yet, :func:`say_compiling` says that it is being compiled.
    """
    from numba import njit

    _await_compiling()
    compiler: Callable[[Function], Function] = njit(cache=True, nogil=True, **options)
    return compiler


@cache
def _await_compiling() -> None:
    """
    Make Numba call :func:`say_compiling` before it compiles code.

    Numba does not compile code that is already stored on disk.
    """
    from numba.core import event

    methods = {
        "on_start": lambda _listener, _event: say_compiling(),
        "on_end": lambda _listener, _event: None,
    }
    listener = type("Announcer", (event.Listener,), methods)()
    event.register("numba:compile", listener)


@cache  # one line, not one per function or worker process
def say_compiling() -> None:
    """
    Log, once per process, that something is compiled.

    It is logged as a warning, because Python prints warnings also if a program has not
    set up logging. Otherwise the first call would be silent for a minute.
    """
    _log.warning("compiling, once: this can take a minute")


def clear_cache(function: Any) -> None:
    """Remove Numba's cache of this function and of all others in the same folder."""
    for index in Path(function.stats.cache_path).glob("*.nbi"):
        index.unlink()


@cache
def load_cupy() -> Any:
    """Return CuPy; raise InputError if there is no GPU, or if the GPU is too old."""
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
