"""What rows are made with, and rows of networks that were replaced."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from fixedfleet.evaluate import Results, evaluate, get_method
from fixedfleet.evaluate.origin import digest, made_with, without_outdated


@dataclass
class Networked:
    """A stand-in for a method whose network is a file."""

    path: object
    name: str = "network"

    def network(self):
        return self.path


@pytest.fixture
def weights(tmp_path):
    """A file in place of a network."""
    path = tmp_path / "net.safetensors"
    path.write_bytes(b"weights")
    return path


def test_rows_tell_version_and_network(weights, fakes):
    """A network's rows carry a part of its file's hash, others the version alone."""
    plain = made_with(fakes.FirstFit())
    assert set(plain) == {"fixedfleet"}
    made = made_with(Networked(weights))
    assert made["network"] == digest(weights)
    assert len(made["network"]) == 8
    assert made["network_file"] == "net.safetensors"


def test_a_shipped_network_is_told_by_its_file():
    """A method that names no network is made with the shipped one, as is its name."""
    pytest.importorskip("torch")
    method = get_method("network+auto")
    assert made_with(method)["network_file"] == "universal.safetensors"
    assert made_with(method) == made_with(get_method("network:model=universal"))
    assert made_with(method) == made_with(get_method("network+gpu"))
    assert "network" not in made_with(get_method("packing+auto"))


def test_rows_of_a_network_that_was_replaced_do_not_count(weights, make_row):
    """Rows that tell another network go; those that tell none, or of others, stay."""
    method = Networked(weights)
    old = make_row(method="network", made={"network": "0" * 8})
    new = make_row(method="network", made={"network": digest(weights)})
    untold = make_row(method="network")
    other = make_row(method="other", made={"network": "0" * 8})
    assert without_outdated([old, new, untold, other], [method]) == [new, untold, other]
    weights.unlink()
    assert without_outdated([old], [method]) == [old]
    assert without_outdated([old], [get_method("network:model=no/such/file")]) == [old]


@pytest.mark.slow
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
