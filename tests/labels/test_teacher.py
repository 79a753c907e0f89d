"""Teachers."""

from __future__ import annotations

import pickle
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.errors import MissingPackageError
from fixedfleet.fleet import assess_batch
from fixedfleet.generate import uniform
from fixedfleet.labels import (
    GpuTeacher,
    SearchTeacher,
    get_teacher,
    label,
    load_labels,
)

OWN_TEACHER = """
import dataclasses
import numpy as np

@dataclasses.dataclass(frozen=True)
class InOrder:
    twice: bool = False
    name = "in_order"
    on_gpu = False

    def settings(self):
        return dataclasses.asdict(self)

    def label_many(self, batch, seeds):
        routes = np.tile(np.arange(1, batch.num_customers + 1), (len(batch), 1))
        return routes, np.ones(len(batch), dtype=bool)
"""


def impossible() -> ff.InstanceBatch:
    """Two instances of three customers of 2 each: in vehicles of 3 and of 4."""
    return ff.InstanceBatch(
        depots=np.zeros((2, 2)),
        customers=np.array([[[0, 1], [1, 1], [1, 0]]] * 2),
        demands=np.full((2, 3), 2),
        capacity=[3, 4],
        vehicles=2,
    )


@pytest.mark.parametrize(
    ("name", "given", "settings"),
    [
        ("ortools", {"time_limit": 2}, {"time_limit": 2}),
        ("hgs", {}, {"time_limit": 1.0}),
        ("ruin_recreate", {"iterations": 100}, {"iterations": 100}),
        ("ruin_recreate", {"time_limit": 0.5, "iterations": None}, {"time_limit": 0.5}),
        ("gpu", {"iterations": 5}, {"iterations": 5}),
    ],
)
def test_a_teacher_goes_by_its_name(name, given, settings):
    """A teacher has the name and settings asked for, and travels to processes."""
    teacher = get_teacher(name, **given)
    assert teacher.name == name
    assert teacher.settings() == settings
    assert pickle.loads(pickle.dumps(teacher)) == teacher


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("oracle", {}, "unknown teacher 'oracle': choose from ortools, pyvrp"),
        ("hgs", {"iterations": 5}, "'hgs' has no setting 'iterations': it takes time_"),
        ("gpu", {"time_limit": 5}, "'gpu' has no setting 'time_limit'"),
        ("hgs", {"time_limit": 0}, "time_limit is 0, not a number above 0"),
        ("ruin_recreate", {}, "needs iterations or a time_limit"),
        ("ruin_recreate", {"iterations": 1.5}, "iterations is 1.5, not a whole number"),
        ("ruin_recreate", {"iterations": 5, "time_limit": 1}, "and not both"),
        ("gpu", {"iterations": 0}, "iterations is 0, not a whole number"),
    ],
)
def test_a_wrong_teacher_is_refused(name, given, message):
    """An unknown name or setting is refused with what there is."""
    with pytest.raises(ff.InputError, match=message):
        get_teacher(name, **given)


@pytest.mark.skipif(find_spec("cupy") is None, reason="no GPU with CuPy")
def test_the_gpu_teacher_shortens_packings():
    """On a GPU its labels are plans, and much shorter than the packings."""
    batch = uniform(20, 100, seed=3)
    packings = assess_batch(batch, time_limit=0).packings
    routes, labelled = GpuTeacher(2000).label_many(batch, np.arange(100))
    assert labelled.all()
    plans = ff.PlanBatch(routes)
    assert plans.feasible(batch).all()
    assert plans.lengths(batch).mean() < 0.7 * packings.lengths(batch).mean()


@pytest.mark.skipif(find_spec("cupy") is not None, reason="CuPy is installed")
def test_without_cupy_the_error_names_the_extra():
    """The teacher on a GPU needs CuPy: the error says how to install it."""
    batch = uniform(20, 2, seed=3)
    with pytest.raises(MissingPackageError, match=r"fixedfleet\[gpu\]"):
        GpuTeacher(10).label_many(batch, np.arange(2))


@pytest.mark.slow
def test_a_teacher_of_ones_own_goes_by_a_reference(tmp_path, monkeypatch):
    """A class in a file is a teacher by "file.py:Name", in worker processes too."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(OWN_TEACHER)
    teacher = get_teacher("mine.py:InOrder", twice=True, time_limit=None)
    batch = uniform(5, 3, seed=1, capacity=50, vehicles=1)
    assert label(batch, "labels", teacher=teacher, processes=1).labelled == 3
    assert list(load_labels("labels")[1]) == [ff.Plan([range(1, 6)])] * 3
    with pytest.raises(ff.InputError, match="no setting 'once': it takes twice"):
        get_teacher("mine.py:InOrder", once=True)


def test_an_unknown_solver_is_no_teacher():
    """A solver that does not exist is refused when it is named."""
    with pytest.raises(ff.InputError, match="unknown search 'gurobi'"):
        SearchTeacher("gurobi", 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "teacher",
    [SearchTeacher("ortools", 0.1), SearchTeacher("ruin_recreate", iterations=100)],
)
def test_what_no_plan_exists_for_is_not_labelled(teacher):
    """An instance proven impossible has no label; its feasible neighbour has one."""
    batch = impossible()
    routes, labelled = teacher.label_many(batch, np.arange(2))
    assert labelled.tolist() == [False, True]
    assert ff.PlanBatch(routes).feasible(batch).tolist() == [False, True]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ortools", "pyvrp", "vroom", "hgs"])
def test_every_solver_teaches(name):
    """Each solver gives feasible labels for ordinary instances."""
    if name in ("pyvrp", "vroom"):
        pytest.importorskip(name)
    batch = uniform(20, 2, seed=1)
    routes, labelled = get_teacher(name, time_limit=0.2).label_many(batch, np.arange(2))
    assert labelled.all()
    assert ff.PlanBatch(routes).feasible(batch).all()


@pytest.mark.slow
def test_the_search_labels_the_same_everywhere(tmp_path):
    """By iterations the search gives the same labels in one process and in two."""
    batch = uniform(20, 6, seed=1)
    teacher = get_teacher("ruin_recreate", iterations=500)
    for processes in (1, 2):
        folder = tmp_path / str(processes)
        label(batch, folder, teacher=teacher, processes=processes)
    one, two = (load_labels(tmp_path / name) for name in "12")
    np.testing.assert_array_equal(one[1].routes, two[1].routes)
    assert one[2].all()
    assert one[1].lengths(batch).mean() < 7.5


def test_the_gpu_teacher_labels_what_can_be_packed(monkeypatch):
    """A shard goes to the GPU in one piece, without what cannot be packed."""
    asked = []

    def improve_batch(batch, plans, *, deadline, seed):
        asked.append((len(batch), deadline.iterations, seed))
        assert plans.feasible(batch).all()
        return plans

    monkeypatch.setattr("fixedfleet.search.gpu.improve_batch", improve_batch)
    batch = impossible()
    routes, labelled = GpuTeacher(9).label_many(batch, np.array([5, 6]))
    assert asked == [(1, 9, 5)]
    assert labelled.tolist() == [False, True]
    assert ff.PlanBatch(routes).feasible(batch).tolist() == [False, True]
