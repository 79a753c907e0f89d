"""Worker processes: jobs, messages, deaths, deadlines and Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from fixedfleet import InputError, generate, workers
from fixedfleet.compiling import say_compiling
from fixedfleet.interrupts import interrupt_noted
from fixedfleet.registry import load_reference
from fixedfleet.workers import Done, Lost, Message, Worker, on_ray, run_jobs

pytestmark = pytest.mark.slow

DEADLINE = 60  # seconds that nothing here ever needs


def double(job, call):
    """Twice a number, and the threads that a library may use."""
    if job == 13:
        raise ValueError("thirteen")
    return 2 * job, os.environ.get("OMP_NUM_THREADS")


def tell(job, call, shared):
    """Send the shared argument, then answer with the cores of this process."""
    call.send((shared, job))
    return sorted(os.sched_getaffinity(0))


def die(job, call):
    """End the process at once with the job's exit code, unless it is 0."""
    if job:
        os._exit(job)
    return "alive"


def die_once(job, call):
    """End the process the first time; the job is a file that remembers."""
    if not Path(job).exists():
        Path(job).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "second time"


def wait_for_the_end(job, call):
    """Say that it runs, then run until it is told to end."""
    call.send("running")
    while not call.ending():
        time.sleep(0.001)
    return f"{job} ended"


def start_a_program(job, call):
    """Start a program that runs for ever, send its process id, and wait for it."""
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    call.send(program.pid)
    program.wait()


def start_a_program_and_die(job, call):
    """Start a program that runs for ever, send its process id, and die."""
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    call.send(program.pid)
    os._exit(3)


def take_its_time(job, call):
    """Ask for 0.001 seconds from now on, then hang."""
    call.send("ready", seconds=0.001)
    time.sleep(600)


def press_ctrl_c(job, call):
    """Press Ctrl-C in this process."""
    os.kill(os.getpid(), signal.SIGINT)
    return job, call.ending()


def find_part(job, call):
    """Look up a part that a user has registered."""
    return generate.DISTRIBUTIONS.get(job).__name__


def run_kernel(job, call):
    """Call a compiled function in a file."""
    return load_reference(f"{job}:twice", "kernel")(3)


class Awkward(Exception):
    """An error that cannot be unpickled."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def raise_awkwardly(job, call):
    """Raise an error that cannot travel between processes."""
    raise Awkward("this", "that")


def return_a_lock(job, call):
    """Return something that cannot travel between processes."""
    return threading.Lock()


def is_gone(pid: int) -> bool:
    """Whether a process has ended; a zombie has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def wait_until_gone(pid: int) -> None:
    """Wait until a process has ended."""
    end = time.monotonic() + DEADLINE
    while not is_gone(pid):
        assert time.monotonic() < end, "a process lives on"
        time.sleep(0.01)


@pytest.fixture
def worker():
    """A maker of workers that are killed after the test."""
    with contextlib.ExitStack() as stack:

        def make(*arguments, **options):
            made = Worker(*arguments, **options)
            stack.callback(made.kill)
            return made

        yield make


@pytest.mark.parametrize("engine", ["here", "processes"])
def test_every_job_is_done_once(engine):
    """Answers of all jobs come back, in this process and in others."""
    events = list(run_jobs(double, range(9), engine=engine, processes=2))
    assert sorted(event.job for event in events) == list(range(9))
    assert all(event.value[0] == 2 * event.job for event in events)
    if engine == "processes":
        assert {event.value[1] for event in events} == {"1"}


@pytest.mark.parametrize("engine", ["here", "processes"])
def test_an_error_comes_through(engine):
    """What a job raises is raised here, with where it came from."""
    with pytest.raises(ValueError, match="thirteen") as caught:
        list(run_jobs(double, [13], engine=engine, processes=1))
    if engine == "processes":
        assert "In a worker process" in caught.value.__notes__[0]


def test_an_error_that_cannot_travel_is_told():
    """An error that cannot be pickled arrives as its words."""
    with pytest.raises(RuntimeError, match="Awkward: this and that"):
        list(run_jobs(raise_awkwardly, [1], processes=1))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cannot pin here")
def test_messages_come_before_the_answer_and_workers_are_pinned():
    """A job's messages precede its answer; a pinned worker has one core."""
    events = list(run_jobs(tell, [1, 2], shared=("x",), processes=1, pinned=True))
    core = sorted(os.sched_getaffinity(0))[:1]
    assert events == [
        Message(1, ("x", 1)),
        Done(1, core),
        Message(2, ("x", 2)),
        Done(2, core),
    ]


def test_a_death_is_told_and_the_others_go_on():
    """A worker that dies costs its job only, and the event says how it ended."""
    events = list(run_jobs(die, [0, 3, 0], processes=1))
    assert [type(event) for event in events] == [Done, Lost, Done]
    assert events[1].reason == "the worker process ended with code 3"
    assert not events[1].again


def test_a_lost_job_is_tried_again(tmp_path):
    """With two attempts a job survives the death of one worker."""
    job = str(tmp_path / "died")
    lost, answer = run_jobs(die_once, [job], processes=1, attempts=2)
    assert lost.again
    assert lost.reason == "the worker process ended by signal 9"
    assert answer == Done(job, "second time")


def test_attempts_are_limited():
    """A job that kills every worker is given up."""
    events = list(run_jobs(die, [1], processes=1, attempts=2))
    assert [event.again for event in events] == [True, False]


def test_a_job_that_takes_too_long_is_ended():
    """A job beyond its seconds is lost; a message may set them anew."""
    first, second = run_jobs(
        take_its_time, ["slow"], processes=1, seconds_for=lambda job: DEADLINE
    )
    assert first == Message("slow", "ready")
    assert second.reason.startswith("stopped after ")


def test_ctrl_c_ends_after_the_job_at_hand():
    """In this process, the job that runs is told, and no other begins."""
    with interrupt_noted() as pressed:
        events = list(run_jobs(press_ctrl_c, range(5), engine="here", ending=pressed))
    assert events == [Done(0, (0, True))]


def test_ctrl_c_keeps_what_running_jobs_have():
    """Running jobs are asked to end, and their answers are still taken."""
    answers = []
    with interrupt_noted() as pressed:
        running = 0
        for event in run_jobs(wait_for_the_end, range(99), processes=2, ending=pressed):
            if isinstance(event, Done):
                answers.append(event.value)
            else:
                running += 1
                if running == 2:
                    os.kill(os.getpid(), signal.SIGINT)
    assert pressed()
    assert sorted(answers) == ["0 ended", "1 ended"]


def test_leaving_early_kills_workers_and_their_programs():
    """When the loop is left, nothing that a worker has started goes on."""
    with contextlib.closing(run_jobs(start_a_program, [1], processes=1)) as events:
        program = next(events).value
        assert not is_gone(program)
    wait_until_gone(program)


def test_a_dead_worker_leaves_no_program_running():
    """What a worker has started is killed when the worker itself dies."""
    message, lost = run_jobs(start_a_program_and_die, [1], processes=1)
    assert lost.reason == "the worker process ended with code 3"
    wait_until_gone(message.value)


def test_one_job_is_hurried(worker):
    """An owner asks the running job to end; the next job is not concerned."""
    one = worker(wait_for_the_end)
    for job in ("first", "second"):
        one.give(job)
        assert one.receive() == Message(job, "running")
        assert one.receive(timeout=0) is None
        one.hurry()
        assert one.receive() == Done(job, f"{job} ended")
        one.hurry()  # too late for this job, and not meant for the next


def test_a_job_that_does_not_hurry_is_ended(worker):
    """A job that was asked to end and does not is lost when that time is over."""
    one = worker(start_a_program)
    one.give("stubborn", DEADLINE)
    program = one.receive().value
    one.hurry(seconds=0)
    lost = one.receive()
    assert lost.job == "stubborn"
    assert lost.reason.startswith("stopped after ")
    wait_until_gone(program)


def test_a_worker_that_dies_idle_says_so(worker):
    """Death without a job is an event too; a job given later is lost."""
    one = worker(double)
    one.give(1)
    assert one.receive() == Done(1, (2, "1"))
    os.kill(one.pid, signal.SIGKILL)
    lost = one.receive()
    assert (lost.job, lost.reason) == (None, "the worker process ended by signal 9")


def test_variables_are_for_the_worker_alone(worker, monkeypatch):
    """A worker gets more environment variables; this process keeps its own."""
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    one = worker(double, variables={"OMP_NUM_THREADS": "3"})
    assert os.environ["OMP_NUM_THREADS"] == "5"
    one.give(1)
    assert one.receive().value == (2, "3")


SCRIPT = """
import os, sys, time
sys.path.insert(0, {folder!r})
import test_workers
from fixedfleet.workers import run_jobs
def work(job, call):
    test_workers.start_a_program(job, call)
for event in run_jobs(work, [1, 2], processes=2):
    print(event.value, flush=True)
"""


def test_workers_end_with_their_parent(tmp_path):
    """After kill -9 of a user's script neither workers nor their programs go on."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(folder=str(Path(__file__).parent)))
    command = [sys.executable, script]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    programs = [int(parent.stdout.readline()) for _ in range(2)]
    parent.kill()
    parent.communicate(timeout=DEADLINE)
    for program in programs:
        wait_until_gone(program)


def test_an_answer_that_cannot_travel_is_an_error():
    """A job whose answer cannot be pickled raises, and does not kill its worker."""
    with pytest.raises(TypeError, match="cannot pickle"):
        list(run_jobs(return_a_lock, [1], processes=1))


def test_work_that_cannot_be_loaded_is_named(tmp_path, monkeypatch):
    """Work that a worker cannot import is an error that says what is missing."""
    (tmp_path / "passing.py").write_text("def work(job, call): pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import passing

    (tmp_path / "passing.py").unlink()
    with pytest.raises(InputError, match="No module named 'passing'"):
        list(run_jobs(passing.work, [1], processes=1))


# ------------------------------------------------------------------------------- Ray


class FakeRay:
    """A stand-in for Ray whose jobs never end; letters are what they have sent."""

    exceptions = SimpleNamespace(RayTaskError=KeyError, RayError=RuntimeError)
    # Earlier tests may have loaded modules of users, which are pickled by value.
    cloudpickle = SimpleNamespace(
        register_pickle_by_value=lambda module: None, dumps=pickle.dumps
    )

    def __init__(self, *letters):
        self.letters, self.given, self.cancelled = [[], *letters], [], []

    def is_initialized(self):
        return True

    def remote(self, what):
        ray = self

        class Remote:
            def options(self, **asked):
                self.asked = asked
                return self

            def remote(self, *arguments):
                if isinstance(what, type):
                    return SimpleNamespace(take=SimpleNamespace(remote=ray.take))
                ray.given.append(self.asked)
                return len(ray.given)

        return Remote()

    def take(self):
        return self.letters.pop(0)

    def put(self, value):
        return value

    def get(self, value):
        return value

    def wait(self, pending, timeout):
        return [], pending

    def cancel(self, reference, force):
        self.cancelled.append(reference)

    def kill(self, actor):
        pass


def run_on(ray, monkeypatch, jobs, **options):
    """Events of jobs on a stand-in."""
    monkeypatch.setattr(on_ray, "require", lambda *_: ray)
    return list(run_jobs(double, jobs, engine="ray", processes=2, **options))


def test_a_cluster_that_shrinks_is_given_no_further_job(monkeypatch):
    """More jobs may run than the cluster has room for, when a node has left it."""
    rooms = iter([2, 1, 1])
    monkeypatch.setattr(on_ray, "_room", lambda ray: next(rooms))
    monkeypatch.setattr(on_ray, "require", lambda *_: ray)
    ray = FakeRay([], [(1, True, None, None), (2, True, None, None)])
    jobs = run_jobs(double, [0, 1], engine="ray", seconds_for=lambda job: 0)
    assert [type(event) for event in jobs] == [Lost, Lost]


def test_each_job_asks_for_what_it_needs(monkeypatch):
    """A job that needs a GPU does not make the others wait for one."""
    ray = FakeRay([(1, True, None, None), (2, True, None, None)])
    events = run_on(
        ray, monkeypatch, [0, 1], gpus_for=lambda job: job, seconds_for=lambda job: 0
    )
    assert [asked["num_gpus"] for asked in ray.given] == [0, 1]
    assert [asked["num_cpus"] for asked in ray.given] == [1, 1]
    assert [type(event) for event in events] == [Lost, Lost]


def test_a_job_that_waits_for_its_place_is_not_overdue(monkeypatch):
    """On a cluster the time of a job begins when the job does."""
    ray = FakeRay([], [], [(1, True, None, None)])
    (lost,) = run_on(ray, monkeypatch, ["x"], seconds_for=lambda job: 0)
    assert ray.letters == []
    assert ray.cancelled == [1]
    assert lost.reason.startswith("stopped after ")


def test_messages_of_a_finished_job_are_dropped(monkeypatch):
    """Letters may arrive late; only those of running jobs become messages."""
    ray = FakeRay([(7, False, "late", None), (1, False, "in time", 0)])
    message, lost = run_on(ray, monkeypatch, ["x"])
    assert message == Message("x", "in time")
    assert lost.job == "x"


def test_a_cluster_does_jobs_like_processes(cluster):
    """Answers and errors come back from a real cluster."""
    events = list(run_jobs(double, range(3), engine="ray"))
    assert sorted(event.value[0] for event in events) == [0, 2, 4]
    with pytest.raises(ValueError, match="thirteen"):
        list(run_jobs(double, [13], engine="ray"))
    lost, again = run_jobs(die, [3], engine="ray", attempts=2)
    assert lost.reason == "the Ray worker was lost (WorkerCrashedError)"
    assert (lost.again, again.again) == (True, False)


@pytest.mark.parametrize("engine", ["processes", "ray"])
def test_work_from_a_file_of_ones_own_is_done(cluster, tmp_path, engine):
    """What "module.py:Name" refers to reaches the workers, wherever they are."""
    path = tmp_path / f"own_{engine}.py"
    path.write_text("def work(job, call): return job + 1\n")
    work = load_reference(f"{path}:work", "work")
    events = list(run_jobs(work, [1], engine=engine, processes=1))
    assert events == [Done(1, 2)]


def test_registered_parts_reach_a_cluster(cluster, monkeypatch):
    """A part that was registered in this process has its name on the cluster, too."""
    monkeypatch.setattr(generate.DISTRIBUTIONS, "_parts", {"sent": double})
    assert list(run_jobs(find_part, ["sent"], engine="ray")) == [Done("sent", "double")]


def test_a_cluster_carries_messages_and_deadlines(cluster):
    """A job on the cluster sends messages, and is ended when its time is over."""
    first, second = run_jobs(take_its_time, ["slow"], engine="ray")
    assert first == Message("slow", "ready")
    assert second.reason.startswith("stopped after ")


def test_workers_that_compile_say_so_once(tmp_path, caplog):
    """The parent's log has one line for all workers, and none if nothing compiles."""
    jobs = [tmp_path / name for name in ("one.py", "two.py")]
    for path in jobs:
        path.write_text(
            "from fixedfleet.compiling import compiled\n\n\n"
            "@compiled()\ndef twice(number):\n    return 2 * number\n"
        )
    for said in (["compiling, once: this can take a minute"], []):
        say_compiling.cache_clear()
        caplog.clear()
        answers = [event.value for event in run_jobs(run_kernel, jobs, processes=2)]
        assert answers == [6, 6]
        assert [record.message for record in caplog.records] == said


@pytest.mark.parametrize(
    ("share", "cores"),
    [("200000 100000", 2), ("50000 100000", 1), ("max 100000", 4), (None, 4)],
)
def test_a_container_has_as_many_cores_as_it_may_use(
    monkeypatch, tmp_path, share, cores
):
    """A search with more threads than that would miss its time limit."""
    file = tmp_path / "cpu.max"
    if share is not None:
        file.write_text(share + "\n", encoding="ascii")
    monkeypatch.setattr(workers, "_CONTAINER_SHARE", file)
    monkeypatch.setattr(workers.os, "sched_getaffinity", lambda _: range(4))
    assert workers.available_cores() == cores
