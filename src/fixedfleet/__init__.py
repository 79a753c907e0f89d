"""
Plan capacitated vehicle routes for a fleet that cannot grow.

Plan one day::

    import fixedfleet as ff

    instance = ff.read("customers.csv", vehicles=7, capacity=850)  # .xlsx, .vrp, …
    result = ff.solve(instance, time_limit=1)
    print(result)
    ff.write_plan(result.plan, instance, "plan.csv")

The most important names::

    ff.read, ff.Instance              an instance from a file, or from your own arrays
    ff.VehicleType                    vehicles of a fleet that are alike
    ff.find_doubts                    what is probably a mistake in the data
    ff.with_roads                     distances and travel times by road, from OSRM
    ff.assess_fleet                   is the fleet large enough? With the proof
    ff.solve, ff.Result, ff.Plan      plan one instance
    ff.lower_bound                    how far is a plan from the shortest? With proof
    ff.solve_batch, ff.InstanceBatch  plan thousands, on all cores, a GPU or a cluster
    ff.predict                        what a network predicts, and plans decoded from it
    ff.write_plan, ff.read_plan       plans as .json, .csv, .xlsx and .sol files
    ff.show_versions                  the versions that a bug report should state

Sub-packages, which are loaded when they are first used::

    ff.generate                       random instances from many distributions
    ff.evaluate                       compare methods on sets of instances
    ff.labels, ff.training, ff.model  solve instances and train a network on them
    ff.planning                       decoders and repairs of a prediction
    ff.search                         searches, ours and those of outside solvers
    ff.bound                          lower bounds, step by step
    ff.fleet, ff.files, ff.plotting   verdicts; file formats; pictures with matplotlib
    ff.roads, ff.addresses            lines along roads; places of addresses

``help(ff.solve)`` describes one function, and ``fixedfleet --help`` on the command line
lists the commands. The documentation is in the folder ``docs`` of the repository.

In all docstrings, "the paper" is Thyssens, Falkner and Schmidt-Thieme, "Supervised
Permutation Invariant Networks for solving the CVRP with bounded fleet size",
arXiv:2201.01529 (2022).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet import interrupts  # noqa: F401  # first, for Ctrl-C during imports
from fixedfleet.doubts import Doubt, find_doubts
from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.fleet import FleetVerdict, assess_fleet
from fixedfleet.instance import Instance, InstanceBatch, VehicleType
from fixedfleet.plan import Plan, PlanBatch
from fixedfleet.result import BatchResult, Result
from fixedfleet.solving.solve import solve
from fixedfleet.solving.solve_batch import solve_batch

if TYPE_CHECKING:
    from typing import Any

    from fixedfleet.bound import LowerBound, lower_bound
    from fixedfleet.files import read, read_batch, read_plan, write_plan
    from fixedfleet.planning import predict
    from fixedfleet.roads import with_roads
    from fixedfleet.version import show_versions

    __version__: str

__all__ = [
    "BatchResult",
    "Doubt",
    "FleetVerdict",
    "InputError",
    "Instance",
    "InstanceBatch",
    "LowerBound",
    "MissingPackageError",
    "Plan",
    "PlanBatch",
    "Result",
    "VehicleType",
    "assess_fleet",
    "find_doubts",
    "lower_bound",
    "predict",
    "read",
    "read_batch",
    "read_plan",
    "show_versions",
    "solve",
    "solve_batch",
    "with_roads",
    "write_plan",
]

# Names that are imported when they are first used, and the modules that define them.
_IMPORTED_ON_USE = {
    "LowerBound": "bound",
    "lower_bound": "bound",
    "predict": "planning",
    "read": "files",
    "read_batch": "files",
    "read_plan": "files",
    "show_versions": "version",
    "with_roads": "roads",
    "write_plan": "files",
}
# Sub-packages that are public. They are also imported when they are first used.
_SUBPACKAGES = (
    *(
        "addresses",
        "bound",
        "evaluate",
        "files",
        "fleet",
        "generate",
        "labels",
        "model",
    ),
    *("planning", "plotting", "roads", "search", "training"),
)

if not TYPE_CHECKING:  # type checkers read the imports above

    def __getattr__(name: str) -> Any:
        """Import a name or a sub-package that is used for the first time."""
        from importlib import import_module

        if name == "__version__":
            from fixedfleet.version import own_version

            return own_version()
        if name not in _IMPORTED_ON_USE and name not in _SUBPACKAGES:
            raise AttributeError(f"module 'fixedfleet' has no attribute {name!r}")
        try:
            module = import_module(f"fixedfleet.{_IMPORTED_ON_USE.get(name, name)}")
        except MissingPackageError as error:
            # Tools that look at every name, such as help(), expect this error.
            raise AttributeError(str(error)) from error
        value = module if name in _SUBPACKAGES else getattr(module, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """Return the public names. Without this, dir() would also list other modules."""
    return sorted({*__all__, *_SUBPACKAGES, "__version__"})
