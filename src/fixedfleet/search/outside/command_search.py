"""
The search ``command:``, which runs a program of the user's choice.

The program must read a VRPLIB file and write its plan as a ``.sol`` file.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.files import read_plan
from fixedfleet.files.vrplib_files import format_instance
from fixedfleet.instance import Instance
from fixedfleet.search.outside.whole_numbers import whole_amounts, whole_distances
from fixedfleet.search.task import MIN_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.plan import Plan
    from fixedfleet.search.task import Search, SearchTask

__all__ = ["command_name", "make_command_search"]

_PLACES = ("instance", "solution", "seconds", "seed", "vehicles")
# Larger distances or sums of demands would overflow in programs that use 32 bits.
_LONGEST = 2**20
_LARGEST_SUM = 2**30
# Seconds that a program may take beyond twice its time limit. LKH-3, for example, looks
# at the clock only between trials.
_GRACE = 10.0


def make_command_search(template: str) -> Search:
    """
    Return the search ``command:``, which runs a program with its arguments.

    The program runs in an empty folder. Its plan is read from the file ``{solution}``,
    or else from the newest ``.sol`` file in that folder, or else from its output. The
    program does not receive the initial plan.

    Parameters
    ----------
    template
        The command line, in which ``{instance}`` and ``{solution}`` stand for paths of
        files, and ``{seconds}``, ``{seed}`` and ``{vehicles}`` for numbers:
        ``hgs {instance} {solution} -t {seconds} -seed {seed} -nbVeh {vehicles}``.

    Raises
    ------
    MissingPackageError
        If there is no such program.
    """
    command_name(template)  # raises if the template is wrong
    first, *others = shlex.split(template)
    program = shutil.which(first)
    if program is None:
        raise MissingPackageError(f"there is no program {first!r}")
    # The program runs in another folder, so its path must be absolute.
    return partial(_command_search, words=[str(Path(program).absolute()), *others])


def _command_search(task: SearchTask, words: list[str]) -> Iterator[Plan]:
    """Run the program, and yield the plan that it has written, if any."""
    with tempfile.TemporaryDirectory(prefix="fixedfleet-command-") as name:
        folder = Path(name)
        given, solution = folder / "instance.vrp", folder / "plan.sol"
        given.write_text(format_instance(_in_whole_numbers(task.instance), plain=True))
        seconds = max(task.deadline.left(), MIN_SECONDS)
        vehicles = task.instance.vehicles
        values = (given, solution, f"{seconds:g}", task.seed, vehicles)
        filled = dict(zip(_PLACES, map(str, values), strict=True))
        printed = _run_program(
            [word.format_map(filled) for word in words], folder, seconds
        )
        if not solution.exists():
            written = sorted(folder.glob("*.sol"), key=lambda p: p.stat().st_mtime)
            solution = written[-1] if written else solution
        if not solution.exists():
            solution.write_text(printed)
        if "Route" in solution.read_text():
            yield read_plan(solution)


def _run_program(words: list[str], folder: Path, seconds: float) -> str:
    """
    Run a program in a folder, and return what it printed.

    A program that takes much longer than ``seconds`` is stopped. Then the returned text
    is empty, but the files that the program has written are kept.
    """
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            stdin=subprocess.DEVNULL,  # some programs wait for a key after an error
            capture_output=True,
            text=True,
            timeout=2 * seconds + _GRACE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ""
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines() or ["nothing"]
        raise RuntimeError(
            f"{words[0]} failed with status {done.returncode}: {said[-1]}"
        )
    return done.stdout


def command_name(template: str) -> str:
    """
    Return a command line without the folder of its program.

    The program need not exist on this machine. Raise InputError for a wrong template.
    """
    if "{instance}" not in template:
        raise InputError(f"the command {template!r} has no {{instance}} in it")
    try:
        template.format_map(dict.fromkeys(_PLACES, ""))
    except (KeyError, ValueError, IndexError) as error:
        raise InputError(
            f"the command {template!r} has an unknown place {error}; there are "
            f"{', '.join(f'{{{place}}}' for place in _PLACES)}"
        ) from None
    words = shlex.split(template)
    return shlex.join([Path(words[0]).name, *words[1:]])


def _in_whole_numbers(instance: Instance) -> Instance:
    """
    Return an instance with whole demands and distances.

    All programs that read VRPLIB files can read such an instance.
    """
    demands, capacity = whole_amounts(instance, largest=_LARGEST_SUM)
    places: dict[str, Any] = {}
    if instance.metric == "euclidean" and instance.rounding in ("round", "none"):
        points = instance.coordinates
        if instance.rounding == "none":
            width = float(np.ptp(points, axis=0).max()) or 1.0
            points = np.rint((points - points.min(axis=0)) * (_LONGEST / width))
        places = {"depot": points[0], "customers": points[1:], "rounding": "round"}
    else:
        places = {"matrix": whole_distances(instance, largest=_LONGEST)}
    return Instance(
        name=f"instance-n{len(demands)}-k{instance.vehicles}",
        demands=demands[1:],
        capacity=capacity,
        vehicles=instance.vehicles,
        **places,
    )
