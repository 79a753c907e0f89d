"""Worker processes: the parent's side of the pipe, then the worker's side."""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import queue
import signal
import sys
import threading
import time
import traceback
from math import inf
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fixedfleet.compiling import say_compiling
from fixedfleet.errors import InputError
from fixedfleet.interrupts import interrupts_blocked
from fixedfleet.registry import add_parts, load_files, own_parts, user_modules
from fixedfleet.workers.calls import STEP_SECONDS, Call, Done, Event, Lost, Message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, MutableMapping
    from multiprocessing.connection import Connection

__all__ = ["Worker"]

# Workers share the cores, so more threads in one worker would slow down the others.
_ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "RAYON_NUM_THREADS",
    ),
    "1",
)


class Worker:
    """
    A process that is given one job after the other.

    Parameters
    ----------
    work, shared
        The function that does a job, and the arguments that all jobs share.
    core
        The core to pin the process to. Default: any core.
    variables
        Further environment variables for the process.
    """

    # While a process starts, the environment of this process is changed for a moment,
    # so only one process may start at a time.
    _starting = threading.Lock()

    def __init__(
        self,
        work: Callable[..., Any],
        shared: tuple[Any, ...] = (),
        *,
        core: int | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        import multiprocessing  # slow to load, and `import fixedfleet` loads this file

        packed = _pack((own_parts(), work, shared))
        context = multiprocessing.get_context("spawn")
        self._pipe, far = context.Pipe()
        user_files = [str(module.__file__) for module in user_modules()]
        self._process = context.Process(
            target=_serve_jobs, args=(far, packed, user_files, core), daemon=True
        )
        # Libraries read these variables when they are loaded, so the process must
        # inherit them.
        changed = _changed(os.environ, {**_ONE_THREAD, **(variables or {})})
        # Without "__main__", the process does not run the user's script again.
        hidden = _changed(sys.modules, {"__main__": ModuleType("__main__")})
        with self._starting, changed, hidden, interrupts_blocked():
            self._process.start()
        far.close()
        self.core = core
        self.busy = False  # whether it has a job
        self._gone = False
        self._job: Any = None
        self._begun = 0.0
        self._deadline = inf

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid or 0

    def fileno(self) -> int:
        """Return the file descriptor to watch for events."""
        return self._pipe.fileno()

    def give(self, job: Any, seconds: float | None = None) -> None:
        """Send a job; the process is killed if it takes longer than ``seconds``."""
        if self.busy:
            raise RuntimeError("the worker has a job already")
        self.busy, self._job = True, job
        self._allow(seconds)
        self._send(_pack(job))

    def hurry(self, seconds: float | None = None) -> None:
        """
        Ask the job to end soon; if ``seconds`` is given, kill the process after them.
        """
        if self.busy:
            self._send(_END_SOON)
            if seconds is not None:
                self._deadline = min(self._deadline, time.monotonic() + seconds)

    def receive(self, timeout: float | None = None) -> Event | None:
        """
        Wait for the next event; return None if there is none within the timeout.

        If the job has raised an exception, it is raised here, and the worker is free.
        """
        end = inf if timeout is None else time.monotonic() + timeout
        while True:
            now = time.monotonic()
            if self.busy and now >= self._deadline:
                self.kill()
                return self._lose(f"stopped after {now - self._begun:.1f} s")
            # Wait in short steps, because another thread may change the deadline.
            until = min(now + STEP_SECONDS, self._deadline, end)
            if self._pipe.poll(max(0.0, until - now)):
                if (event := self._read()) is not None:
                    return event
                continue
            if time.monotonic() >= end:
                return None

    def kill(self) -> None:
        """End the process, and the programs it has started, at once."""
        if not self._gone:
            _kill_group(self.pid)
            self._process.kill()
            self._process.join()
            self._gone = True  # from now on, another process may have this pid
        self._pipe.close()

    def _read(self) -> Event | None:
        """Return what the process sends, or None if it only says that it compiles."""
        try:
            kind, value, seconds = self._pipe.recv()
        except (EOFError, OSError):
            self.kill()  # kills the programs, too, that a dead process has started
            code = self._process.exitcode or 0
            how = f"by signal {-code}" if code < 0 else f"with code {code}"
            return self._lose(f"the worker process ended {how}")
        except Exception as error:  # a native library may have damaged its memory
            self.kill()
            return self._lose(f"the worker process sent no message ({error!r})")
        if kind == "compiling":
            say_compiling()
            return None
        if kind == "message":
            if seconds is not None:
                self._allow(seconds)
            return Message(self._job, value)
        answer = Done(self._job, value)
        self.busy, self._job, self._deadline = False, None, inf
        if kind == "error":
            raise value
        return answer

    def _allow(self, seconds: float | None) -> None:
        self._begun = time.monotonic()
        self._deadline = inf if seconds is None else self._begun + seconds

    def _send(self, data: bytes) -> None:
        # If the process is dead, receive() reports it.
        with contextlib.suppress(OSError):
            self._pipe.send_bytes(data)

    def _lose(self, reason: str) -> Lost:
        lost = Lost(self._job, reason, time.monotonic() - self._begun)
        self.busy, self._job, self._deadline = False, None, inf
        return lost


def _pack(value: Any) -> bytes:
    """
    Return a value as pickled bytes.

    Functions and classes that a script or notebook defines are pickled with their code.
    """
    with contextlib.suppress(pickle.PicklingError, AttributeError, TypeError):
        packed = pickle.dumps(value)
        if b"__main__" not in packed:
            return packed
    from numba import cloudpickle  # Numba, which is always installed, contains it

    return bytes(cloudpickle.dumps(value))


@contextlib.contextmanager
def _changed(
    mapping: MutableMapping[str, Any], items: Mapping[str, Any]
) -> Iterator[None]:
    """
    Context manager that sets items of a mapping, and restores them after its block.
    """
    before = {name: mapping[name] for name in items if name in mapping}
    mapping.update(items)
    try:
        yield
    finally:
        mapping.update(before)
        for name in items.keys() - before.keys():
            del mapping[name]


def _kill_group(pid: int) -> None:
    """Kill a worker process and the programs that it has started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            # A process that has just started is still in its parent's group.
            if os.getpgid(pid) == pid:
                os.killpg(pid, signal.SIGKILL)


# ----------------------------------------------------------- inside the worker process

_END_SOON = b""  # sent instead of a job, to ask the running job to end


def _serve_jobs(
    pipe: Connection, packed: bytes, user_files: list[str], core: int | None
) -> None:
    """
    Run jobs in the worker process until the parent closes the pipe or ends.

    ``packed`` is (parts that users have registered, work, shared), pickled. The Python
    files ``user_files`` are loaded first. ``core`` is the core to pin the process to.
    """
    if core is not None:
        os.sched_setaffinity(0, {core})
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # so that the programs a job starts are killed with it
    jobs: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    end_soon = threading.Event()
    listening = threading.Thread(target=_listen, args=(pipe, jobs, end_soon))
    listening.daemon = True
    listening.start()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        try:
            load_files(user_files)
            parts, work, shared = pickle.loads(packed)
            add_parts(parts)
        except Exception as error:
            reason = f"a worker process cannot load its work: {error!r}"
            pipe.send(("error", InputError(reason), None))
            return

        def send(value: Any, *, seconds: float | None = None) -> None:
            pipe.send_bytes(_pack(("message", value, seconds)))

        compiling = logging.getLogger("fixedfleet.compiling")
        compiling.setLevel(logging.INFO)
        compiling.addHandler(_ToParent(pipe))

        call = Call(send, end_soon.is_set)
        while True:
            pipe.send_bytes(_do(work, jobs.get(), call, shared))


class _ToParent(logging.Handler):
    """Tells the parent that this process compiles; it is the parent that says so."""

    def __init__(self, pipe: Connection) -> None:
        super().__init__()
        self.pipe = pipe

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record to the parent."""
        self.pipe.send(("compiling", record.getMessage(), None))


def _do(
    work: Callable[..., Any], packed: bytes, call: Call, shared: tuple[Any, ...]
) -> bytes:
    """Run a pickled job; return its pickled result, or the error that it raised."""
    try:
        return _pack(("answer", work(pickle.loads(packed), call, *shared), None))
    except Exception as error:
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        try:
            answer = pickle.dumps(("error", error, None))
            pickle.loads(answer)
        except Exception:  # some errors of other packages cannot be pickled
            told = RuntimeError(f"{type(error).__name__}: {error}")
            return pickle.dumps(("error", told, None))
        return answer


def _listen(
    pipe: Connection, jobs: queue.SimpleQueue[bytes], end_soon: threading.Event
) -> None:
    """
    Put the jobs that arrive through the pipe into ``jobs``, in a thread of the worker.

    A request to end the running job soon sets ``end_soon``. When the parent ends, this
    process is killed.
    """
    with contextlib.suppress(EOFError, OSError):
        while True:
            data = pipe.recv_bytes()
            if data == _END_SOON:
                end_soon.set()
            else:
                end_soon.clear()  # the request to end was for the previous job
                jobs.put(data)
    _kill_group(os.getpid())
    os._exit(1)
