"""Labelling runs, on the cores of one machine and on a Ray cluster."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.evaluate import get_method
from fixedfleet.files import write_batch
from fixedfleet.generate import uniform
from fixedfleet.labels import LabellingError, label, load_bounds, load_labels

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "slow_method.py"


def calls(log: Path) -> Counter[str]:
    return Counter(log.read_text().split()) if log.exists() else Counter()


def shards(folder: Path) -> list[Path]:
    return sorted(folder.glob("shard-*.npz"))


def start(folder: Path, log: Path):
    """Start a labelling run as a user would; it hangs after two of six shards."""
    command = [sys.executable, SCRIPT, folder, log, 4]
    process = subprocess.Popen(
        [str(word) for word in command],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of its own, to be signalled as one
    )
    deadline = time.monotonic() + 60
    while len(shards(folder)) < 2:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "two shards were never written"
        time.sleep(0.02)
    return process


def test_labels_hold_for_their_instances(methods, tmp_path):
    """What is labelled can be read back as instances with a feasible plan each."""
    batch = methods.make_batch()
    summary = label(batch, tmp_path, method=methods.NearestFirst(), processes=1)
    found, plans, labelled = load_labels(tmp_path)
    assert found == batch
    assert labelled.all()
    assert plans.feasible(batch).all()
    assert (summary.labelled, summary.new, summary.count) == (12, 12, 12)
    assert "12 of 12 instances labelled" in str(summary)


def test_labels_keep_their_proofs(tmp_path):
    """With prove=yes, a folder has lower bounds and says which labels are optimal."""
    batch = uniform(8, 3, seed=3, capacity=20, vehicles=4)
    method = get_method("packing+auto:prove=yes")
    for new in (3, 0):
        summary = label(batch, tmp_path, method=method, time_limit=5.0, processes=1)
        assert (summary.proven, summary.new) == (3, new)
        assert "3 proven optimal" in str(summary)
    bounds, proven = load_bounds(tmp_path)
    assert proven.all()
    lengths = load_labels(tmp_path)[1].lengths(batch)
    np.testing.assert_allclose(bounds, lengths, rtol=2e-7)
    assert (bounds <= lengths).all()


def test_labels_without_proofs_have_no_bounds(finished):
    """Without prove=yes, nothing is claimed."""
    bounds, proven = load_bounds(finished)
    assert np.isnan(bounds).all()
    assert not proven.any()


def test_processes_and_shards_do_not_change_the_labels(methods, tmp_path):
    """One process or two, large shards or small, the labels are the same."""
    batch, method = methods.make_batch(), methods.NearestFirst()
    label(batch, tmp_path / "a", method=method, processes=1, shard_size=12, seed=5)
    label(batch, tmp_path / "b", method=method, processes=2, shard_size=5, seed=5)
    label(batch, tmp_path / "c", method=method, processes=1, seed=6)
    one, two, other = (load_labels(tmp_path / name)[1] for name in "abc")
    np.testing.assert_array_equal(one.routes, two.routes)
    assert list(one) != list(other)


@pytest.mark.parametrize(
    ("how", "send"),
    [
        # To the whole group as a terminal does it, or to the parent alone.
        pytest.param(signal.SIGKILL, os.killpg, id="all killed"),
        pytest.param(signal.SIGKILL, os.kill, id="parent killed"),
        pytest.param(signal.SIGINT, os.killpg, id="Ctrl-C"),
    ],
)
def test_a_run_that_was_ended_goes_on(methods, finished, tmp_path, how, send):
    """After a kill or Ctrl-C whole shards stay, and a new run labels just the rest."""
    folder, log = tmp_path / "labels", tmp_path / "log"
    process = start(folder, log)
    send(process.pid, how)
    stderr = process.communicate(timeout=30)[1]  # ends when the workers have, too
    assert process.returncode == -how
    if how == signal.SIGINT:
        assert stderr.rstrip().endswith("KeyboardInterrupt")
        # One exception, the parent's: workers are silent. It has two tracebacks if it
        # came while another one was handled.
        chained = stderr.count("During handling of the above exception")
        assert stderr.count("Traceback") == 1 + chained
        assert not list(folder.glob(".*.tmp"))

    batch = methods.make_batch()
    kept = {path.name: path.read_bytes() for path in shards(folder)}
    assert list(kept) == ["shard-00000.npz", "shard-00001.npz"]
    before = load_labels(folder)[2]
    (folder / ".shard-00005.npz.abc.tmp").write_bytes(b"half")
    again = tmp_path / "again"
    method = methods.NearestFirst(str(again))
    summary = label(batch, folder, method=method, processes=2)

    assert summary.new == 12 - before.sum()
    assert not list(folder.glob(".*.tmp"))
    for name, content in kept.items():
        assert (folder / name).read_bytes() == content
    missing = Counter(repr(x) for x in batch.depots[~before, 0])
    assert calls(again) == missing
    done = calls(log)
    assert all(done[repr(x)] == 1 for x in batch.depots[before, 0])
    np.testing.assert_array_equal(
        load_labels(folder)[1].routes, load_labels(finished)[1].routes
    )


def test_a_finished_folder_is_left_alone(methods, tmp_path):
    """A second run over finished labels asks the method nothing."""
    batch, log = methods.make_batch(), tmp_path / "log"
    for _ in range(2):
        summary = label(
            batch,
            tmp_path / "labels",
            method=methods.NearestFirst(str(log)),
            processes=1,
        )
    assert (summary.new, summary.labelled) == (0, 12)
    assert set(calls(log).values()) == {1}


def test_two_runs_cannot_share_a_folder_at_once(methods, tmp_path):
    """While one run labels into a folder, another is refused."""
    folder = tmp_path / "labels"
    process = start(folder, tmp_path / "log")
    try:
        with pytest.raises(ff.InputError, match="another run is labelling"):
            label(methods.make_batch(), folder, method=methods.NearestFirst())
    finally:
        process.kill()
        process.communicate()  # ends when the workers have


@pytest.mark.parametrize("failure", ["none", "infeasible"])
def test_what_the_method_cannot_do_is_left_unlabelled(methods, tmp_path, failure):
    """A row with no plan, or a wrong one, is recorded as unlabelled; the rest holds."""
    batch = methods.make_batch()
    method = methods.NearestFirst(failure=failure, fail_on=7)
    summary = label(batch, tmp_path, method=method, processes=1)
    _, plans, labelled = load_labels(tmp_path)
    assert np.flatnonzero(~labelled).tolist() == [7]
    assert plans[7] == ff.Plan([])
    assert summary.labelled == 11
    assert (summary.no_plan, summary.infeasible) == (
        (1, 0) if failure == "none" else (0, 1)
    )
    again = label(batch, tmp_path, method=method, processes=1)
    assert again.new == 0


def test_a_method_that_raises_stops_the_run_with_the_place(methods, tmp_path):
    """A method's own error names the row and the cause, and keeps whole shards."""
    method = methods.NearestFirst(failure="raise", fail_on=7)
    with pytest.raises(LabellingError, match=r"rows 7 to 7 failed: ZeroDiv") as caught:
        label(methods.make_batch(), tmp_path, method=method, processes=1, shard_size=2)
    assert "of all things" in caught.value.__notes__[0]
    assert load_labels(tmp_path)[2].sum() == 6


def test_a_worker_that_dies_is_replaced_once(methods, tmp_path, caplog):
    """A shard whose worker died is reported and tried again."""
    log = str(tmp_path / "log")
    method = methods.NearestFirst(log, failure="die", fail_on=7, deaths=1)
    summary = label(methods.make_batch(), tmp_path / "l", method=method, processes=2)
    assert summary.labelled == 12
    assert "ended by signal 9 on shard" in caplog.text


def test_a_worker_that_dies_twice_ends_the_run(methods, tmp_path):
    """A shard that kills its workers ends the run with an error that names it."""
    log = str(tmp_path / "log")
    method = methods.NearestFirst(log, failure="die", fail_on=7, deaths=2)
    with pytest.raises(LabellingError, match=r"signal 9 on shard 3 \(rows 6 to 7\)"):
        label(
            methods.make_batch(),
            tmp_path / "l",
            method=method,
            processes=1,
            shard_size=2,
        )


def test_a_method_on_a_gpu_gets_whole_shards(methods, tmp_path):
    """A method for batches is called once a shard, not once an instance."""
    log = tmp_path / "log"
    method = methods.WholeShards(str(log))
    batch = methods.make_batch()
    summary = label(batch, tmp_path / "l", method=method, shard_size=8)
    assert log.read_text().split() == ["8", "4"]
    assert summary.labelled == 12


def test_progress_counts_every_row(methods, tmp_path):
    """Progress begins with what was found, counts every row and ends at the total."""
    seen = []
    batch, method = methods.make_batch(), methods.NearestFirst()
    label(batch, tmp_path, method=method, processes=1, progress=seen.append)
    assert (seen[0].done, seen[-1].done) == (0, 12)
    assert {progress.done for progress in seen} == set(range(13))
    assert seen[-1].rate > 0
    assert seen[-1].time_left == 0


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"batch": {"seed": 4}}, "other instances"),
        ({"batch": {"count": 11}}, "instances: 12 in the folder, 11 asked for"),
        ({"method": "WholeShards"}, 'method: "nearest_first 0" in the folder'),
        ({"settings": {"taste": 0.5}}, 'method: "nearest_first 0" in the folder'),
        ({"seed": 1}, "seed: 0 in the folder, 1 asked for"),
        ({"shard_size": 3}, "shard size: 4 in the folder, 3 asked for"),
    ],
)
def test_a_folder_of_other_labels_is_refused(methods, finished, changes, difference):
    """Labels of other data, method or settings never mix, and the message says why."""
    batch = methods.make_batch(**changes.get("batch", {}))
    method = getattr(methods, changes.get("method", "NearestFirst"))
    settings = changes.get("settings", {})
    run = {name: changes[name] for name in ("seed", "shard_size") if name in changes}
    with pytest.raises(ff.InputError, match=difference):
        label(batch, finished, method=method(**settings), **run)


def test_foreign_files_are_refused(methods, tmp_path):
    """A folder with shards but no manifest, and a file, are no place for labels."""
    batch, method = methods.make_batch(), methods.NearestFirst()
    (tmp_path / "shard-00000.npz").write_bytes(b"")
    with pytest.raises(ff.InputError, match=r"no manifest\.json"):
        label(batch, tmp_path, method=method)
    with pytest.raises(ff.InputError, match="is a file, not a folder"):
        label(batch, tmp_path / "shard-00000.npz", method=method)


def test_a_folder_left_in_the_first_moment_is_taken_up(methods, tmp_path):
    """Instances without a manifest are gone on with if they are the same."""
    batch, method = methods.make_batch(2), methods.NearestFirst()
    write_batch(tmp_path / "instances.npz", methods.make_batch(2, seed=9))
    with pytest.raises(ff.InputError, match=r"instances\.npz is of other instances"):
        label(batch, tmp_path, method=method)
    write_batch(tmp_path / "instances.npz", batch)
    assert label(batch, tmp_path, method=method, processes=1).labelled == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"engine": "slurm"}, "unknown engine 'slurm': choose from processes, ray"),
        ({"processes": 0}, "processes is 0"),
        ({"shard_size": -1}, "shard_size is -1"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_wrong_arguments_are_refused(methods, tmp_path, arguments, message):
    """A wrong argument is named before anything is made."""
    with pytest.raises(ff.InputError, match=message):
        label(
            methods.make_batch(),
            tmp_path / "labels",
            method=methods.NearestFirst(),
            **arguments,
        )
    assert not (tmp_path / "labels").exists()


def test_the_manifest_says_what_is_labelled(methods, tmp_path):
    """The manifest names instances, method, settings, seed and version."""
    label(
        methods.make_batch(),
        tmp_path,
        method=methods.NearestFirst(),
        processes=1,
        seed=9,
    )
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["made_with"].startswith("fixedfleet ")
    assert manifest["method"] == "nearest_first 0"
    assert list(manifest["settings"]) == ["source"]
    assert (manifest["seed"], manifest["count"], manifest["customers"]) == (9, 12, 5)


def test_a_method_by_its_spec_labels_the_same_everywhere(tmp_path):
    """By iterations, a search gives the same labels in one process and in two."""
    batch, method = uniform(20, 4, seed=1), get_method("packing+ruin_recreate")
    for processes in (1, 2):
        folder = tmp_path / str(processes)
        label(batch, folder, method=method, iterations=300, processes=processes)
    one, two = (load_labels(tmp_path / name) for name in "12")
    np.testing.assert_array_equal(one[1].routes, two[1].routes)
    assert one[2].all()


def test_an_instance_without_a_plan_stays_unlabelled(tmp_path):
    """Three customers of 2 cannot be packed into two vehicles of 3, but of 4."""
    batch = ff.InstanceBatch(
        depots=np.zeros((2, 2)),
        customers=np.array([[[0, 1], [1, 1], [1, 0]]] * 2),
        demands=np.full((2, 3), 2),
        capacity=[3, 4],
        vehicles=2,
    )
    method = get_method("packing+ruin_recreate")
    summary = label(batch, tmp_path, method=method, iterations=9, processes=1)
    assert (summary.labelled, summary.no_plan) == (1, 1)
    assert load_labels(tmp_path)[2].tolist() == [False, True]


@pytest.mark.parametrize(
    ("spec", "limits", "said"),
    [
        ("hgs", {}, "takes time_limit or iterations, and was given none"),
        ("hgs", {"time_limit": 1, "iterations": 2}, "given time_limit and iterations"),
        ("ortools", {"iterations": 2}, "takes time_limit, and was given iterations"),
        ("packing", {"time_limit": 1}, "takes no limit, and was given time_limit"),
        ("hgs", {"time_limit": 0}, "time limit is 0"),
    ],
)
def test_a_method_gets_the_limit_that_it_takes(methods, tmp_path, spec, limits, said):
    """A limit that a method cannot count, none, or two are refused."""
    with pytest.raises(ff.InputError, match=said):
        label(methods.make_batch(), tmp_path / "l", method=get_method(spec), **limits)
    assert not (tmp_path / "l").exists()


def test_labels_are_the_shortest_plans(methods, tmp_path):
    """A method that minimises vehicle costs is refused, for labels have none."""
    method = get_method("packing+auto:objective=cost-v")
    with pytest.raises(ff.InputError, match="leave objective=cost-v out"):
        label(methods.make_batch(), tmp_path / "l", method=method, time_limit=0.1)
    assert not (tmp_path / "l").exists()


def test_a_folder_of_an_older_version_can_be_read(finished, tmp_path):
    """Its manifest calls the method a teacher."""
    folder = tmp_path / "older"
    shutil.copytree(finished, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["teacher"] = manifest.pop("method")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert load_labels(folder)[2].all()


# ----------------------------------------------------------------------------- Ray


def test_an_address_is_asked_for(methods, tmp_path, monkeypatch):
    """Without a cluster at hand, the engine 'ray' asks where one is."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    if ray.is_initialized():
        pytest.skip("this process is connected to a cluster")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(ff.InputError, match="in the environment variable RAY_ADDRESS"):
        label(
            methods.make_batch(),
            tmp_path,
            method=methods.NearestFirst(),
            engine="ray",
        )


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "nonsense"])
def test_an_address_without_a_cluster_is_refused(
    methods, tmp_path, monkeypatch, address
):
    """Where nothing listens, the error comes at once and names the address."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    if ray.is_initialized():
        pytest.skip("this process is connected to a cluster")
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(ff.InputError, match=f"no Ray cluster at '{address}'"):
        label(
            methods.make_batch(),
            tmp_path,
            method=methods.NearestFirst(),
            engine="ray",
        )


def test_a_cluster_labels_like_processes(cluster, methods, tmp_path):
    """A cluster gives the labels that processes give, and goes on with theirs."""
    batch, method = methods.make_batch(), methods.NearestFirst()
    label(batch, tmp_path / "a", method=method, processes=1, shard_size=3)
    seen = []
    summary = label(
        batch,
        tmp_path / "b",
        method=method,
        engine="ray",
        shard_size=3,
        progress=seen.append,
    )
    assert (summary.new, summary.labelled) == (12, 12)
    assert seen[-1].done == 12
    one, two = (load_labels(tmp_path / name)[1].routes for name in "ab")
    np.testing.assert_array_equal(one, two)

    (tmp_path / "a" / "shard-00002.npz").unlink()
    again = label(batch, tmp_path / "a", method=method, engine="ray")
    assert again.new == 3
    np.testing.assert_array_equal(load_labels(tmp_path / "a")[1].routes, one)


def test_a_worker_lost_on_a_cluster_is_replaced_once(
    cluster, methods, tmp_path, caplog
):
    """A shard whose worker died on the cluster is reported and tried again."""
    batch = methods.make_batch()
    log = str(tmp_path / "log")
    method = methods.NearestFirst(log, failure="die", fail_on=7, deaths=1)
    summary = label(
        batch, tmp_path / "l", method=method, engine="ray", shard_size=6, processes=1
    )
    assert summary.labelled == 12
    assert "the Ray worker was lost (WorkerCrashedError) on shard 1" in caplog.text


def test_a_method_that_raises_on_a_cluster_stops_the_run(cluster, methods, tmp_path):
    """A method's own error on the cluster names the row and the cause."""
    method = methods.NearestFirst(failure="raise", fail_on=7)
    with pytest.raises(LabellingError, match=r"rows 7 to 7 failed: ZeroDivision"):
        label(
            methods.make_batch(),
            tmp_path,
            method=method,
            engine="ray",
            shard_size=2,
            processes=1,
        )
    assert load_labels(tmp_path)[2].sum() == 6
