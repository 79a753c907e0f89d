"""What rows are made with, and rows of networks that were replaced."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from fixedfleet.evaluate import Results, evaluate, get_method
from fixedfleet.evaluate.made import current, digest, made_with
from fixedfleet.evaluate.reproduce.cells import Stock
from fixedfleet.evaluate.reproduce.definitions import Line, Options, Table


@dataclass
class Networked:
    """A stand-in for a method whose network is a file."""

    path: object
    name: str = "network"

    def network(self, _customers):
        return self.path


@pytest.fixture
def weights(tmp_path):
    """A file in place of a network."""
    path = tmp_path / "net.safetensors"
    path.write_bytes(b"weights")
    return path


def test_rows_tell_version_and_network(weights, fakes):
    """A network's rows carry a part of its file's hash, others the version alone."""
    plain = made_with(fakes.FirstFit(), 20)
    assert set(plain) == {"fixedfleet"}
    made = made_with(Networked(weights), 20)
    assert made["network"] == digest(weights)
    assert len(made["network"]) == 8


def test_a_shipped_network_is_that_of_the_size():
    """``auto`` tells the file of the nearest size, as does its name."""
    pytest.importorskip("torch")
    method = get_method("network+auto")
    assert method.network(20).stem == "vrp20"
    assert made_with(method, 100) == made_with(get_method("network:model=vrp100"), 20)
    assert get_method("packing+auto").network(20) is None
    assert get_method("network+gpu").network(50).stem == "vrp50"


def test_rows_of_a_network_that_was_replaced_do_not_count(weights, make_row):
    """Rows that tell another network go; those that tell none, or of others, stay."""
    method = Networked(weights)
    old = make_row(method="network", made={"network": "0" * 8})
    new = make_row(method="network", made={"network": digest(weights)})
    untold = make_row(method="network")
    other = make_row(method="other", made={"network": "0" * 8})
    by_name = {"network": method}
    assert current([old, new, untold, other], by_name) == [new, untold, other]
    weights.unlink()
    missing = {"network": get_method("network:model=no/such/file")}
    assert current([old], missing) == [old]


def test_a_replaced_network_is_run_again(weights, fakes, tmp_path, make_row):
    """Its old rows stay in the file, and new ones are made."""
    path = tmp_path / "rows"
    letters = fakes.make_set(1)
    with Results(path) as results:
        fields = {"customers": 5, "floor": letters.instances[0].minimum_vehicles}
        results.append(
            make_row(
                method="first_fit", time_limit=0.5, made={"network": "0" * 8}, **fields
            )
        )
    method = fakes.WithNetwork(file=str(weights))
    done = evaluate([letters], [method], [0.5], path, processes=1)
    assert (done.new, done.found) == (1, 0)
    assert Results(path).rows()[-1].made["network"] == digest(weights)
    done = evaluate([letters], [method], [0.5], path, processes=1)
    assert (done.new, done.found) == (0, 1)


def test_a_table_shows_the_present_network(tmp_path, make_row):
    """Rows of a network that was replaced are not rendered."""
    pytest.importorskip("torch")
    line = Line(label="network", method="network")
    table = Table(name="fixed-costs", title="Some", sets=("vrp20",), lines=(line,))
    network = made_with(get_method("network"), 20)["network"]
    rows = [
        make_row(
            instance=f"test20/{place}", method="network", time_limit=None,
            customers=20, made={"network": made},
        )
        for place, made in enumerate(("0" * 8, network))
    ]  # fmt: skip
    stock = Stock(rows, Options(instances=2, work=tmp_path))
    assert stock.rows(line, "vrp20") == rows[1:]
    (cell,) = stock.cells(table, "vrp20")[0]
    assert cell.summary.runs == 1


def test_rows_of_another_network_are_taken_in(tmp_path, make_row):
    """A file's row of a known key is taken only where both tell another network."""
    one, two = Results(tmp_path / "one"), Results(tmp_path / "two")
    with one, two:
        one.append(make_row(instance="a", made={"network": "1" * 8}))
        one.append(make_row(instance="b"))
        two.append(make_row(instance="a", made={"network": "1" * 8}))
        two.append(make_row(instance="a", made={"network": "2" * 8}))
        two.append(make_row(instance="a"))
        two.append(make_row(instance="b", made={"network": "2" * 8}))
        two.append(make_row(instance="c"))
        assert one.take(two) == 2
        assert one.take(two) == 0
    found = [(row.instance, row.made.get("network")) for row in one.rows()]
    assert found[2:] == [("a", "2" * 8), ("c", None)]
