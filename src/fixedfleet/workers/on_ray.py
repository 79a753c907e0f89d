"""Run jobs on a Ray cluster. No other module imports Ray."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import time
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError, require
from fixedfleet.registry import add_parts, own_parts, user_modules
from fixedfleet.workers.calls import STEP_SECONDS, Call, Done, Event, Lost, Message

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from fixedfleet.workers.calls import Todo

__all__ = ["run_on_ray"]


class _Mailbox:
    """An actor on the cluster that collects the messages of all jobs."""

    def __init__(self) -> None:
        self._letters: list[tuple[int, bool, Any, float | None]] = []

    def put(self, *letter: Any) -> None:
        """Store a message: (number of job, whether it just began, value, seconds)."""
        self._letters.append(letter)

    def take(self) -> list[tuple[int, bool, Any, float | None]]:
        """Return all messages since the last call, and forget them."""
        letters, self._letters = self._letters, []
        return letters


@dataclass(eq=False)
class _Pending:
    """A job that waits on the cluster, or runs there."""

    job: Any
    number: int
    begun: float
    deadline: float = inf  # set when the job begins: waiting for a core does not count


def run_on_ray(
    task: tuple[Callable[..., Any], tuple[Any, ...]],
    todo: Todo,
    processes: int | None,
    seconds_for: Callable[[Any], float | None],
    gpus_for: Callable[[Any], int],
    ending: Callable[[], bool],
) -> Generator[Event]:
    """
    Run jobs on a Ray cluster and yield their events, as :func:`run_jobs` does.

    ``task`` is (work, shared). fixedfleet must be installed on every node.
    """
    ray = require("ray", "cluster", "the engine 'ray'")
    with _connected(ray, processes):
        for module in user_modules():  # their files are on this machine only
            ray.cloudpickle.register_pickle_by_value(module)
        mailbox = _mailbox(ray)
        parts = ray.cloudpickle.dumps(own_parts())
        remote, packed = ray.remote(_do_on_ray), ray.put((parts, *task))
        pending: dict[Any, _Pending] = {}
        numbers = 0
        try:
            while not ending():
                room = (processes or _room(ray)) - len(pending)
                for job in todo.take(room):
                    # Ray must not retry a job: `todo` counts the attempts, so that
                    # each lost worker is reported.
                    options = remote.options(
                        num_cpus=1, num_gpus=gpus_for(job), max_retries=0
                    )
                    numbers += 1
                    reference = options.remote(packed, job, mailbox, numbers)
                    given = time.monotonic()
                    pending[reference] = _Pending(job, numbers, given)
                if not pending:
                    return
                done = ray.wait(list(pending), timeout=STEP_SECONDS)[0]
                yield from _read_mail(
                    ray.get(mailbox.take.remote()), pending, seconds_for
                )
                for reference in done:
                    yield _take_answer(ray, reference, pending.pop(reference), todo)
                for reference, one in list(pending.items()):
                    if time.monotonic() >= one.deadline:
                        ray.cancel(reference, force=True)
                        del pending[reference]
                        seconds = time.monotonic() - one.begun
                        lost = Lost(one.job, f"stopped after {seconds:.1f} s", seconds)
                        yield todo.lose(lost)
        finally:
            for reference in pending:
                ray.cancel(reference, force=True)
            ray.kill(mailbox)


def _mailbox(ray: Any) -> Any:
    mailbox = ray.remote(_Mailbox).options(num_cpus=0).remote()
    try:
        ray.get(mailbox.take.remote())
    except ray.exceptions.RayError as error:
        raise InputError(
            "jobs cannot run on this Ray cluster; is this version of fixedfleet "
            f"installed on every node? {error}"
        ) from None
    return mailbox


def _do_on_ray(
    task: tuple[bytes, Callable[..., Any], tuple[Any, ...]],
    job: Any,
    mailbox: Any,
    number: int,
) -> Any:
    """
    Run a job in one of Ray's processes, and return what the job returns.

    ``task`` is (pickled parts that users have registered, work, shared). What the job
    sends goes to ``mailbox``, with the number of the job.
    """
    parts, work, shared = task
    # A missing module is an error only if a job needs a part from it.
    with contextlib.suppress(ImportError):
        add_parts(pickle.loads(parts))
    mailbox.put.remote(number, True, None, None)

    def send(value: Any, *, seconds: float | None = None) -> None:
        mailbox.put.remote(number, False, value, seconds)

    return work(job, Call(send, lambda: False), *shared)


def _read_mail(
    letters: Iterable[tuple[int, bool, Any, float | None]],
    pending: Mapping[Any, _Pending],
    seconds_for: Callable[[Any], float | None],
) -> Iterator[Message]:
    """
    Yield the values that unfinished jobs have sent, and update their deadlines.

    ``letters`` are messages as :meth:`_Mailbox.put` stores them. ``pending`` has the
    unfinished jobs. ``seconds_for`` returns the time limit of a job in seconds, or
    None.
    """
    by_number = {one.number: one for one in pending.values()}
    for number, begins, value, seconds in letters:
        one = by_number.get(number)
        if one is None:
            continue
        allowed = seconds_for(one.job) if begins else seconds
        if begins or allowed is not None:
            one.begun = time.monotonic()
            one.deadline = inf if allowed is None else one.begun + allowed
        if not begins:
            yield Message(one.job, value)


def _take_answer(ray: Any, reference: Any, one: _Pending, todo: Todo) -> Done | Lost:
    try:
        return Done(one.job, ray.get(reference))
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, Exception):
            raise error.cause from None
        raise RuntimeError(str(error)) from None
    except ray.exceptions.RayError as error:
        seconds = time.monotonic() - one.begun
        reason = f"the Ray worker was lost ({type(error).__name__})"
        return todo.lose(Lost(one.job, reason, seconds))


def _room(ray: Any) -> int:
    """
    Return how many jobs to have on the cluster: two per core, so that no core waits.
    """
    return max(2, 2 * int(ray.cluster_resources().get("CPU", 1)))


@contextlib.contextmanager
def _connected(ray: Any, processes: int | None) -> Iterator[None]:
    """
    Context manager that connects to the Ray cluster during its block.

    If the process is connected already, that connection is used and stays open.
    ``processes`` is the number of cores if a cluster is started on this machine.
    """
    if ray.is_initialized():
        yield
        return
    address = os.environ.get("RAY_ADDRESS")  # a variable that Ray defines
    if not address:
        raise InputError(
            "the engine 'ray' needs an address in the environment variable "
            "RAY_ADDRESS: 'auto' for the cluster this machine belongs to, 'host:port', "
            "'ray://host:port', or 'local' to start a cluster here"
        )
    cores = processes if address == "local" else None
    _knock(address)
    try:
        ray.init(address=address, num_cpus=cores, include_dashboard=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"no Ray cluster at {address!r}: {reason}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """
    Raise InputError if the port of an address does not answer.

    Ray itself would try for minutes. An address without a port is not tried.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"no Ray cluster at {address!r}: {error}") from error
