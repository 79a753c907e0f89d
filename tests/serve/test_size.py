"""What is too large is refused before it is built, and nobody waits without end."""

from __future__ import annotations

import json
import threading

import anyio
import pytest

from fixedfleet.serve import reading
from fixedfleet.serve.errors import ApiError
from fixedfleet.serve.parsing import read_instance
from fixedfleet.serve.reading import Reading
from fixedfleet.serve.schema import InstanceRequest
from fixedfleet.serve.settings import Settings


def table(customers, quoted=False):
    """A table of so many customers."""
    name = '"two\nlines"' if quoted else "a"
    rows = [f"{name},{i},{i},1" for i in range(customers)]
    head = ["# name: x", "# capacity: 5", "", "name,x,y,demand", "home,0,0,"]
    return "\n".join([*head, *rows, ",,,", ""])


def vrplib(customers, more=()):
    """A VRPLIB file of so many customers."""
    nodes = range(1, customers + 2)
    return "\n".join(
        [
            "NAME : x",
            "CAPACITY : 5",
            *more,
            "NODE_COORD_SECTION",
            *(f"{node} 0 {node}" for node in nodes),
            "DEMAND_SECTION",
            *(f"{node} {int(node > 1)}" for node in nodes),
            "DEPOT_SECTION",
            "1",
            "-1",
            "EOF",
        ]
    )


def matrix(customers):
    """An instance of distances alone, with so many customers."""
    size = customers + 1
    rows = [[0] * size for _ in range(size)]
    return json.dumps({"demands": [1] * customers, "matrix": rows})


def points(customers):
    """An instance of places, with so many customers."""
    places = [[0, i] for i in range(customers)]
    demands = [1] * customers
    return json.dumps({"depot": [0, 0], "customers": places, "demands": demands})


@pytest.mark.parametrize(
    ("make", "format"),
    [(table, "csv"), (vrplib, "vrplib"), (matrix, "json"), (points, "json")],
)
def test_what_is_too_large_is_not_built(make, format, tmp_path):
    """A text at the limit is read; a larger one is refused."""
    settings = Settings(folder=tmp_path, max_customers=40)
    parsed = read_instance(InstanceRequest(text=make(40), format=format), settings)
    assert parsed.instance.num_customers == 40
    with pytest.raises(ApiError, match=r"41 customers|more than 40 customers"):
        read_instance(InstanceRequest(text=make(41), format=format), settings)
    with pytest.raises(ApiError, match="more than 40 customers") as refused:
        read_instance(InstanceRequest(text=make(400), format=format), settings)
    assert refused.value.status == 422


def test_quoted_cells_may_go_on_over_lines(tmp_path):
    """Lines within quotes are not taken for customers."""
    request = InstanceRequest(text=table(40, quoted=True), format="csv")
    parsed = read_instance(request, Settings(folder=tmp_path, max_customers=40))
    assert parsed.instance.names[0] == "two\nlines"


def test_bodies_are_read_a_few_at_a_time_and_more_are_refused(monkeypatch):
    """Beyond those that are read and those that wait, the answer is 503."""
    monkeypatch.setattr(reading, "_THREADS", 1)
    go_on, answers = threading.Event(), []

    async def main():
        readers = Reading(waiting=1)

        async def ask():
            try:
                answers.append(await readers.run(lambda: go_on.wait(30)))
            except ApiError as error:
                answers.append(error)
                go_on.set()

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask)
                await anyio.sleep(0.05)

    anyio.run(main)
    refused = answers.pop(0)
    assert refused.status == 503 and refused.retry_after >= 1
    assert answers == [True, True]
