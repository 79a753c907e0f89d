"""
Registries of parts that users can exchange: searches, decoders, distributions, …

A part is a function or a class that is chosen by its name.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from zlib import crc32

from fixedfleet.errors import InputError, check_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

__all__ = [
    "Registry",
    "add_parts",
    "convert_options",
    "load_files",
    "load_reference",
    "own_parts",
    "parse_options",
    "source_file",
    "source_hash",
    "split_options",
    "user_modules",
]

Part = TypeVar("Part")
Base = TypeVar("Base")

Parts = dict[str, dict[str, Any]]  # parts by kind, then by name

_PREFIX = "fixedfleet_user_"  # begins the names of modules that are loaded from files
_registries: dict[str, Registry[Any]] = {}  # by kind
_received: Parts = {}  # from another process, for registries that do not exist yet


class Registry(Generic[Part]):
    """
    The parts of one kind, such as "search" or "decoder", by name.

    ``built_in`` has the parts of this package by name, each as a reference such as
    "fixedfleet.search.auto:auto_search". A part is imported when it is first used.
    """

    def __init__(self, kind: str, built_in: Mapping[str, str]) -> None:
        self.kind = kind
        self._places = dict(built_in)
        self._parts: dict[str, Part] = dict(_received.get(kind, {}))
        _registries[kind] = self

    def register(self, name: str) -> Callable[[Part], Part]:
        """Return a decorator that registers a function or class under a name."""
        if ":" in name or not name:
            raise InputError(f"{name!r} cannot name a {self.kind}: leave out the ':'")
        if name in self._places:
            raise InputError(f"the {self.kind} {name!r} is built in: take another name")

        def keep(part: Part) -> Part:
            self._parts[name] = part
            return part

        return keep

    def get(self, name: str | Part) -> Part:
        """
        Return the part with a name. Anything but a string is returned unchanged.

        The name may also be a reference, "my_parts.py:Name" or "package.module:Name".
        """
        if not isinstance(name, str):
            return name
        self.check(name)
        if name not in self._parts:
            place = self._places.get(name, name)
            self._parts[name] = cast("Part", load_reference(place, self.kind))
        return self._parts[name]

    def get_subclass(self, name: str, base: type[Base]) -> type[Base]:
        """Return the part with a name; raise InputError unless it is a ``base``."""
        found: Any = self.get(name)
        if not (isinstance(found, type) and issubclass(found, base)):
            room = base.__module__.rpartition(".")[0]  # which exports the base class
            raise InputError(
                f"the {self.kind} {name!r} is {found!r}: it must be a subclass of "
                f"{room}.{base.__name__}"
            )
        return found

    def check(self, name: str) -> None:
        """Raise InputError unless a name is known or has the form of a reference."""
        if not self.knows(name) and ":" not in name:
            raise InputError(
                f"unknown {self.kind} {name!r}: choose from {', '.join(self.names())}, "
                "or name your own as module.py:Name"
            )

    def knows(self, name: str) -> bool:
        """
        Return whether a part of this name can be used without loading a user's file.

        It is built in or registered, or it is a reference that was loaded before.
        """
        return name in self._places or name in self._parts

    def find_loaded(self, name: str) -> bool:
        """
        Return whether a part is known; search the files that are already loaded, too.

        A reference "my_parts.py:Name" is also known if this process has loaded that
        file, or exactly one file of that name from another folder. No file is loaded.
        """
        place, _, attribute = name.rpartition(":")
        if not self.knows(name) and place.endswith(".py"):
            found = _loaded_files(place)
            if len(found) == 1 and hasattr(found[0], attribute):
                self._parts[name] = getattr(found[0], attribute)
        return self.knows(name)

    def name_of(self, part: Part) -> str:
        """
        Return the name of a part.

        Raises
        ------
        InputError
            If it is neither built in, nor registered, nor loaded from a file.
        """
        place = f"{_module(part)}:{getattr(part, '__qualname__', '')}"
        for name, known in self._places.items():
            if known == place:
                return name
        for name, own in self._parts.items():
            if own is part:
                return name
        raise InputError(
            f"the {self.kind} {part!r} has no name: register it under one, with the "
            "decorator register(...) of its registry"
        )

    def names(self) -> list[str]:
        """Return the known names, the built-in ones first."""
        return [*self._places, *self.own()]

    def own(self) -> dict[str, Part]:
        """Return the parts that users have registered, by name."""
        return {
            name: part
            for name, part in self._parts.items()
            if name not in self._places and ":" not in name
        }


def split_options(spec: str) -> tuple[str, dict[str, str]]:
    """
    Split "hgs:population=4" into the name "hgs" and the options {"population": "4"}.

    The text after the last colon has the options if it contains a "=".
    """
    name, colon, text = spec.rpartition(":")
    if not colon or "=" not in text:
        return spec, {}
    return name, parse_options(spec, text)


def parse_options(spec: str, text: str) -> dict[str, str]:
    """
    Return options such as "a=1,b=2" as a dict of texts.

    ``spec`` is the whole text that the user wrote, for error messages.
    """
    options: dict[str, str] = {}
    for part in text.split(",") if text else ():
        key, equals, value = part.partition("=")
        if not equals or key in options:
            raise InputError(
                f"{part!r} in {spec!r} is not an option: write key=value, each key once"
            )
        options[key] = value
    return options


def convert_options(
    spec: str, options: Mapping[str, str], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """
    Return the options, each converted from text to the type of its default.

    ``spec`` is the whole text that the user wrote, for error messages.

    Raises
    ------
    InputError
        If an option has no default, or if its text cannot be converted.
    """
    return {key: _convert(spec, key, text, defaults) for key, text in options.items()}


def _convert(spec: str, key: str, text: str, defaults: Mapping[str, Any]) -> Any:
    """Return the value of one option, converted to the type of its default."""
    if key not in defaults:
        raise InputError(
            f"{spec!r} does not take {key}=; its options: "
            f"{', '.join(sorted(defaults)) or 'none'}"
        )
    default = defaults[key]
    if isinstance(default, bool):
        check_choice(f"{key} in {spec!r},", text, ("yes", "no"))
        return text == "yes"
    if isinstance(default, int):
        if not text.isdecimal() or int(text) < 1:
            raise InputError(
                f"{key} in {spec!r} is {text!r}, not a whole number of at least 1"
            )
        return int(text)
    if isinstance(default, float):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InputError(f"{key} in {spec!r} is {text!r}, not a number")
        return value
    return text


def load_reference(reference: str, kind: str) -> Any:
    """Return the object that "module.py:Name" or "package.module:Name" refers to."""
    place, _, name = reference.rpartition(":")
    module = _load_file(place, kind) if place.endswith(".py") else _load(place, kind)
    try:
        return getattr(module, name)
    except AttributeError:
        raise InputError(f"{kind} {reference!r}: {place} has no {name!r}") from None


def own_parts() -> Parts:
    """
    Return all parts that users have registered or loaded in this process.

    The result has the parts of each kind, such as "search", by name.
    """
    found: Parts = {}
    for kind, one in _registries.items():
        own = {n: part for n, part in one._parts.items() if n not in one._places}
        if own:
            found[kind] = own
    return found


def add_parts(parts: Parts) -> None:
    """Register parts that :func:`own_parts` has returned in another process."""
    for kind, own in parts.items():
        if kind in _registries:
            _registries[kind]._parts.update(own)
        else:
            _received.setdefault(kind, {}).update(own)


def _loaded_files(place: str) -> list[ModuleType]:
    """
    Return the user's modules that were loaded from the file with this path.

    If there are none, return the modules from files of the same name in other folders.
    """
    path = Path(place)
    files = [(Path(str(module.__file__)), module) for module in user_modules()]
    exact = [module for file, module in files if file == path.resolve()]
    return exact or [module for file, module in files if file.name == path.name]


def source_hash(part: Any) -> str:
    """
    Return the first eight digits of the SHA-256 of the source of a user's part.

    If the part was loaded as "my_parts.py:Name", the whole file is hashed. Otherwise,
    as for a class in a notebook, the part is hashed together with its base classes from
    the same package. Parts of this package and parts without source code return "".
    ``part`` may also be the name of a registered part, or a reference
    "my_parts.py:Name".
    """
    if isinstance(part, str):
        place = part.rpartition(":")[0]
        if place.endswith(".py") and Path(place).is_file():
            return _hash(Path(place).read_text(encoding="utf-8"))
        named = (one.own().get(part) for one in _registries.values())
        return next((source_hash(own) for own in named if own is not None), "")
    own = part if hasattr(part, "__qualname__") else type(part)
    package = _package(own)
    if package in (__package__, *sys.stdlib_module_names):
        return ""
    parts = [one for one in getattr(own, "__mro__", [own]) if _package(one) == package]
    texts = [_source(one) for one in parts]
    return _hash("".join(texts)) if any(texts) else ""


def _module(part: Any) -> str:
    return str(getattr(part, "__module__", ""))


def _package(part: Any) -> str:
    return _module(part).partition(".")[0]


def _source(part: Any) -> str:
    """
    Return the source of a class or function; "" if there is none.

    If it was loaded as "my_parts.py:Name", return the source of the whole file.
    """
    import inspect  # both are slow to load, and rarely needed
    import tokenize

    try:
        if sys.modules.get(part.__module__) in user_modules():
            return Path(inspect.getfile(part)).read_text(encoding="utf-8")
        return inspect.getsource(part)
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):
        return ""  # the code was typed at a prompt, or run by exec


def source_file(part: Any) -> Path | None:
    """
    Return the user's Python file that defines a search, decoder or other part.

    Return None unless the part was loaded from such a file as "my_parts.py:Name".
    """
    module = sys.modules.get(_module(part))
    return Path(str(module.__file__)) if module in user_modules() else None


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:8]


def user_modules() -> list[ModuleType]:
    """Return the modules that this process has loaded from "module.py:Name"."""
    loaded = list(sys.modules.items())
    return [module for name, module in loaded if name.startswith(_PREFIX)]


def load_files(paths: Iterable[str]) -> None:
    """
    Load Python files, so that the parts that they define are known.

    Worker processes load the same files, so that they can unpickle objects of classes
    that the files define.
    """
    for path in paths:
        _load_file(path, "file")


def _load(name: str, kind: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise InputError(f"unknown {kind}: there is no module {name!r}") from None


def _load_file(place: str, kind: str) -> ModuleType:
    """
    Import a user's Python file, once per process.

    ``kind`` is the kind of part that is loaded from it, for error messages.
    """
    path = Path(place).resolve()
    if not path.is_file():
        raise InputError(f"unknown {kind}: there is no file {place!r}")
    name = f"{_PREFIX}{path.stem}_{crc32(str(path).encode()):08x}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise InputError(f"{place} cannot be imported as a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]
