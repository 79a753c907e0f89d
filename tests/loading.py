"""Which compiled code a call loads too late: after it has started its clock."""

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

    Before the call, this process forgets all compiled code, as if it were new. In a new
    installation, the same code would be compiled. ``module`` starts the clock by making
    an object of its class ``clock``; only the last one counts.
    """
    before: dict[Any, int] = {}

    class Clock(getattr(module, clock)):  # type: ignore[misc]
        def __init__(self, *values: Any, **options: Any) -> None:
            super().__init__(*values, **options)
            if "begin" not in options:  # else it is a part of another one's time
                before.update(_variants())

    _forget()
    monkeypatch.setattr(module, clock, Clock)
    call()
    assert before, "the clock was not started"
    after = _variants().items()
    return {one.__name__ for one, count in after if count > before.get(one, 0)}


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


def _forget() -> None:
    """Forget the compiled functions that are loaded, and that they have been loaded."""
    for name, value in _values():
        if hasattr(value, "overloads"):
            value._reset_overloads()
        elif name.startswith("load_") and hasattr(value, "cache_clear"):
            value.cache_clear()
