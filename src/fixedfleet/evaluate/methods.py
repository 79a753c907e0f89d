"""Methods by their spec: ``START[+SEARCH][:key=value,…]``, or a solver's name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from fixedfleet.errors import InputError
from fixedfleet.evaluate.pipelines import (
    BatchesOnGpu,
    SolverAlone,
    StartAlone,
    StartAndSearch,
)
from fixedfleet.evaluate.protocol import Answer, Method
from fixedfleet.evaluate.starters import AttentionStart, NamedStart, NetworkStart
from fixedfleet.search import SEARCHES
from fixedfleet.solve import Objective
from fixedfleet.solve_batch import BatchStart

if TYPE_CHECKING:
    from fixedfleet.evaluate.starters import Starter
    from fixedfleet.planning import RepairMethod
    from fixedfleet.search.construct import StartName
    from fixedfleet.solvers.attention_model import Decoding

__all__ = ["SOLVERS", "STARTS", "Answer", "Method", "get_method"]

STARTS = ("packing", "savings", "sweep", "network", "am-greedy", "am-sampling")
SOLVERS = ("hgs", "pyvrp", "ortools", "vroom", "lkh")

_SHORT = {"auto": "packing+auto", "ruin_recreate": "packing+ruin_recreate"}
_HEEDING = ("auto", "ruin_recreate", "gpu")  # searches that heed a vehicle's cost
_GPU_BATCH = 500

# Values that mean the same as leaving the option out; these are not in the name.
_DEFAULTS = {
    "objective": "length",
    "guarantee": "no",
    "model": "auto",
    "decoding": "membership",
    "repair": "room",
    "symmetries": "1",
    "samples": "1280",
    "device": "cpu",
}
_CHOICES = {
    "objective": "|".join(get_args(Objective)),
    "guarantee": "yes|no",
    "decoding": r"greedy|membership|beam[1-9]\d{0,5}",
    "repair": "none|paper|room",
    "symmetries": "[1-8]",
    "samples": r"[1-9]\d{0,5}",
    "device": "cpu|cuda",
    "batch": r"[1-9]\d{0,5}",
    "model": ".+",
    "weights": ".+",
}


def get_method(spec: str) -> Method:
    """
    Return the method of a spec.

    Parameters
    ----------
    spec
        ``START``: that start's plans as they are. ``START+SEARCH``: improved by the
        search. Or the name of an outside solver. Then, after a colon, options:
        ``network+auto:decoding=greedy,symmetries=8``. Starts: ``packing``,
        ``savings``, ``sweep``, ``network``, ``am-greedy`` and ``am-sampling`` (the
        Attention Model). Solvers: ``hgs``, ``pyvrp``, ``ortools``, ``vroom``, ``lkh``.
        Searches: ``auto``, ``ruin_recreate``, the solvers, and
        ``gpu``, for whole batches from ``packing``, ``savings`` or ``network``.

    Raises
    ------
    InputError
        If there is no such method or option. Whether packages and weights are there is
        for the method's ``check`` to say.
    """
    head, _, tail = spec.partition(":")
    head = _SHORT.get(head, head)
    start, _, search = head.partition("+")
    options = _parse_options(spec, tail)
    if start not in STARTS and not (start in SOLVERS and not search):
        raise InputError(
            f"unknown method {spec!r}: begin with a start ({', '.join(STARTS)}) or a "
            f"solver ({', '.join(SOLVERS)})"
        )
    if "+" in head and search not in SEARCHES.names():
        raise InputError(
            f"unknown search {search!r} in {spec!r}: choose from "
            f"{', '.join(SEARCHES.names())}"
        )
    if search == "gpu" and start not in get_args(BatchStart):
        raise InputError(
            f"{spec!r}: the search gpu begins with packing, savings or network"
        )
    _check_accepted(spec, options, _accepted(start, search))
    if start in SOLVERS:
        return SolverAlone(start)
    name = _canonical(head, options)
    values = _DEFAULTS | options
    guarantee, on_gpu = values["guarantee"] == "yes", values["device"] == "cuda"
    objective = cast("Objective", values["objective"])
    batch = int(values.get("batch", _GPU_BATCH if on_gpu or search == "gpu" else 1))
    if search == "gpu":
        return BatchesOnGpu(name, cast("BatchStart", start), objective, batch)
    starter = _starter(start, values, guarantee and not search)
    if not search:
        return StartAlone(name, starter, batch, on_gpu)
    return StartAndSearch(name, starter, search, objective, guarantee, on_gpu)


def _parse_options(spec: str, tail: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in tail.split(",") if tail else ():
        key, equals, value = part.partition("=")
        if not equals or key in options:
            raise InputError(
                f"{part!r} in {spec!r} is no option: write key=value, each key once"
            )
        if key not in _CHOICES:
            raise InputError(
                f"unknown option {key!r} in {spec!r}: choose from {', '.join(_CHOICES)}"
            )
        if not re.fullmatch(_CHOICES[key], value, re.ASCII):
            raise InputError(
                f"option {key} of {spec!r} is {value!r}, not {_wanted(key)}"
            )
        options[key] = value
    return options


def _wanted(key: str) -> str:
    named = {
        "decoding": "greedy, membership, beam20, beam200, …",
        "symmetries": "1 to 8",
    }
    if key in named:
        return named[key]
    if key in ("samples", "batch"):
        return "a whole number of at least 1"
    return " or ".join(_CHOICES[key].split("|")) if key in _DEFAULTS else "a name"


def _accepted(start: str, search: str) -> set[str]:
    """Options that mean something to this start and search."""
    if start in SOLVERS:
        return set()
    if search == "gpu":
        return {"objective", "batch"}
    accepted: set[str] = set()
    if search:
        accepted.add("guarantee")
    if search in _HEEDING:
        accepted.add("objective")
    if start in ("packing", "network"):
        accepted.add("guarantee")
    if start == "network":
        accepted |= {"model", "decoding", "repair", "symmetries", "device"}
    if start.startswith("am-"):
        accepted |= {"weights", "device"}
    if start == "am-sampling":
        accepted.add("samples")
    if "device" in accepted and not search:
        accepted.add("batch")
    return accepted


def _check_accepted(spec: str, options: dict[str, str], accepted: set[str]) -> None:
    for key in options:
        if key not in accepted:
            takes = ", ".join(sorted(accepted)) or "none"
            raise InputError(f"{spec!r} does not take {key}=; its options: {takes}")


def _canonical(head: str, options: dict[str, str]) -> str:
    """Name for the rows: options that matter in a fixed order, and no paths."""
    kept = {
        key: Path(value).stem if key == "model" else value
        for key, value in sorted(options.items())
        if key != "weights" and _DEFAULTS.get(key) != value
    }
    said = ",".join(f"{key}={value}" for key, value in kept.items())
    return f"{head}:{said}" if said else head


def _starter(start: str, values: dict[str, str], guarantee: bool) -> Starter:
    if start == "network":
        return NetworkStart(
            model=values["model"],
            decoding=values["decoding"],
            repair=cast("RepairMethod", values["repair"]),
            symmetries=int(values["symmetries"]),
            guarantee=guarantee,
            device=values["device"],
        )
    if start.startswith("am-"):
        return AttentionStart(
            decoding=cast("Decoding", start.removeprefix("am-")),
            weights=values.get("weights"),
            samples=int(values["samples"]),
            device=values["device"],
        )
    return NamedStart(cast("StartName", start), guarantee)
