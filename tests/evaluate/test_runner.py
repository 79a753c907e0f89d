"""Evaluations in worker processes: what is recorded, ended, and gone on with."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

import fixedfleet as ff
from fixedfleet.errors import MissingPackageError
from fixedfleet.evaluate import Results, evaluate, get_method, trials
from fixedfleet.evaluate.calibration import core_seconds

pytestmark = pytest.mark.slow  # every test starts processes

SCRIPT = Path(__file__).parent / "fake_methods.py"


def calls(log: Path, limit: str = "0.5") -> Counter[str]:
    """How often each instance was asked for with a limit; a warm-up has another."""
    lines = log.read_text().splitlines() if log.exists() else []
    names: Counter[str] = Counter()
    for line in lines:
        *found, seconds, _, _ = line.split()
        if seconds == limit:
            names.update(found)
    return names


def test_rows_hold_what_plan_measures(fakes, tmp_path):
    """Every instance, method, limit and seed is a row, measured and not believed."""
    letters = fakes.make_set(3)
    boast = ((0.0, 1000.0), (0.1, 900.0), (0.2, 950.0), (0.3, 0.001))
    method = fakes.FirstFit(trace=boast)
    done = evaluate(
        [letters], [method], [0.5, 1], tmp_path / "rows", seeds=[0, 3], processes=1
    )
    rows = Results(tmp_path / "rows").rows()
    assert (done.new, done.found, done.faults) == (12, 0, 0)
    assert {row.key for row in rows} == {
        (name, "first_fit", "length", limit, None, seed)
        for name in "abc"
        for limit in (0.5, 1.0)
        for seed in (0, 3)
    }
    for row in rows:
        instance = letters.instances["abc".index(row.instance)]
        plan = method._solve(instance, row.seed).plan
        assert row.length == pytest.approx(plan.length(instance))
        assert row.cost_v == pytest.approx(row.length + 10 * plan.vehicles)
        assert (row.vehicles, row.floor) == (plan.vehicles, instance.minimum_vehicles)
        assert row.served
        assert row.within
        assert row.fault is None
        # Its last claim is below the true length, which the trace ends with instead.
        assert row.trace == ((0.0, 1000.0), (0.1, 900.0), (0.3, row.length))
        assert row.machine
        assert (row.set, row.customers, row.fleet) == ("letters", 5, 2)
    assert len({row.length for row in rows if row.instance == "a"}) == 2  # two seeds


def test_whatever_goes_wrong_is_a_row_and_the_run_goes_on(fakes, tmp_path, monkeypatch):
    """Infeasible plans, errors, deaths and hangs cost their own row and no other."""
    wrong = {
        "b": "infeasible",
        "c": "raise",
        "d": "hang",
        "e": "die",
        "f": "beyond",
        "g": "none",
        "h": "nonsense",
    }
    seen = []
    monkeypatch.setattr("fixedfleet.evaluate.runner._GRACE", 2.0)
    done = evaluate(
        [fakes.make_set(9)],
        [fakes.FirstFit(wrong=wrong)],
        [0.2],
        tmp_path / "rows",
        processes=1,
        display=seen.append,
    )
    rows = {row.instance: row for row in Results(tmp_path / "rows").rows()}
    assert sorted(rows) == list("abcdefghi")
    assert rows["a"].fault is rows["i"].fault is None
    assert rows["b"].fault.startswith("infeasible: customer 1 served twice and ")
    lines = Path(fakes.__file__).read_text().splitlines()
    line = 1 + next(
        i for i, text in enumerate(lines) if "raise ZeroDivisionError" in text
    )
    assert rows["c"].fault == (
        f"ZeroDivisionError: of all things (fake_methods.py, line {line})"
    )
    assert re.fullmatch(r"stopped after \d+\.\d s", rows["d"].fault)
    assert rows["e"].fault == "in the warm-up: the worker process ended by signal 9"
    assert rows["f"].fault == "5 tours for 2 vehicles"
    assert rows["g"].fault == "no plan: it would not"
    assert "AttributeError" in rows["h"].fault
    for name in "bcdegh":
        row = rows[name]
        assert (row.length, row.cost_v, row.vehicles) == (None, None, None)
        assert not row.served
        assert not row.within
    assert rows["f"].served
    assert not rows["f"].within
    assert rows["f"].excess == 3
    assert rows["f"].cost_v == pytest.approx(rows["f"].length + 50)
    assert (done.new, done.faults) == (9, 6)
    assert [progress.done for progress in seen] == list(range(10))
    assert "9 of 9 rows" in str(seen[-1])


def test_a_hang_in_the_warm_up_is_ended_too(fakes, tmp_path, monkeypatch):
    """A method that hangs at its first call has a row that says so."""
    # A process must be able to start in this time.
    monkeypatch.setattr("fixedfleet.evaluate.runner._WARMING", 10.0)
    method = fakes.FirstFit(wrong={"a": "hang"})
    done = evaluate(
        [fakes.make_set(2)],
        [method],
        [0.2],
        tmp_path / "rows",
        processes=1,
    )
    rows = Results(tmp_path / "rows").rows()
    assert [row.instance for row in rows] == ["a", "b"]
    assert re.fullmatch(r"in the warm-up: stopped after \d+\.\d s", rows[0].fault)
    assert rows[1].fault is None
    assert done.faults == 1


def test_a_worker_warms_up_once_and_lives_on(fakes, tmp_path):
    """One process serves all instances, after one short call that is not recorded."""
    log = tmp_path / "log"
    evaluate(
        [fakes.make_set(4)],
        [fakes.FirstFit(log=str(log))],
        [0.5],
        tmp_path / "rows",
        processes=1,
    )
    lines = [line.split() for line in log.read_text().splitlines()]
    assert [(line[0], line[1]) for line in lines] == [
        ("a", "0.1"), ("a", "0.5"), ("b", "0.5"), ("c", "0.5"), ("d", "0.5"),
    ]  # fmt: skip
    assert len({line[-1] for line in lines}) == 1
    assert lines[0][-1] != str(os.getpid())


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="needs two cores and a system that tells them apart",
)
@pytest.mark.parametrize("batch", [1, 2])
def test_timed_workers_have_a_core_each(fakes, tmp_path, batch):
    """A worker stays on one core; one that takes batches may use all of them."""
    letters = fakes.make_set(2, n=len(os.sched_getaffinity(0)) + 3)
    method = fakes.Cores(batch=batch)
    evaluate([letters], [method], [0.5], tmp_path / "rows", processes=1)
    first = 1 if batch == 1 else len(os.sched_getaffinity(0))
    for row, instance in zip(
        Results(tmp_path / "rows").rows(), letters.instances, strict=True
    ):
        rest = [c for c in range(1, instance.num_customers + 1) if c != first]
        assert row.length == pytest.approx(ff.Plan([[first, *rest]]).length(instance))


def test_a_row_has_both_clocks(fakes, monkeypatch):
    """The instances of a batch share wall time and processor time of the call."""
    letters, method = fakes.make_set(2), fakes.FirstFit(batch=2)
    (trial,), _ = trials.missing_trials([letters], [method], [[(None, None)]], [0], {})
    walls, cpus = itertools.count(0, 4), itertools.count(0, 3)
    clock = SimpleNamespace(perf_counter=lambda: next(walls))
    monkeypatch.setattr(trials, "time", clock)
    monkeypatch.setattr(trials, "_cpu_seconds", lambda: next(cpus))
    rows = trials._run(method, trial)
    assert [(row.seconds, row.cpu_seconds) for row in rows] == [(2.0, 1.5)] * 2


def test_a_row_says_how_fast_its_core_is(fakes, monkeypatch):
    """Every row has the time of a fixed computation, and of failed calls both times."""
    monkeypatch.setattr(trials, "core_seconds", lambda: 0.25)
    letters = fakes.make_set(1)
    wrong = fakes.FirstFit(wrong={letters.instances[0].name: "raise"})
    for method, fault in ((fakes.FirstFit(), None), (wrong, "ZeroDivisionError")):
        (trial,), _ = trials.missing_trials(
            [letters], [method], [[(None, None)]], [0], {}
        )
        (row,) = trials._run(method, trial)
        assert row.calibration == 0.25
        assert row.cpu_seconds is not None
        assert fault is None or fault in row.fault


def test_the_fixed_computation_takes_time_once():
    """It is measured once per process."""
    assert 0 < core_seconds() == core_seconds()


def test_processor_time_includes_programs(monkeypatch):
    """What the programs of a method take counts, where the system tells it."""
    spent = {-1: SimpleNamespace(ru_utime=2.0, ru_stime=1.0)}
    system = SimpleNamespace(RUSAGE_CHILDREN=-1, getrusage=spent.get)
    clock = SimpleNamespace(process_time=lambda: 4.0)
    monkeypatch.setattr(trials, "time", clock)
    for resource, seconds in ((system, 7.0), (None, 4.0)):
        monkeypatch.setitem(sys.modules, "resource", resource)
        assert trials._cpu_seconds() == seconds


def test_batches_are_shared_out(fakes, tmp_path):
    """A method that takes batches gets whole ones of equal size, and equal seconds."""
    log = tmp_path / "log"
    small, large = fakes.make_set(5), fakes.make_set(3, n=7, name="other")
    large = [
        ff.Instance(
            depot=i.depot, customers=i.customers, demands=i.demands,
            capacity=i.capacity, vehicles=i.vehicles, name=f"{i.name}7",
        )
        for i in large.instances
    ]  # fmt: skip
    mixed = fakes.make_set(instances=[*small.instances, *large])
    method = fakes.FirstFit(log=str(log), batch=4, limits=(), delay=0.1)
    evaluate([mixed], [method], [0.5], tmp_path / "rows", processes=2)
    asked = [line.split()[:-3] for line in log.read_text().splitlines()]
    assert asked == [
        list("abcd"), list("abcd"), ["e"], ["a7", "b7", "c7"], ["a7", "b7", "c7"],
    ]  # fmt: skip
    rows = Results(tmp_path / "rows").rows()
    assert len(rows) == 8
    assert len({row.seconds for row in rows[:4]}) == 1
    assert {row.time_limit for row in rows} == {None}


def test_rows_that_are_there_are_not_run_again(fakes, tmp_path):
    """A second evaluation runs what is missing; sets that share names share rows."""
    log = tmp_path / "log"
    method = fakes.FirstFit(log=str(log))
    path = tmp_path / "rows"
    evaluate([fakes.make_set(2)], [method], [0.5], path, processes=1)
    kept = path.read_bytes()
    both = [fakes.make_set(3), fakes.make_set(2, name="again")]
    done = evaluate(both, [method], [0.5], path, processes=1)
    assert (done.new, done.found) == (1, 2)
    assert path.read_bytes().startswith(kept)
    assert calls(log) == {"a": 1, "b": 1, "c": 1}
    done = evaluate(both, [method], [0.5], path, processes=1)
    assert (done.new, done.found) == (0, 3)


def test_a_batch_that_is_half_there_is_run_whole(fakes, tmp_path):
    """A batch cut short by a kill is run again as it was, and its rows not doubled."""
    log, path = tmp_path / "log", tmp_path / "rows"
    letters = fakes.make_set(4)
    method = fakes.FirstFit(log=str(log), batch=4, limits=())
    evaluate([letters], [method], [], path)
    whole = Results(path).rows()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:3]) + lines[3][:40])
    done = evaluate([letters], [method], [], path)
    assert (done.new, done.found) == (2, 2)
    again = Results(path).rows()
    assert [row.key for row in again] == [row.key for row in whole]
    assert [row.length for row in again] == [row.length for row in whole]
    assert calls(log, "None") == dict.fromkeys("abcd", 4)  # and warm-ups


def test_a_method_that_cannot_run_in_a_worker_leaves_no_faults(fakes, tmp_path):
    """The evaluation ends with the reason, and no row counts as done."""
    method = fakes.AtHome(process=os.getpid())
    path = tmp_path / "rows"
    with pytest.raises(ff.InputError, match="it cannot run in a worker"):
        evaluate([fakes.make_set(2)], [method], [0.5], path, processes=1)
    assert Results(path).rows() == []


def start(results: Path, log: Path, last: str = "") -> subprocess.Popen[str]:
    """Start an evaluation as a user would, and wait for its first rows."""
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(results), str(log), "0.15", last],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of its own, to be signalled as one
    )
    deadline = time.monotonic() + 60
    while not results.exists() or results.read_bytes().count(b"\n") < 4:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "no row was ever written"
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_ended_goes_on(fakes, tmp_path, how):
    """After kill -9 or Ctrl-C a new run ends with the same rows, none of them twice."""
    path, log, again = tmp_path / "rows", tmp_path / "log", tmp_path / "again"
    process = start(path, log)
    os.kill(process.pid, how)
    stderr = process.communicate(timeout=60)[1]  # ends when the workers have, too
    assert process.returncode == -how
    if how == signal.SIGINT:
        assert stderr.rstrip().endswith("KeyboardInterrupt")
        assert stderr.count("Traceback") == 1  # the parent's; workers are silent
    before = Results(path).rows()
    assert 3 <= len(before) < 12

    letters, method = fakes.make_set(12), fakes.FirstFit(log=str(again))
    done = evaluate([letters], [method], [0.5], path, processes=2)
    after = Results(path).rows()
    assert (done.new, done.found) == (12 - len(before), len(before))
    assert after[: len(before)] == before
    names = [row.instance for row in after]
    assert sorted(names) == list("abcdefghijkl")
    assert calls(again) == Counter(names[len(before) :])
    evaluate([letters], [fakes.FirstFit()], [0.5], tmp_path / "whole", processes=1)
    whole = {row.key: row.length for row in Results(tmp_path / "whole").rows()}
    assert {row.key: row.length for row in after} == whole


def test_a_hanging_worker_ends_with_its_parent(tmp_path):
    """Where the run is killed while a method hangs, no process is left behind."""
    path, log = tmp_path / "rows", tmp_path / "log"
    process = start(path, log, last="hang")
    deadline = time.monotonic() + 60
    while not calls(log)["l"]:
        assert time.monotonic() < deadline, "the last instance was never asked for"
        time.sleep(0.05)
    process.kill()
    process.communicate(timeout=60)  # waits until nobody holds the pipe any more
    assert process.returncode == -signal.SIGKILL
    assert [row.instance for row in Results(path).rows()].count("l") == 0


def test_a_package_that_turns_out_missing_leaves_no_row(fakes, tmp_path):
    """The evaluation ends with the package's name, and keeps the rows it has."""
    method = fakes.FirstFit(wrong={"b": "import"})
    with pytest.raises(MissingPackageError, match=r"first_fit: .*unheard_of"):
        evaluate([fakes.make_set(3)], [method], [0.5], tmp_path / "rows", processes=1)
    assert [row.instance for row in Results(tmp_path / "rows").rows()] == ["a"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sets": []}, "at least one set"),
        ({"methods": ["hgs", "hgs"]}, "'hgs' is given twice"),
        ({"time_limits": [0.0]}, "a time limit is 0.0, not a number above 0"),
        ({"time_limits": [None]}, "a time limit is None, not a number above 0"),
        ({"time_limits": []}, "'first_fit' needs a time limit"),
        ({"iterations": 5}, "either time limits or iterations"),
        ({"iterations": 0, "time_limits": []}, "iterations is 0"),
        ({"seeds": [-1]}, "seed is -1"),
        ({"seeds": []}, "one seed"),
        ({"processes": 0}, "processes is 0"),
        ({"engine": "steam"}, "unknown engine 'steam'"),
        (
            {"methods": ["packing+auto"], "iterations": 5, "time_limits": []},
            r"'packing\+auto' cannot count iterations",
        ),
    ],
)
def test_wrong_arguments_are_refused_before_anything_runs(
    fakes, tmp_path, changes, said
):
    """What cannot be meant is an error, and no file is made."""
    arguments = {
        "sets": [fakes.make_set(1)],
        "methods": [fakes.FirstFit()],
        "time_limits": [0.5],
        "results": tmp_path / "rows",
    }
    with pytest.raises(ff.InputError, match=said):
        evaluate(**(arguments | changes))
    assert not (tmp_path / "rows").exists()


def test_a_method_that_is_not_installed_ends_the_run_before_it_begins(fakes, tmp_path):
    """Nothing runs where one of the methods lacks its package."""
    log = tmp_path / "log"
    methods = [fakes.FirstFit(log=str(log)), fakes.FirstFit(name="absent")]
    with pytest.raises(ff.MissingPackageError, match="needs a package"):
        evaluate([fakes.make_set(1)], methods, [0.5], tmp_path / "rows")
    assert not log.exists()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"n": 6}, "a row of 'a' with 5 customers, here it is 6"),
        ({"vehicle_cost": 3.0}, "with 10 as the cost of a vehicle, here it is 3"),
        ({}, "with 2 vehicles that its demands need, here it is 1"),
    ],
)
def test_rows_of_another_instance_by_that_name_are_refused(
    fakes, make_row, tmp_path, other, said
):
    """A name that stands for something else in the file is an error."""
    with Results(tmp_path / "rows") as results:
        results.append(make_row(method="first_fit", time_limit=0.5, customers=5))
    with pytest.raises(ff.InputError, match=said):
        evaluate(
            [fakes.make_set(1, **other)], [fakes.FirstFit()], [0.5], tmp_path / "rows"
        )


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"n": 6}, "different instances named 'a', one of them other"),
        ({"vehicle_cost": 3.0}, "costs 10 instead of 3"),
    ],
)
def test_two_instances_of_one_name_are_refused(fakes, tmp_path, other, said):
    """Sets share rows by instances' names, so a name must mean one instance."""
    sets = [fakes.make_set(1), fakes.make_set(1, name="other", **other)]
    with pytest.raises(ff.InputError, match=said):
        evaluate(sets, [fakes.FirstFit()], [0.5], tmp_path / "rows")


def test_rows_carry_the_objective_of_their_method(fakes, tmp_path):
    """What a method says it minimises is in its rows, whatever its name."""
    method = fakes.FirstFit(objective="cost-v", trace=((0.0, 1000.0),))
    evaluate([fakes.make_set(1)], [method], [0.5], tmp_path / "rows", processes=1)
    (row,) = Results(tmp_path / "rows").rows()
    assert row.objective == "cost-v"
    assert row.trace[-1][1] == row.cost == row.cost_v
    assert row.made["fixedfleet"]


def test_iterations_give_the_same_rows_on_one_process_and_on_two(fakes, tmp_path):
    """The same seed and iterations give the same lengths, however many processes."""
    letters = fakes.make_set(4, n=12)
    methods = ["packing+ruin_recreate", "hgs"]
    lengths = []
    for processes in (1, 2):
        path = tmp_path / f"rows{processes}"
        evaluate([letters], methods, [], path, iterations=40, processes=processes)
        lengths.append({row.key: row.length for row in Results(path).rows()})
    assert lengths[0] == lengths[1]
    assert len(lengths[0]) == 8
    assert all(key[3:5] == (None, 40) for key in lengths[0])


def test_the_objective_is_no_part_of_the_name(fakes, tmp_path):
    """One method may run for two objectives, which have rows of their own."""
    methods = [fakes.FirstFit(), fakes.FirstFit(objective="cost-v")]
    path = tmp_path / "rows"
    done = evaluate([fakes.make_set(2)], methods, [0.5], path, processes=1)
    assert done.new == 4
    assert Counter(row.objective for row in Results(path).rows()) == {
        "length": 2,
        "cost-v": 2,
    }
    done = evaluate([fakes.make_set(2)], methods, [0.5], path, processes=1)
    assert (done.new, done.found) == (0, 4)


def test_a_method_in_a_file_runs_in_worker_processes(fakes, tmp_path):
    """A spec file.py:Name is enough for the workers to find the method."""
    file = tmp_path / "mine.py"
    file.write_text(
        "from dataclasses import dataclass\n"
        "from fixedfleet.evaluate.starts import PackingStart\n"
        "made = []\n"
        "@dataclass(frozen=True)\n"
        "class Mine(PackingStart):\n"
        "    def __post_init__(self):\n"
        "        made.append(self)\n"
        "        assert len(made) == 1  # a worker makes it once\n"
    )
    path = tmp_path / "rows"
    evaluate([fakes.make_set(2)], [f"{file}:Mine"], [], path, processes=1)
    assert [(row.method, row.within) for row in Results(path).rows()] == [
        ("Mine", True),
        ("Mine", True),
    ]


def test_two_networks_are_two_methods(fakes, tmp_path):
    """A network is named after its folder; one method cannot be given twice."""
    specs = [f"network:model={tmp_path}/{name}/model.safetensors" for name in "ab"]
    names = [get_method(spec).name for spec in specs]
    assert names == ["network:model=a", "network:model=b"]
    with pytest.raises(ff.InputError, match="'network:model=a' is given twice"):
        evaluate([fakes.make_set(1)], [specs[0]] * 2, [], tmp_path / "rows")


@pytest.fixture(scope="module")
def with_torch(fakes, tmp_path_factory):
    """Rows of two small networks, and of a method that counts the threads of torch."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    from fixedfleet.model import ModelConfig, Network, save_model

    place = tmp_path_factory.mktemp("torch")
    methods = [fakes.Threads(limits=())]
    for seed, folder in enumerate(("one", "two")):
        torch.manual_seed(seed)
        path = place / folder / "net.safetensors"
        path.parent.mkdir()
        save_model(Network(ModelConfig(width=8, hidden=8, layers=1)), path)
        methods.append(f"{folder}=network:model={path}")
    evaluate([fakes.make_set(1)], methods, [], place / "rows", processes=1)
    return {row.method: row for row in Results(place / "rows").rows()}


def test_workers_have_one_thread(fakes, with_torch):
    """Numeric libraries in a worker are held to one thread."""
    (instance,) = fakes.make_set(1).instances
    expected = ff.Plan([[1, 2, 3, 4, 5]]).length(instance)
    assert with_torch["threads"].fault is None
    assert with_torch["threads"].length == pytest.approx(expected)


def test_two_trainings_are_compared_in_one_table(with_torch):
    """Both networks run, and their rows bear different names."""
    assert list(with_torch) == ["threads", "one", "two"]
    made = [with_torch[name].made for name in ("one", "two")]
    assert len({row["network"] for row in made}) == 2
    assert {row["spec"] for row in made} == {"network:model=net"}


TYPED = """
from dataclasses import dataclass

import fixedfleet as ff
from fixedfleet.evaluate import METHODS, Answer, InstanceSet, Results, evaluate

class Whole:
    name, batch, on_gpu, limits, objective = "whole", 1, False, (), "length"

    def check(self):
        pass

    def solve(self, instances, **options):
        return [Answer(ff.assess_fleet(one).packing) for one in instances]


class Wrong(Whole):
    name = "wrong"

    def solve(self, instances, **options):
        return 1 / 0


@METHODS.register("typed")
@dataclass(frozen=True)
class Typed:
    batch = 1
    on_gpu = False

    def check(self):
        pass

    def plans(self, instances, seed):
        return [ff.assess_fleet(one).packing for one in instances]


instances = [
    ff.Instance(depot=(0, 0), customers=[[0, 1], [n, 2]], demands=[1, 1], capacity=1,
                vehicles=2, name=str(n))
    for n in (1, 2)
]
sets = [InstanceSet(name="two", instances=instances)]
evaluate(sets, [Whole(), Wrong(), "typed"], [], "rows", processes=PROCESSES)
for row in Results("rows").rows():
    print(row.method, row.within, row.fault)
"""


@pytest.mark.parametrize(("way", "processes"), [("-c", 1), ("-", 2)])
def test_methods_typed_in_a_notebook_run(tmp_path, way, processes):
    """A method needs no file: an object or a registered name, in any processes."""
    code = TYPED.replace("PROCESSES", str(processes))
    code = code.replace('"rows"', repr(str(tmp_path / "rows")))
    done = subprocess.run(
        [sys.executable, "-c", code] if way == "-c" else [sys.executable, "-"],
        input=None if way == "-c" else code,
        capture_output=True,
        text=True,
    )
    # A busy machine may be mentioned.
    busy = "(the machine was busy, or the method waited)"
    assert [line for line in done.stderr.splitlines() if busy not in line] == []
    fault = "ZeroDivisionError: division by zero (your code, line 21)"
    assert sorted(done.stdout.splitlines()) == sorted(
        ["whole True None", "typed True None", f"wrong False {fault}"] * 2
    )
