"""Fixtures shared by all tests."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import registry
from tests.oracle import optimal_plan as plan_optimally
from tests.small_instances import IMPOSSIBLE, SMALL

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

ROOT = Path(__file__).parent.parent

# A shell has what it starts in the background ignore Ctrl-C, and children of that too.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with CVRPLIB instances, labels and reference plans, if there is."""
    folder = Path(os.environ.get("FIXEDFLEET_SHARED", ROOT.parent / "shared"))
    if not (folder / "cvrplib").is_dir():
        pytest.skip("no folder with CVRPLIB instances and reference plans")
    return folder


@pytest.fixture(autouse=True, scope="module")
def forget_parts():
    """Forget the parts that tests have registered or loaded by "module.py:Name".

    Every worker process of a later test would load them too, and torch with them.
    """
    before = {kind: dict(one._parts) for kind, one in registry._registries.items()}
    yield
    for kind, one in registry._registries.items():  # some were made by these tests
        one._parts = before.get(kind, {})
    for module in registry.user_modules():
        del sys.modules[module.__name__]


@pytest.fixture(scope="session")
def square() -> ff.Instance:
    """Four customers on the corners of a square around the depot, two vehicles.

    Each customer demands 1 of a capacity of 2; the best plan takes two neighbours a
    tour and has length 2 · (√2 + 2 + √2) = 4 + 4√2.
    """
    return ff.Instance(
        depot=(0, 0),
        customers=[[1, 1], [1, -1], [-1, -1], [-1, 1]],
        demands=[1, 1, 1, 1],
        capacity=2,
        vehicles=2,
    )


@pytest.fixture(params=SMALL.values(), ids=SMALL.keys())
def small(request: pytest.FixtureRequest) -> ff.Instance:
    """An instance of at most seven customers, feasible for its fleet."""
    return request.param


@pytest.fixture
def impossible() -> ff.Instance:
    """Three customers of 6 into two vehicles of 10: the sum fits, the packing fails."""
    return IMPOSSIBLE


@pytest.fixture(scope="session")
def optimal_plan() -> Callable[..., ff.Plan | None]:
    """A function that returns the optimal plan of at most ten customers."""
    return plan_optimally


@pytest.fixture
def make_instance():
    """Return a maker of random instances that a packing is known to fit."""

    def make(n=12, vehicles=3, capacity=20, seed=0, **changes) -> ff.Instance:
        rng = np.random.default_rng(seed)
        fields = {
            "depot": rng.uniform(size=2),
            "customers": rng.uniform(size=(n, 2)),
            "demands": rng.integers(1, 1 + vehicles * capacity // (2 * n), size=n),
            "capacity": capacity,
            "vehicles": vehicles,
        }
        return ff.Instance(**(fields | changes))

    return make


@pytest.fixture(scope="session")
def osrm(tmp_path_factory: pytest.TempPathFactory) -> Generator[str, None, None]:
    """The address of an OSRM server with the roads of two small towns."""
    from tests.road_server import serving_roads

    with serving_roads(tmp_path_factory.mktemp("osrm")) as address:
        yield address


@pytest.fixture
def cluster() -> None:
    """A Ray cluster of two cores whose workers can import what the tests import."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    if ray.is_initialized():  # by the test before; see `pytest_runtest_teardown`
        return
    places = [ROOT / "src", *(ROOT / "tests" / name for name in ("labels", "evaluate"))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, [*places, ROOT / "tests"])))
        patch.setenv("RAY_worker_niceness", "0")  # or other tests would be served first
        for unneeded in ("start_monitor", "start_log_monitor", "start_api_server"):
            patch.setattr(f"ray._private.node.Node.{unneeded}", _nothing, raising=False)
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=100 * 2**20,
        )


def _nothing(*_arguments: object, **_options: object) -> None: ...


# Tests that share something costly are the work of one worker process: a browser, the
# site, servers, roads, a Ray cluster, a compiler that torch loads for seconds. Other
# tests are kept together by file. These groups take longest, so they begin first.
GROUPS = {
    "page": ("browser",),
    "site": ("test_site.py",),
    "service": ("serve",),
    "roads": ("roads",),
    "cluster": (
        "test_cluster.py",
        "test_label_run.py",
        "test_solve_batch.py",
        "test_workers.py",
    ),
    "training": (
        "training",
        "model",
        "test_train_command.py",
        "test_the_tutorial_of_researchers_runs",
    ),
    "evaluation": ("test_runner.py",),
}


def _group(nodeid: str) -> str:
    """Return the group of a test, or else the name of its file."""
    path, _, test = nodeid.partition("::")
    room, name = path.split("/")[-2:]
    places = {room, name, test}
    return next((g for g, parts in GROUPS.items() if places & {*parts}), name)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage, also later: what is loaded stays loaded."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(optionalhook=True)  # tests run without xdist too
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return what hands out tests to worker processes, whole groups of them."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(nodeid)

    return Groups(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long groups first, and the tests on a cluster last in their group."""
    slow = Counter(_group(i.nodeid) for i in items if i.get_closest_marker("slow"))
    slow |= {group: 1000 - place for place, group in enumerate(GROUPS)}
    items.sort(key=lambda item: (-slow[_group(item.nodeid)], _on_cluster(item)))


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Leave the cluster after its last test: other tests need their process alone."""
    last = _on_cluster(item) and (nextitem is None or not _on_cluster(nextitem))
    if last and (ray := sys.modules.get("ray")):  # or Ray is not installed
        ray.shutdown()


def _on_cluster(item: pytest.Item) -> bool:
    return "cluster" in getattr(item, "fixturenames", ())


@pytest.fixture
def make_row():
    """Return a maker of rows, all of a plan within the fleet unless told otherwise."""

    from fixedfleet.evaluate import Row

    def make(**changes) -> Row:
        fields = {
            "set": "some",
            "instance": "a",
            "method": "fake",
            "time_limit": 1.0,
            "iterations": None,
            "seed": 0,
            "customers": 4,
            "fleet": 2,
            "vehicle_cost": 10.0,
            "length": 8.0,
            "cost_v": 28.0,
            "vehicles": 2,
            "floor": 2,
            "served": True,
            "within": True,
            "seconds": 0.5,
        }
        return Row(**(fields | changes))

    return make


@pytest.fixture
def uninstall(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that makes a solver's package look as if it were missing."""
    from fixedfleet.search import SEARCHES

    def uninstall(package: str) -> None:
        adapter = f"fixedfleet.search.outside.{package}_search"
        monkeypatch.delitem(sys.modules, adapter, raising=False)
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.setattr(SEARCHES, "_parts", {})

    return uninstall
