"""Which compiled code is loaded too late: after a clock has been started."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest


def loaded_late(
    monkeypatch: pytest.MonkeyPatch, module: Any, clock: str, call: Callable[[], Any]
) -> set[str]:
    """Return the compiled functions that a call loads after it has started its clock.

    ``module`` starts the clock by making an object of its class ``clock``. If it makes
    several, only the last one counts.
    """
    loading = Loading()

    class Clock(getattr(module, clock)):
        def __init__(self, *values: Any, **options: Any) -> None:
            super().__init__(*values, **options)
            if "begin" not in options:  # else it is a part of another one's time
                loading.start_clock()

    monkeypatch.setattr(module, clock, Clock)
    call()
    return loading.late()


class Loading:
    """Watches what is loaded, after this process has forgotten all compiled code.

    What a new process loads, it compiles if nothing is stored on disk yet.
    """

    def __init__(self) -> None:
        self._before: dict[Any, int] | None = None
        for name, value in _values():
            if hasattr(value, "overloads"):
                value._reset_overloads()
            elif name.startswith("load_") and hasattr(value, "cache_clear"):
                value.cache_clear()

    def start_clock(self) -> None:
        """Start the clock, after which nothing should be loaded."""
        self._before = _variants()

    def late(self) -> set[str]:
        """Return the compiled functions that were loaded after the clock's start."""
        assert self._before is not None, "the clock was not started"
        return {
            one.__name__
            for one, count in _variants().items()
            if count > self._before.get(one, 0)
        }


def _values() -> Iterator[tuple[str, Any]]:
    """Yield what the modules of the package define, with its name."""
    for module in list(sys.modules.values()):
        if module.__name__.startswith("fixedfleet."):
            yield from list(vars(module).items())


def _variants() -> dict[Any, int]:
    """Return how many variants of each compiled function are loaded."""
    return {
        value: len(value.overloads)
        for _, value in _values()
        if hasattr(value, "overloads")
    }
