"""Workers that need no search: they do what the name of the instance says."""

from __future__ import annotations

import os
import signal
import time

from fixedfleet.documents import describe_verdict
from fixedfleet.fleet import assess_fleet
from fixedfleet.result import Result
from fixedfleet.serve.schema import ImprovedDocument, SearchingDocument


def fake_plan(order, call):
    """Make a plan with one tour per customer, or fail in the way that is asked for."""
    if order is None:
        return None
    instance, name = order.instance, order.instance.name
    verdict = assess_fleet(instance, time_limit=0)
    call.send(describe_verdict(verdict))
    call.send(SearchingDocument())
    if name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "fail":
        raise ValueError("it did not want to")
    if name == "misspeak":
        return "not a result"
    if name in ("tell-and-die", "slow", "stubborn"):
        call.send(improvement(instance, 0.5, 99.0))
        call.send(improvement(instance, 0.6, 99.0, lower_bound=20.0))
    if name == "tell-and-die":
        os.kill(os.getpid(), signal.SIGKILL)
    while name == "stubborn" or (name == "slow" and not call.ending()):
        time.sleep(0.01)
    call.send(improvement(instance, 1.0, 88.0))
    return Result(instance, verdict.packing, verdict, stages=()).document(order.notes)


def improvement(instance, seconds, cost, lower_bound=None):
    """The report of a plan with one tour per customer."""
    customers = instance.num_customers
    return ImprovedDocument(
        seconds=seconds,
        cost=cost,
        lower_bound=lower_bound,
        vehicles_planned_for=customers,
        vehicles_used=customers,
        tours=[[customer] for customer in range(1, customers + 1)],
        lengths=[None] * customers,
    )


def never_ready(_order, _call):
    """A worker that ends before it is ready."""
    os._exit(3)


def endless(_order, _call):
    """A process that never finishes what it should do ahead."""
    while True:
        time.sleep(0.01)
