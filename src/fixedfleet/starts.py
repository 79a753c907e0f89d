"""Plans to start a search from, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan

__all__ = ["StartName", "check_start", "complete", "load_start", "make_start"]

StartName = Literal["auto", "packing", "savings", "sweep", "network"]

# Iterations to find places for customers that a start leaves out.
_COMPLETING = 2000


def make_start(
    name: StartName, instance: Instance, packing: Plan | None, *, seed: int = 0
) -> Plan | None:
    """
    Make a plan within fleet and capacity to start a search from.

    ``auto`` is the packing: docs/starts.md has the measurements that no other start
    earns its time once a search follows.

    Parameters
    ----------
    name
        What makes the plan.
    instance
        The instance to plan for.
    packing
        The packing that proves the fleet sufficient; what is given back where a start
        leaves customers out and no places are found for them.
    seed
        Seed of the search for those places.
    """
    check_start(name)
    if name in ("auto", "packing"):
        return packing
    return complete(instance, _construct(name, instance), seed=seed) or packing


def complete(instance: Instance, plan: Plan, *, seed: int = 0) -> Plan | None:
    """Find places for customers that a start leaves out; None where there are none."""
    if plan.unserved(instance):
        from fixedfleet.search.ruin_recreate import ruin_recreate

        plan = ruin_recreate(instance, plan, iterations=_COMPLETING, seed=seed).plan
    return None if plan.unserved(instance) else plan


def load_start(name: StartName, instance: Instance) -> None:
    """Load what a start needs once in a process, so that it does not count as time."""
    if name == "network":
        from fixedfleet.model import find_model, load_once

        load_once(find_model("auto", instance.num_customers))


def check_start(name: str) -> None:
    """Refuse a name that no start has."""
    if name not in get_args(StartName):
        raise InputError(
            f"unknown start {name!r}: choose from {', '.join(get_args(StartName))}, or "
            "give a plan"
        )


def _construct(name: StartName, instance: Instance) -> Plan:
    if name == "network":
        from fixedfleet.planning.predicted import predicted_plan

        return predicted_plan(instance)
    from fixedfleet.search.construct import savings, sweep

    return savings(instance) if name == "savings" else sweep(instance)
