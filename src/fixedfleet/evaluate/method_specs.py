"""
Turn the specs of methods into methods.

A spec is a text that describes a method, such as ``network+auto:symmetries=8``.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

from fixedfleet.errors import InputError
from fixedfleet.evaluate.methods import METHODS
from fixedfleet.evaluate.pipeline import GPU_BATCH, Pipeline
from fixedfleet.evaluate.starts import NoStart
from fixedfleet.registry import convert_options, parse_options, split_options
from fixedfleet.search import SEARCHES
from fixedfleet.search.outside.command_search import command_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from fixedfleet.evaluate.methods import Method

__all__ = ["get_method"]

# The options of the paper's pipeline, with each of its networks.
_PAPER = {"artificial": "yes", "decoding": "authors", "repair": "likeliest"}
_PAPER_MODELS = ("paper20", "paper50", "paper100")
_ALIASES = {"auto": "packing+auto", "ruin_recreate": "packing+ruin_recreate"}


def get_method(spec: str | Method) -> Method:
    """
    Return the method that a spec describes; a method object is returned unchanged.

    Parameters
    ----------
    spec
        One of these:

        ``START``, such as ``network``: the plans of a start, without a search.

        ``START+SEARCH``, such as ``network+auto``: the plans of a start, improved by a
        search.

        The name of an outside solver, or ``command:`` and the command line of any
        program (:mod:`fixedfleet.search.outside.command_search`).

        ``paper20``, ``paper50``, ``paper100``: the paper's whole pipeline, with the
        network of this name.

        Options of the start and of the search follow after a colon:
        ``network+auto:decoding=greedy,symmetries=8``, ``hgs:population=4``. Your own
        starts and methods have the name given to ``@METHODS.register("name")``, or
        ``module.py:Name``. With ``NAME=`` before the spec, you choose the method's name
        in rows and tables: ``mine=network:model=runs/a/model.safetensors``.

    Raises
    ------
    InputError
        If there is no such method or option. Missing packages and weights are only
        reported by the method's ``check``.
    """
    if not isinstance(spec, str):
        return spec
    chosen, rest = _split_name(spec)
    if chosen:
        method = get_method(rest)
        if not isinstance(method, Pipeline):
            raise InputError(
                f"{spec!r}: a whole method has its own name, {method.name!r}; change "
                "its attribute 'name' instead"
            )
        return dataclasses.replace(method, name=chosen, spec=method.name)
    if spec.startswith("command:"):
        name = command_name(spec.removeprefix("command:"))
        return Pipeline(f"command:{name}", NoStart(), spec)
    if spec.partition(":")[0] in _PAPER_MODELS:
        return _paper_pipeline(spec)
    name, search, options = _parse(spec)
    if name in SEARCHES.outside() and not search:
        solver = _with_parameters(spec, name, options)
        return Pipeline(solver, NoStart(), solver)
    part = METHODS.get(name)
    if search == "gpu" and name not in ("packing", "network"):
        raise InputError(f"{spec!r}: the search gpu begins with packing or network")
    of_start, of_search = _known_options(part, search)
    if search:
        others = {k: v for k, v in options.items() if k not in of_start | of_search}
        known = of_start | of_search
        search = _with_parameters(spec, search, others, known)
        options = {key: options[key] for key in options if key in known}
    _check_known(spec, options, of_start | of_search)
    given = {key: value for key, value in options.items() if key not in of_search}
    if options.get("artificial") == "yes" and "guarantee" in _fields(part):
        given["guarantee"] = "yes"
    made = _make(spec, part, given)
    if not hasattr(made, "plans"):
        if search:
            raise InputError(f"{spec!r}: no search can follow {name}, a whole method")
        return cast("Method", made)
    name = name.rpartition(":")[2]
    if not search:
        batch = made.batch or (GPU_BATCH if made.on_gpu else 1)
        return Pipeline(_name(name, made, {}), made, "", batch=batch)
    given = {key: value for key, value in options.items() if key in of_search}
    settings: dict[str, Any] = {"batch": GPU_BATCH} if search == "gpu" else {}
    settings |= _convert(spec, Pipeline, given)
    plain, parameters = split_options(search)
    label = f"{name}+{plain.rpartition(':')[2]}"
    name = _name(label, made, given | parameters)
    return Pipeline(name, made, search, **settings)


def _split_name(spec: str) -> tuple[str, str]:
    """
    Return the name before "=" in a spec, and the rest of the spec.

    The name is "" if the user has not chosen a name. InputError is raised if the name
    is reserved.
    """
    name, equals, rest = spec.partition("=")
    if not equals or ":" in name:
        return "", spec
    taken = {*_ALIASES, *_PAPER_MODELS, *METHODS.names(), *SEARCHES.outside()}
    if name in taken or set(name) & set("+,"):
        raise InputError(
            f"{name!r} in {spec!r} is part of a spec, not a name: choose one that is "
            "no method and has no + or comma"
        )
    return name, rest


def _paper_pipeline(spec: str) -> Method:
    """
    Return the paper's pipeline for a spec such as ``paper20:symmetries=8``.

    The pipeline is named after its network. Options that are part of the paper's
    pipeline do not appear in its name.
    """
    model, _, tail = spec.partition(":")
    usual, given = {**_PAPER, "model": model}, parse_options(spec, tail)

    def pipeline(options: dict[str, str]) -> Any:
        text = ",".join(f"{key}={value}" for key, value in options.items())
        return get_method(f"network+ortools_descent:{text}")

    found = pipeline(usual | given)
    known = pipeline(usual).name.partition(":")[2].split(",")
    parts = found.name.partition(":")[2].split(",")
    name = ",".join(part for part in parts if part not in known)
    named = dataclasses.replace(found, name=f"{model}:{name}" if name else model)
    return cast("Method", named)


def _parse(spec: str) -> tuple[str, str, dict[str, str]]:
    """
    Return the parts of a spec: the start or method, the search, and the options.

    Start, method and search are names. The search is "" if the spec has none.
    """
    head, _, tail = spec.partition(":")
    name, plus, search = _ALIASES.get(head, head).partition("+")
    known = {*METHODS.names(), *SEARCHES.outside()}
    if name not in known and not plus and tail:  # module.py:Name
        own, _, tail = tail.partition(":")
        own, plus, search = own.partition("+")
        name = f"{name}:{own}"
    if (name not in known and ":" not in name) or (name in SEARCHES.outside() and plus):
        raise InputError(
            f"unknown method {spec!r}: begin with a start "
            f"({', '.join(METHODS.names())}), take the paper's pipeline "
            f"({', '.join(_PAPER_MODELS)}) or a solver "
            f"({', '.join(SEARCHES.outside())}), or name your own as module.py:Name"
        )
    if plus and search not in SEARCHES.names():
        own, _, rest = tail.partition(":")
        if own and "=" not in own:  # a user-defined search: +module.py:Name
            search, tail = f"{search}:{own}", rest
        SEARCHES.check(search)
    return name, search, parse_options(spec, tail)


def _with_parameters(
    spec: str, search: str, options: dict[str, str], known: Collection[str] = ()
) -> str:
    """
    Return the name of a search with its options appended, as in "hgs:population=4".

    ``known`` are the options of the spec that do not belong to the search; the error
    message for an unknown option lists them too.
    """
    if not options:
        return search
    of_search = SEARCHES.parameters(search)
    _check_known(spec, options, {*known, *of_search})
    convert_options(spec, options, of_search)
    text = ",".join(f"{key}={options[key]}" for key in sorted(options))
    return f"{search}:{text}"


def _known_options(part: Any, search: str) -> tuple[set[str], set[str]]:
    """
    Return two sets of option names: those of a start or method, and those of a search.

    ``part`` is the start or method, and ``search`` the search that follows it. The
    second set has options that concern the search, such as ``prove``, but not the
    search's own parameters.
    """
    if not search:
        return _fields(part), set()
    if search == "gpu":
        return set(), {"objective", "batch"}
    alone = {"batch", "decoded", "guarantee"}  # only for a start without a search
    objective = {"objective"} if SEARCHES.abilities(search).vehicle_cost else set()
    return _fields(part) - alone, {"guarantee", "artificial", "prove"} | objective


def _fields(part: Any) -> set[str]:
    if not dataclasses.is_dataclass(part):
        return set()
    return {field.name for field in dataclasses.fields(part)}


def _check_known(spec: str, options: dict[str, str], known: Collection[str]) -> None:
    for key in options:
        if key not in known:
            raise InputError(
                f"{spec!r} does not take {key}=; its options: "
                f"{', '.join(sorted(known)) or 'none'}"
            )


def _make(spec: str, part: Any, options: dict[str, str]) -> Any:
    """
    Return a start or method, made from its class or function and the options.

    If ``part`` is already an instance of a class, it is returned unchanged.
    """
    if not callable(part):
        return part
    try:
        return part(**_convert(spec, part, options))
    except InputError as error:
        raise error.within(repr(spec)) from None


def _convert(spec: str, kind: Any, options: dict[str, str]) -> dict[str, Any]:
    """
    Return the options with their values converted from text.

    Each option is a field of the dataclass ``kind``. Its value gets the type of the
    field's default.
    """
    if not options:
        return {}
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    return convert_options(spec, options, defaults)


def _name(label: str, start: Any, options: dict[str, str]) -> str:
    """
    Return the name that a method has in rows and tables, such as "network:passes=2".

    After ``label`` follow the settings of ``start`` and the ``options`` of the search,
    sorted by name. Default values are left out, and paths are shortened.
    """
    # Rows have the objective in a field of its own, and "no" is always the default.
    named = {k: v for k, v in options.items() if k != "objective" and v != "no"}
    for field in dataclasses.fields(start) if dataclasses.is_dataclass(start) else ():
        value, short = getattr(start, field.name), field.metadata.get("short", str)
        if value != field.default and short is not None:
            named[field.name] = "yes" if value is True else short(value)
    text = ",".join(f"{key}={named[key]}" for key in sorted(named))
    return f"{label}:{text}" if text else label
