"""A worker that needs no search: it does what the instance's name tells it to."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

from fixedfleet import files
from fixedfleet.describe import describe_verdict
from fixedfleet.fleet import assess_fleet
from fixedfleet.serve.documents import result_document
from fixedfleet.solve import Result

cancelled = threading.Event()


def send(kind, **values):
    """Send a message to the server."""
    print(json.dumps({"kind": kind, **values}), flush=True)


def make(order):
    """Make a plan, or come to grief."""
    id = order["id"]
    instance = files.parse(order["instance"], format="json")
    verdict = assess_fleet(instance, time_limit=0)
    send("verdict", id=id, verdict=describe_verdict(verdict))
    if instance.name == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if instance.name == "garble":
        print("no message at all", flush=True)
    if instance.name == "fail":
        send("failed", id=id, error="it did not want to")
        return
    tours = [[c] for c in range(1, instance.num_customers + 1)]
    told = {"vehicles": len(tours), "fleet": len(tours), "tours": tours}
    if instance.name == "tell-and-die":
        send("improved", id=id, seconds=0.5, cost=99.0, **told)
        os.kill(os.getpid(), signal.SIGKILL)
    if instance.name == "misspeak":
        send("done", id=id)
    if instance.name in ("slow", "stubborn"):
        send("improved", id=id, seconds=0.5, cost=99.0, **told)
        cancelled.wait(60)
        if instance.name == "stubborn":
            threading.Event().wait(60)
    send("improved", id=id, seconds=1.0, cost=88.0, **told)
    result = Result(instance, verdict.packing, verdict, stages=())
    document = result_document(result, instance)
    send("done", id=id, verdict=describe_verdict(verdict), result=document)


def main():
    """Take orders until the server hangs up."""
    orders = []
    arrived = threading.Semaphore(0)

    def listen():
        for line in sys.stdin:
            order = json.loads(line)
            if order["kind"] == "cancel":
                cancelled.set()
            else:
                orders.append(order)
                arrived.release()
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    send("ready", pid=os.getpid())
    while arrived.acquire():
        cancelled.clear()
        make(orders.pop(0))


if __name__ == "__main__":
    main()
