"""``solvers`` and ``models``: what is available here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.errors import MissingPackageError, require

if TYPE_CHECKING:
    from fixedfleet.cli.options import Arguments, Commands

__all__ = ["add_command"]

# The package behind each solver. LKH is a program.
_PACKAGES = {
    "hgs": "hybgensea",
    "pyvrp": "pyvrp",
    "ortools": "ortools",
    "vroom": "pyvroom",
}


def add_command(commands: Commands) -> None:
    """Add the commands ``solvers`` and ``models``."""
    solvers = commands.add_parser("solvers", help="list the outside solvers")
    solvers.set_defaults(run=_solvers)
    models = commands.add_parser("models", help="list the shipped networks")
    models.set_defaults(run=_models)


def _solvers(_arguments: Arguments) -> int:
    from fixedfleet import solvers

    for name in solvers.SOLVERS.names():
        try:
            solver = solvers.get(name)
        except MissingPackageError as error:
            print(f"{name}: not available: {error}")
            continue
        seed = "takes a seed" if solver.takes_seed else "takes no seed"
        start = "takes a start" if solver.takes_start else "takes no start"
        print(f"{name}: {_version(name)}; {seed}, {start}; limits: {solver.limits}")
    return 0


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    if name not in _PACKAGES:
        return "available"
    try:
        return f"{_PACKAGES[name]} {version(_PACKAGES[name])}"
    except PackageNotFoundError:  # importable without being installed
        return f"{_PACKAGES[name]}, version unknown"


def _models(_arguments: Arguments) -> int:
    require("torch", "network", "a network")
    require("safetensors", "network", "a network")
    from fixedfleet.model.weights import list_models

    models = list_models()
    for model in models:
        facts = ", ".join(f"{key} {value}" for key, value in model.card.items())
        print(f"{model.name}: {model.size / 2**20:.1f} MiB; {facts or 'no card'}")
    if not models:
        print("no network is shipped; 'fixedfleet train' makes one")
    return 0
