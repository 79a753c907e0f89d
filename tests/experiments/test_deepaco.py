"""DeepACO's plans, with a small imitation of its authors' checkout."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from types import ModuleType

import pytest

from experiments.deepaco import DeepAco
from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.evaluate import get_method
from fixedfleet.instance import Instance

torch = pytest.importorskip("torch")

# Like the authors' modules, these import one another by plain names and expect their
# folder to be the working directory. The colony visits the customers in the order of
# the depot's ratings; a vehicle goes home when the next one does not fit.
NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))

    def forward(self, graph):
        return self.weight * graph["edges"]

    @staticmethod
    def reshape(graph, vector):
        return vector.reshape(graph["size"], graph["size"])
"""
UTILS = """
import torch

SPARSE = None

def gen_distance_matrix(places):
    return torch.cdist(places, places).fill_diagonal_(1e-10)

def gen_pyg_data(demands, distances, device, k_sparse=None):
    global SPARSE
    SPARSE = k_sparse
    return {"edges": distances.flatten(), "size": len(demands)}
"""
ACO = """
import json
from pathlib import Path
import torch
import utils

LOG = Path("library").resolve(strict=True).with_name("log.json")

class ACO:
    def __init__(self, distances, demand, n_ants, heuristic, capacity=CAPACITY, **own):
        self.demand, self.heuristic, self.capacity = demand, heuristic, capacity
        self.said = {"ants": n_ants, "own": sorted(own), "nearest": utils.SPARSE}

    def run(self, iterations):
        said = self.said | {"iterations": iterations, "drawn": torch.rand(()).item()}
        LOG.write_text(json.dumps(said))
        path, load = [0], 0.0
        for customer in (self.heuristic[0, 1:].argsort(descending=True) + 1).tolist():
            if load + self.demand[customer] > self.capacity:
                path, load = [*path, 0], 0.0
            path, load = [*path, customer], load + self.demand[customer]
        self.shortest_path = torch.tensor([*path, 0, 0])
"""
# Each customer is farther from the depot than the one before.
LINE = Instance(
    depot=(0, 0),
    customers=[(0.1, 0), (0.2, 0), (0.4, 0), (0.8, 0)],
    demands=[8, 8, 8, 8],
    capacity=30,
    vehicles=1,
)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a folder like the authors', with weights for four customers."""
    for name, capacity in (("cvrp", "50"), ("cvrp_nls", "1.0")):
        folder, weights = tmp_path / name, tmp_path / "pretrained" / name
        folder.mkdir()
        weights.mkdir(parents=True)
        (folder / "library").touch()
        (folder / "net.py").write_text(NET)
        (folder / "utils.py").write_text(UTILS)
        (folder / "aco.py").write_text(ACO.replace("CAPACITY", capacity))
        torch.save({"weight": torch.tensor(1.0)}, weights / "cvrp4.pt")
    monkeypatch.setenv("DEEPACO", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("local_search", [False, True])
def test_tours_keep_the_capacity_and_may_exceed_the_fleet(checkout, local_search):
    """Three customers of 8 fit into 30, whatever capacity the authors' code assumes."""
    start = DeepAco(local_search=local_search)
    start.check()
    (plan,) = start.plans([LINE], 0)
    assert plan.tours == ((4, 3, 2), (1,))  # the network rates far customers highly
    assert not plan.is_feasible(LINE)
    assert plan.check(LINE.with_vehicles(2)) == []


def test_the_control_follows_the_distances(checkout):
    """It visits near customers first, and needs no weights."""
    for file in checkout.glob("pretrained/*/*.pt"):
        file.unlink()
    (plan,) = DeepAco(control=True).plans([LINE], 0)
    assert plan.tours == ((1, 2, 3), (4,))


def test_the_settings_are_those_of_the_authors_scripts(checkout):
    """Options of the method change them, and its name in rows says so."""

    def said(spec, folder):
        method = get_method(spec)
        method.solve([LINE], seed=3)
        return method.name, json.loads((checkout / folder / "log.json").read_text())

    name, plain = said("experiments.deepaco:DeepAco", "cvrp")
    drawn = plain.pop("drawn")
    assert name == "DeepAco"
    assert plain == {"ants": 20, "iterations": 100, "own": [], "nearest": None}
    name, improved = said(
        "experiments.deepaco:DeepAco:local_search=yes,iterations=10,ants=5", "cvrp_nls"
    )
    assert name == "DeepAco:ants=5,iterations=10,local_search=yes"
    assert improved == {
        "ants": 5, "iterations": 10, "own": ["inference", "positions", "swapstar"],
        "nearest": 4, "drawn": drawn,
    }  # fmt: skip


def test_a_seed_gives_the_same_plan_and_leaves_other_random_numbers(checkout):
    """The ants draw from the seed alone."""
    state = torch.get_rng_state()
    drawn = []
    for seed in (1, 2, 1):
        DeepAco().plans([LINE], seed)
        drawn.append(json.loads((checkout / "cvrp/log.json").read_text())["drawn"])
    assert drawn[0] == drawn[2] != drawn[1]
    assert torch.equal(torch.get_rng_state(), state)


def test_the_names_of_the_authors_modules_stay_free(checkout, monkeypatch):
    """A module of the user that is called utils as well is still the user's."""
    own = ModuleType("utils")
    monkeypatch.setitem(sys.modules, "utils", own)
    before = list(sys.path)
    DeepAco().check()
    DeepAco(local_search=True).check()
    assert sys.path == before
    assert sys.modules["utils"] is own
    assert not {"net", "aco"} & sys.modules.keys()


@pytest.mark.parametrize("folder", ["", "nowhere"])
def test_without_a_checkout_the_error_says_what_to_clone(folder, monkeypatch):
    """Nothing is set, or the folder does not exist."""
    monkeypatch.setenv("DEEPACO", folder)
    with pytest.raises(InputError, match=r"git clone .*DeepACO.* variable DEEPACO"):
        DeepAco().check()


def test_a_missing_package_is_named(checkout):
    """The authors' code needs torch_geometric."""
    (checkout / "cvrp" / "net.py").write_text("import torch_geo_missing.nn")
    with pytest.raises(MissingPackageError, match="pip install torch_geo_missing"):
        DeepAco().check()


def test_a_missing_library_is_named(checkout):
    """The local search is a compiled library."""
    (checkout / "cvrp_nls" / "library").unlink()
    with pytest.raises(InputError, match=r"local search: .*library"):
        DeepAco(local_search=True).check()


def test_instances_that_the_networks_do_not_know_are_refused(checkout):
    """There are weights for some sizes only, and only for the unit square."""
    three = replace(LINE, customers=LINE.customers[:3], demands=[8, 8, 8])
    with pytest.raises(InputError, match=r"no weights for 3 customers, only cvrp4\.pt"):
        DeepAco().plans([three], 0)
    with pytest.raises(InputError, match="unit square"):
        DeepAco().plans([replace(LINE, customers=100 * LINE.customers)], 0)
