"""Labels made while training: packed, labelled, renewed in place, and made again."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.cli import main
from fixedfleet.errors import MissingPackageError
from fixedfleet.fleet import assess_batch
from fixedfleet.labels import GpuTeacher
from fixedfleet.training import Dataset, Fresh, Preset, find_checkpoint, train
from fixedfleet.training import fresh as module
from fixedfleet.training.ranks import Ranks
from fixedfleet.training.training_data import TrainingData, gather_data

from .conftest import (
    CAPACITY,
    FLEET,
    N,
    assert_same_state,
    changed,
    losses,
    read_log,
)

has_cupy = importlib.util.find_spec("cupy") is not None
no_cupy = pytest.mark.skipif(has_cupy, reason="CuPy is installed")
needs_gpu = pytest.mark.skipif(
    not (has_cupy and torch.cuda.is_available()), reason="no GPU with CuPy"
)


@dataclass(frozen=True)
class PackingTeacher:
    """Packings as labels: the quickest teacher."""

    name = "packing"
    on_gpu = False

    def settings(self):
        return {}

    def label_many(self, batch, seeds):
        verdict = assess_batch(batch, time_limit=0)
        return verdict.packings.routes, verdict.feasible


def recipe(**changes) -> Fresh:
    """Sixty-four labels of the tiny preset's size, renewed every two epochs."""
    fields = {"count": 64, "renew": 2, "teacher": PackingTeacher()}
    return Fresh(**(fields | {"capacity": CAPACITY, "vehicles": FLEET} | changes))


def make_data(
    fresh: Fresh | None = None, seed: int = 0, labels=None, customers: int = N
) -> TrainingData:
    """Room for the fresh labels, and sixteen rows held out."""
    tables = {"customers": customers, "training": {"validation": 16}}
    preset = Preset.from_dict("fresh", tables)
    return gather_data(preset, labels, fresh or recipe(), Ranks("cpu"), seed)


def rows_of(data: TrainingData) -> Dataset:
    """The rows that are trained on."""
    return data.buckets[0].labels


# --------------------------------------------------------------------------- rounds


def test_rounds_follow_from_seed_and_number_alone():
    """The same seed and round give the same labels, another seed or round others."""
    data, again, other = make_data(), make_data(), make_data(seed=1)
    for one in (data, again, other):
        one.renew(0)
    first = rows_of(data).routes.clone()
    assert torch.equal(first, rows_of(again).routes)
    assert not torch.equal(rows_of(data).coordinates, rows_of(other).coordinates)
    assert data.renew(1) is None  # the same round
    news = data.renew(2)
    assert news["round"] == 2
    assert not torch.equal(first, rows_of(data).routes)
    again.renew(7)
    again.renew(2)  # as after a resumption, whatever was before
    assert torch.equal(rows_of(data).routes, rows_of(again).routes)


def test_renewed_labels_stay_where_a_captured_graph_reads_them():
    """New labels are copied into the old ones' memory; those held out stay."""
    data = make_data()
    data.renew(0)
    places = {name: t.data_ptr() for name, t in rows_of(data).tensors().items()}
    held_out = data.held_out.routes.clone()
    data.renew(2)
    assert {n: t.data_ptr() for n, t in rows_of(data).tensors().items()} == places
    assert torch.equal(data.held_out.routes, held_out)
    assert torch.equal(make_data(seed=9).held_out.routes, held_out)


def test_fresh_labels_are_plans_in_parts_of_any_size(monkeypatch):
    """Made in several parts, with a smaller last one, every row has its label."""
    monkeypatch.setattr(module, "_CHUNK", 24)
    data = make_data()
    news = data.renew(0)
    assert news["labels"] == len(rows_of(data)) == 64
    assert (rows_of(data).routes.sort(1).values[:, -N:] == torch.arange(1, N + 1)).all()
    assert (rows_of(data).capacity == CAPACITY).all()
    assert rows_of(data).units[:, 1:].min() >= 1


def test_labels_given_besides_are_kept_through_the_rounds(dataset):
    """Given labels stay, the last of them held out, and fresh ones come after."""
    data = make_data(labels=dataset, fresh=recipe(capacity=None, vehicles=None))
    for epoch in (0, 2):
        data.renew(epoch)
        assert len(rows_of(data)) == len(dataset) - 16 + 64
        assert torch.equal(rows_of(data).routes[:80], dataset.routes[:80])
        assert (rows_of(data).units[80:, 1:] > 0).all()
    assert torch.equal(data.held_out.routes, dataset.routes[80:])
    with pytest.raises(ff.InputError, match="fresh capacity is 99, that of the labels"):
        make_data(labels=dataset, fresh=recipe(capacity=99))


def test_a_teacher_that_finds_too_little_is_named():
    """Where too few instances get a plan, the error says what would help."""

    class Lazy(PackingTeacher):
        def label_many(self, batch, seeds):
            routes, packed = super().label_many(batch, seeds)
            return routes, packed & (np.arange(len(batch)) < 3)

    with pytest.raises(ff.InputError, match=r"plans for 3 of 48.*16 are wanted"):
        make_data(recipe(teacher=Lazy()))


def test_a_teacher_that_lies_is_found_out():
    """A label that is no plan for its instance stops the training."""

    class Liar(PackingTeacher):
        def label_many(self, batch, seeds):
            routes, packed = super().label_many(batch, seeds)
            return np.zeros_like(routes), packed

    with pytest.raises(ff.InputError, match="row 0 is infeasible"):
        make_data(recipe(teacher=Liar()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"count": 0}, "fresh count is 0"),
        ({"renew": 0}, "fresh renew is 0"),
        ({"renew": 1.5}, "fresh renew is 1.5"),
        ({"teacher": "gpu", "iterations": -1}, "fresh iterations is -1"),
        ({"teacher": "ortools"}, "choose from gpu, ruin_recreate"),
        ({"iterations": 7}, "only for the teachers gpu and ruin_recreate"),
    ],
)
def test_senseless_recipes_are_refused(changes, message):
    """A number or a teacher that makes no sense is an error by name."""
    with pytest.raises(ff.InputError, match=message):
        recipe(**changes)


def test_sizes_come_from_the_presets_or_must_be_given():
    """Known sizes have a capacity and a fleet, others need both."""
    data = make_data(Fresh(count=8, teacher=PackingTeacher()), customers=20)
    assert (data.fresh.capacity, rows_of(data).vehicles) == (30, 4)
    with pytest.raises(
        ff.InputError, match="no capacity and fleet are known for n = 6:"
    ):
        make_data(recipe(vehicles=None))


# ------------------------------------------------------------------------- teachers


def test_the_gpu_teacher_improves_packings_of_the_whole_batch(monkeypatch):
    """It hands packings to the search, with its iterations, and returns its plans."""
    from fixedfleet.search import gpu

    seen = {}

    def improve(batch, starts, *, stop, seed):
        assert starts.feasible(batch).all()
        seen.update(iterations=stop.iterations, seed=seed, size=len(batch))
        return starts

    monkeypatch.setattr(gpu, "improve_batch", improve)
    batch = generate.uniform(20, 30, seed=3)
    teacher = Fresh(count=1).get_teacher(20)
    assert isinstance(teacher, GpuTeacher)
    routes, labelled = teacher.label_many(batch, np.arange(5, 35))
    assert labelled.all()
    assert ff.PlanBatch(routes).feasible(batch).all()
    assert seen == {"iterations": 10_000, "seed": 5, "size": 30}


@needs_gpu
def test_the_gpu_teacher_shortens_packings():
    """On a GPU its labels are plans, and much shorter than the packings."""
    batch = generate.uniform(20, 100, seed=3)
    packings = assess_batch(batch, time_limit=0).packings
    routes, labelled = GpuTeacher(2000).label_many(batch, np.arange(100))
    assert labelled.all()
    plans = ff.PlanBatch(routes)
    assert plans.feasible(batch).all()
    assert plans.lengths(batch).mean() < 0.7 * packings.lengths(batch).mean()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_captured_step_sees_renewed_labels(preset, tmp_path):
    """On a GPU, every round's loss is the same with and without a CUDA graph."""
    for graph in (True, False):
        train(
            changed(preset, compile=False, precision="fp32", graph=graph),
            fresh=recipe(renew=1),
            out=tmp_path / str(graph),
            device="cuda",
            display=None,
        )
    with_graph, without = losses(tmp_path / "True"), losses(tmp_path / "False")
    assert with_graph == pytest.approx(without, rel=1e-3)


@no_cupy
def test_without_cupy_the_error_names_the_extra(preset, tmp_path, capsys):
    """Fresh labels by default need CuPy: a clear error, and no folder."""
    fresh = recipe(teacher="gpu")
    with pytest.raises(MissingPackageError, match=r"fixedfleet\[gpu\]"):
        train(preset, fresh=fresh, out=tmp_path / "run", device="cpu")
    command = ["train", "paper20", "--fresh", "2000", "--out", str(tmp_path / "run")]
    assert main([*command, "--device", "cpu"]) == 2
    assert "needs the package 'cupy'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


# ------------------------------------------------------------------------- training


@pytest.mark.slow
def test_training_renews_its_labels_and_resumes_exactly(preset, tmp_path):
    """Stopped in its second round and resumed, a training is as if never stopped."""
    whole, part = tmp_path / "whole", tmp_path / "part"
    train(preset, fresh=recipe(), out=whole, device="cpu", display=None)
    rounds = read_log(whole, "fresh/round")
    assert [(row["step"], row["fresh/round"]) for row in rounds] == [(0, 1), (8, 2)]
    lines: list[str] = []
    common = {"fresh": recipe(), "out": part, "device": "cpu"}
    train(changed(preset, steps=10), **common, display=None)
    resume = find_checkpoint(part)
    train(preset, **common, resume=resume, display=lines.append)
    assert any("round 2: 64 new labels" in line for line in lines)
    assert_same_state(whole, part)


@pytest.mark.slow
def test_another_recipe_does_not_resume(preset, dataset, tmp_path):
    """A checkpoint of fresh labels is only resumed with the same recipe."""
    short = changed(preset, steps=2)
    train(short, fresh=recipe(), out=tmp_path, device="cpu", display=None)
    for changes, labels in (({"renew": 3}, None), ({}, dataset)):
        with pytest.raises(ff.InputError, match="new every 2 epochs, this training"):
            train(
                preset,
                labels,
                fresh=recipe(**changes),
                out=tmp_path,
                resume=find_checkpoint(tmp_path),
                device="cpu",
                display=None,
            )
