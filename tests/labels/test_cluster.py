"""Labelling on a real Ray cluster, started here."""

from __future__ import annotations

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.labels import LabellingError, label, load_labels

ray = pytest.importorskip("ray", reason="Ray is not installed")


def test_an_address_is_asked_for(teachers, tmp_path):
    """Without a cluster at hand, the engine 'ray' asks where one is."""
    if ray.is_initialized():
        pytest.skip("this process is connected to a cluster")
    with pytest.raises(ff.InputError, match="needs an address: 'auto'"):
        label(
            teachers.make_batch(),
            tmp_path,
            teacher=teachers.NearestFirst(),
            engine="ray",
        )


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "nonsense"])
def test_an_address_without_a_cluster_is_refused(teachers, tmp_path, address):
    """Where nothing listens, the error comes at once and names the address."""
    if ray.is_initialized():
        pytest.skip("this process is connected to a cluster")
    with pytest.raises(ff.InputError, match=f"no Ray cluster at '{address}'"):
        label(
            teachers.make_batch(),
            tmp_path,
            teacher=teachers.NearestFirst(),
            engine="ray",
            ray_address=address,
        )


def test_a_cluster_labels_like_processes(cluster, teachers, tmp_path):
    """A cluster gives the labels that processes give, and goes on with theirs."""
    batch, teacher = teachers.make_batch(), teachers.NearestFirst()
    label(batch, tmp_path / "a", teacher=teacher, processes=1, shard_size=3)
    seen = []
    summary = label(
        batch,
        tmp_path / "b",
        teacher=teacher,
        engine="ray",
        shard_size=3,
        progress=seen.append,
    )
    assert (summary.new, summary.labelled) == (12, 12)
    assert seen[-1].done == 12
    one, two = (load_labels(tmp_path / name)[1].routes for name in "ab")
    np.testing.assert_array_equal(one, two)

    (tmp_path / "a" / "shard-00002.npz").unlink()
    again = label(batch, tmp_path / "a", teacher=teacher, engine="ray")
    assert again.new == 3
    np.testing.assert_array_equal(load_labels(tmp_path / "a")[1].routes, one)


def test_a_worker_that_dies_is_replaced_once(cluster, teachers, tmp_path, caplog):
    """A shard whose worker died on the cluster is reported and tried again."""
    batch = teachers.make_batch()
    log = str(tmp_path / "log")
    teacher = teachers.NearestFirst(log, failure="die", fail_on=7, deaths=1)
    summary = label(
        batch, tmp_path / "l", teacher=teacher, engine="ray", shard_size=6, processes=1
    )
    assert summary.labelled == 12
    assert "the Ray worker was lost (WorkerCrashedError) on shard 1" in caplog.text


def test_a_teacher_that_raises_stops_the_run(cluster, teachers, tmp_path):
    """A teacher's own error on the cluster names the row and the cause."""
    teacher = teachers.NearestFirst(failure="raise", fail_on=7)
    with pytest.raises(LabellingError, match=r"rows 7 to 7 failed: ZeroDivision"):
        label(
            teachers.make_batch(),
            tmp_path,
            teacher=teacher,
            engine="ray",
            shard_size=2,
            processes=1,
        )
    assert load_labels(tmp_path)[2].sum() == 6
