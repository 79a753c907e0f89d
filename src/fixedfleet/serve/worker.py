"""A worker process: takes plans to make from its standard input, one at a time.

Both ways a message is a line of JSON, so that a worker that goes wrong can send
nothing but text. The worker ends when its input does: a server that was killed leaves
none behind.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from typing import IO, TYPE_CHECKING, Any

from fixedfleet import files
from fixedfleet.describe import describe_verdict, finite
from fixedfleet.errors import InputError
from fixedfleet.fleet import assess_fleet
from fixedfleet.instance import Instance
from fixedfleet.serve.documents import dump, result_document
from fixedfleet.solve import solve

if TYPE_CHECKING:
    from fixedfleet.plan import Plan

__all__ = ["main"]

_INTERVAL = 0.125  # seconds between two improvements told


class _Line:
    """The line to the server: orders in, messages out."""

    def __init__(self, source: IO[bytes], target: IO[bytes]) -> None:
        self._source, self._target = source, target
        self._orders: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._cancelled: set[str] = set()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self._source:
            order = json.loads(line)
            if order["kind"] == "cancel":
                self._cancelled = {order["id"]}
            else:
                self._orders.put(order)
        os._exit(0)  # the server is gone, or wants this worker to be

    def next_order(self) -> dict[str, Any]:
        return self._orders.get()

    def is_cancelled(self, id: str) -> bool:
        return id in self._cancelled

    def send(self, kind: str, **values: Any) -> None:
        try:
            self._target.write(dump({"kind": kind, **values}).encode() + b"\n")
            self._target.flush()
        except BrokenPipeError:
            os._exit(0)


class _Teller:
    """Tells of improvements, not too often and always the newest."""

    def __init__(self, line: _Line, id: str, instance: Instance) -> None:
        self._line, self._id, self._instance = line, id, instance
        self._begin = time.monotonic()
        self._last = -_INTERVAL
        self._pending: tuple[float, Plan] | None = None

    def improved(self, _seconds: float, cost: float, plan: Plan) -> None:
        self._pending = (cost, plan)
        self._tell()

    def stop(self) -> bool:
        """Answer the search whether to stop; it asks often, so tell here too."""
        self._tell()
        return self._line.is_cancelled(self._id)

    def _tell(self) -> None:
        seconds = time.monotonic() - self._begin
        if self._pending is None or seconds - self._last < _INTERVAL:
            return
        cost, plan = self._pending
        self._last, self._pending = seconds, None
        self._line.send(
            "improved",
            id=self._id,
            seconds=round(seconds, 3),
            cost=finite(cost),
            vehicles=plan.vehicles,
            # More than asked for, if need be.
            fleet=max(self._instance.vehicles, plan.vehicles),
            tours=[list(tour) for tour in plan],
            lengths=[finite(length) for length in plan.tour_lengths(self._instance)],
        )


def main() -> None:
    """Make plans until the server hangs up."""
    # What a library prints must not get between the messages.
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    line = _Line(sys.stdin.buffer, target)
    _warm_up()
    line.send("ready", pid=os.getpid())
    while True:
        order = line.next_order()
        try:
            _make(line, order)
        except InputError as error:
            line.send("failed", id=order["id"], error=str(error))
        except Exception as error:
            # Whatever it is, it costs this plan alone.
            sys.excepthook(*sys.exc_info())
            sentence = f"the plan could not be made: {type(error).__name__}: {error}"
            line.send("failed", id=order["id"], error=sentence)


def _warm_up() -> None:
    """Load and compile what the first plan would have to wait for."""
    from fixedfleet.fleet import exact_packing

    exact_packing.load()
    tiny = Instance(
        depot=(0, 0),
        customers=[(1, 0), (0, 1), (-1, 0), (0, -1)],
        demands=[1, 1, 1, 1],
        capacity=2,
        vehicles=2,
    )
    solve(tiny, 0.05)
    solve(tiny, 0.05, objective="cost-v", vehicle_cost=1.0)


def _make(line: _Line, order: dict[str, Any]) -> None:
    request, id = order["request"], order["id"]
    instance = files.parse(order["instance"], format="json")
    # What can be said at once is said at once; the exact search comes with `solve`.
    first = assess_fleet(instance, time_limit=0)
    if first.status != "undecided":
        line.send("verdict", id=id, verdict=describe_verdict(first))
    teller = _Teller(line, id, instance)
    result = solve(
        instance,
        request["time_limit"],
        seed=request["seed"],
        objective=request["objective"],
        vehicle_cost=request["vehicle_cost"],
        guarantee=request["guarantee"],
        on_improvement=teller.improved,
        stop=teller.stop,
    )
    line.send(
        "done",
        id=id,
        verdict=describe_verdict(result.verdict),
        result=result_document(result, instance),
    )


if __name__ == "__main__":
    main()
