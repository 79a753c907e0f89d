"""The two errors that this package raises for wrong use, and checks that raise them."""

from __future__ import annotations

import dataclasses
import importlib
import math
import os
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)
from urllib.parse import urlsplit

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import ModuleType

    from numpy.typing import NDArray

__all__ = [
    "LARGEST_WHOLE",
    "Bounds",
    "InputError",
    "MissingPackageError",
    "above",
    "at_least",
    "between",
    "check_array",
    "check_choice",
    "check_number",
    "check_seed",
    "check_server_url",
    "check_settings",
    "check_vehicle_cost",
    "check_whole",
    "known_settings",
    "place_of",
    "require",
]


_PACKAGE = Path(__file__).parent
# A float represents every whole number up to this exactly.
LARGEST_WHOLE = 2**53 - 1
# In a message, {field} or {field:capacity}.
_NAMED_FIELD = re.compile(r"\{field(?::(\w+))?\}")


class InputError(ValueError):
    """
    The user's input is wrong. The message says what, where, and what to do.

    Parameters
    ----------
    message
        The sentence. The text ``{field}`` in it stands for the name of the field, and
        ``{field:capacity}`` for that of another one. Each interface writes these names
        in its own way: ``vehicles=`` in Python, ``--vehicles`` on the command line.
    field
        The name of the argument that is wrong or missing, if it is known.
    """

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field

    def __str__(self) -> str:
        return self.naming_fields("{}=".format)

    def naming_fields(self, write: Callable[[str], str]) -> str:
        """Return the message with each field named as ``write`` writes its name."""
        message: str = self.args[0]
        field = self.field
        if field is None:
            return message
        return _NAMED_FIELD.sub(lambda found: write(found[1] or field), message)

    def within(self, place: str) -> InputError:
        """Return this error with the place, such as a file, before its message."""
        return InputError(f"{place}: {self.args[0]}", self.field)


class MissingPackageError(ImportError):
    """A chosen method needs a package that is not installed."""


@dataclass(frozen=True)
class Bounds:
    """
    The range that a number must lie in: from ``least`` to ``most``.

    ``most`` is included; ``least`` is included unless ``excluded``.
    """

    least: float = -math.inf
    most: float = math.inf
    excluded: bool = False

    def admit(self, number: Any) -> Any:
        """Return whether a number lies in the range; for an array, a mask."""
        low = number > self.least if self.excluded else number >= self.least
        return low & (number <= self.most)

    def __str__(self) -> str:
        if self.most == LARGEST_WHOLE:
            return f" of at least {self.least:,} and below 2^53"
        if self.most < math.inf:
            return f" from {self.least:,} to {self.most:,}"
        if self.excluded:
            return f" above {self.least:,}"
        return f" of at least {self.least:,}" if self.least > -math.inf else ""


_ANY = Bounds()


def at_least(least: float) -> Bounds:
    """Return the bounds of a number that may be ``least`` or more."""
    return Bounds(least)


def above(least: float) -> Bounds:
    """Return the bounds of a number that must be more than ``least``."""
    return Bounds(least, excluded=True)


def between(least: float, most: float) -> Bounds:
    """Return the bounds of a number from ``least`` to ``most``, both included."""
    return Bounds(least, most)


def _field(what: str) -> str | None:
    """
    Return the name of the argument that messages call ``what``; None if it has none.

    "vehicle cost" is the argument ``vehicle_cost``.
    """
    name = what.replace(" ", "_")
    return name if all(map(str.isidentifier, name.split("."))) else None


def check_choice(
    what: str, value: Any, choices: Iterable[Any], *, field: str | None = None
) -> None:
    """
    Raise InputError unless a value is one of the choices.

    ``what`` is the name of the value in the message. ``field`` is the argument that
    gives the value, if its name is another one.
    """
    choices = tuple(choices)
    if value not in choices:
        raise InputError(
            f"unknown {what} {value!r}: choose from {', '.join(map(str, choices))}",
            field or _field(what),
        )


def check_number(
    what: str, number: Any, bounds: Bounds = _ANY, *, field: str | None = None
) -> float:
    """
    Return the number as a float.

    Raise InputError unless it is a finite number within the bounds. ``what`` and
    ``field`` are as for :func:`check_choice`.
    """
    try:
        value = float(number)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if isinstance(number, (bool, str)) or not (
        math.isfinite(value) and bounds.admit(value)
    ):
        message = f"{what} is {number!r}, not a number{bounds}"
        raise InputError(message, field or _field(what))
    return value


def check_whole(what: str, number: Any, bounds: Bounds = _ANY) -> int:
    """
    Return the number as an int.

    Raise InputError unless it is a whole number within the bounds. 2.0 is allowed.
    """
    try:
        whole = int(number)
        good = whole == number and not isinstance(number, bool)
    except (TypeError, ValueError, OverflowError):
        whole, good = 0, False
    if not (good and bounds.admit(whole)):
        message = f"{what} is {number!r}, not a whole number{bounds}"
        raise InputError(message, _field(what))
    return whole


def check_seed(seed: Any) -> int:
    """Return the seed as an int; raise InputError unless 0 ≤ seed < 2^32."""
    return check_whole("seed", seed, between(0, 2**32 - 1))


def check_vehicle_cost(vehicle_cost: Any) -> float:
    """Return the fixed cost of a vehicle; raise InputError unless it is at least 0."""
    return check_number("vehicle cost", vehicle_cost, at_least(0))


def check_server_url(what: str, url: str, server: str) -> str:
    """
    Return the URL of a server without a slash at its end.

    Raise InputError if it is not a URL of the right form. In the message, ``what`` is
    the name of the value, and ``server`` says which server it should belong to, with an
    example.
    """
    try:
        parts = urlsplit(url)
        good = bool(parts.hostname) and parts.port != 0 and not parts.query
    except ValueError:  # an incomplete IPv6 address, or a port that is none
        good = False
    if not good or parts.scheme not in ("http", "https"):
        message = f"{what} {url!r} is not the address of {server}"
        raise InputError(message, _field(what))
    return url.rstrip("/")


def check_array(
    what: str,
    values: Any,
    shape: Sequence[int | str],
    bounds: Bounds = _ANY,
    *,
    whole: bool = False,
) -> NDArray[np.float64]:
    """
    Return the values as a new array of floats, after checking them.

    Raise InputError unless the array has this shape and all its numbers are finite and
    within the bounds. A letter in the shape stands for any size: ``("B", 2)``. With
    ``whole``, all numbers must be whole numbers.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":  # or astype would convert text and dates
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        message = f"{what} must be a rectangular array of numbers"
        raise InputError(message, _field(what)) from None
    sizes = zip(array.shape, shape, strict=False)
    if array.ndim != len(shape) or any(
        isinstance(wanted, int) and size != wanted for size, wanted in sizes
    ):
        wanted = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        message = f"{what} has shape {array.shape}, not ({wanted})"
        raise InputError(message, _field(what))
    good = np.isfinite(array) & bounds.admit(array)
    if whole:
        good &= array == np.floor(array)
    if not good.all():
        where = np.argwhere(~good)[0].tolist()
        kind = "whole number" if whole else "number"
        message = f"{what}{where} is {array[*where]:g}, not a {kind}{bounds}"
        raise InputError(message, _field(what))
    return array


def check_settings(settings: Any, prefix: str = "") -> None:
    """
    Raise InputError unless each field of a dataclass has a value of its annotated type.

    Call it in ``__post_init__``. It understands ``bool``, ``int``, ``float``, ``str``,
    ``Literal[...]``, ``... | None`` and ``Annotated[float, at_least(1)]`` (also
    :func:`above` and :func:`between`). Fields of other types are not checked. Messages
    write the prefix, such as "training.", before the name of the field.
    """
    for name, hint in _hints(settings.__class__).items():
        _check_hint(prefix + name, getattr(settings, name), hint)


def known_settings(kind: Any, what: str, values: Any) -> dict[str, Any]:
    """
    Return settings that were read from a file, after checking their names.

    Raise InputError if a setting is not a field of the dataclass ``kind``. ``what`` is
    the name of the settings in the message.
    """
    if not isinstance(values, dict):
        raise InputError(f"{what} is {values!r}, not a table of settings")
    names = {field.name for field in dataclasses.fields(kind)}
    if unknown := sorted(set(values) - names):
        raise InputError(
            f"unknown {what} setting {unknown[0]!r}: choose from "
            f"{', '.join(sorted(names))}"
        )
    return values


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _check_hint(name: str, value: Any, hint: Any) -> None:
    bounds = _ANY
    if get_origin(hint) is Annotated:
        hint, *marks = get_args(hint)
        bounds = next((mark for mark in marks if isinstance(mark, Bounds)), bounds)
    if get_origin(hint) in (Union, UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not NoneType]
        if len(kinds) == 1 and value is not None:
            _check_hint(name, value, Annotated[kinds[0], bounds])
    elif get_origin(hint) is Literal:
        check_choice(name, value, get_args(hint))
    elif hint is int:
        if isinstance(value, float):  # 2.0 would stay a float, which cannot be an index
            message = f"{name} is {value!r}, not a whole number{bounds}"
            raise InputError(message, _field(name))
        check_whole(name, value, bounds)
    elif hint is float:
        check_number(name, value, bounds)
    elif hint in (bool, str) and not isinstance(value, hint):
        kind = "true or false" if hint is bool else "text"
        raise InputError(f"{name} is {value!r}, not {kind}", _field(name))


def place_of(error: BaseException) -> str:
    """
    Return the line of the user's code that raised an error: "nearest.py, line 12".

    It is the last line of the traceback that is not in this package or a library. If
    there is no such line, it is the last one.
    """
    import sysconfig  # these two are slow to load, and rarely needed
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ""
    libraries = tuple({str(_PACKAGE), *sysconfig.get_paths().values()})
    own = [frame for frame in frames if not frame.filename.startswith(libraries)]
    frame = (own or frames)[-1]
    typed = "ipykernel_" in frame.filename or frame.filename.startswith("<")
    file = "your code" if typed else Path(frame.filename).name
    return f"{file}, line {frame.lineno}"


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """
    Import and return a module that may not be installed.

    If it is missing, raise MissingPackageError. The message names the ``extra`` that
    installs it ("" for the base install) and the ``purpose`` that needs it.
    """
    if module == "torch" and module not in sys.modules:
        # OpenMP reads this when torch is loaded; see `model.devices.calm_threads`.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and not f"{module}.".startswith(f"{error.name}."):
            raise
        wanted = f"'fixedfleet[{extra}]'" if extra else "fixedfleet"
        raise MissingPackageError(
            f"{purpose} needs the package {module.partition('.')[0]!r}, which is not "
            f"installed: pip install {wanted}"
        ) from None
