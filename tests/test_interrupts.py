"""Ctrl-C: noted, put off, and while the command line is still being loaded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fixedfleet import interrupts
from fixedfleet.cli import main
from fixedfleet.interrupts import interrupt_noted, interrupts_deferred

# Python runs this file before anything else. It presses Ctrl-C in an import.
PRESS = """
import os, signal, sys

class Finder:
    def find_spec(name, path, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder)
"""
EXAMPLE = Path(__file__).parent.parent / "examples" / "leipzig_parcels.csv"
SCRIPT = "import sys; from fixedfleet.cli import main; sys.exit(main())"


def test_ctrl_c_comes_after_what_must_not_be_interrupted():
    """It is raised at the end of the block, once, and the handler is back."""
    before = signal.getsignal(signal.SIGINT)
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_deferred():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("the rest of the block")
    assert done == ["the rest of the block"]
    assert signal.getsignal(signal.SIGINT) is before
    with interrupts_deferred():
        pass


def test_ctrl_c_is_noted_once_and_raised_the_second_time():
    """The block goes on after the first Ctrl-C, and the handler is back after it."""
    before = signal.getsignal(signal.SIGINT)
    with interrupt_noted() as pressed:
        assert not pressed()
        signal.raise_signal(signal.SIGINT)
        assert pressed()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    with interrupt_noted() as pressed:
        assert not pressed()


def test_all_nested_blocks_note_ctrl_c():
    """A search within a search ends, and so does the one around it."""
    with interrupt_noted() as outer, interrupt_noted() as middle:
        with interrupt_noted() as inner:
            signal.raise_signal(signal.SIGINT)
            assert inner()
        assert (outer(), middle()) == (True, True)
        with interrupt_noted() as later:
            assert not later()
            with pytest.raises(KeyboardInterrupt):  # the second one
                signal.raise_signal(signal.SIGINT)


def test_ctrl_c_put_off_within_a_block_that_notes_it_is_noted_after():
    """It counts as one Ctrl-C: the blocks around note it, and nothing is raised."""
    with interrupt_noted() as outer, interrupt_noted() as pressed:
        with interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
            assert not pressed()
        assert (outer(), pressed()) == (True, True)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_ctrl_c_put_off_in_nested_blocks_is_raised_once():
    """It comes at the end of the outer block, and a later block starts anew."""
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_deferred():
        with interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]
    with interrupts_deferred():
        pass


def test_other_threads_are_let_alone():
    """Only the main thread hears Ctrl-C, so others have nothing to note or defer."""
    done = []

    def work():
        with interrupts_deferred(), interrupt_noted() as pressed:
            done.append(not pressed())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


def test_an_error_within_is_not_lost():
    """What the block raises comes out, and the handler is back."""
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="within"), interrupts_deferred():
        raise ValueError("within")
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no signals of this kind")
@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("numpy", "module"),
        ("fixedfleet.cli.solve_command", "script"),
        ("fixedfleet.documents", "module"),  # while the command runs
    ],
)
def test_ctrl_c_in_an_import_ends_quietly(name, start, tmp_path):
    """Ctrl-C in the middle of an import is one line and code 130, no traceback."""
    (tmp_path / "sitecustomize.py").write_text(PRESS.format(name=name))
    (tmp_path / "fixedfleet").write_text(SCRIPT)
    command = {"module": ["-m", "fixedfleet"], "script": [str(tmp_path / "fixedfleet")]}
    paths = [str(tmp_path), *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, *command[start], "fleet", str(EXAMPLE), "--json"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "fixedfleet: error: interrupted\n"


def test_other_programs_keep_their_ctrl_c(capsys):
    """Importing the package, or calling main, leaves the handler of Ctrl-C alone."""
    before = signal.getsignal(signal.SIGINT)
    assert before is not interrupts._end_command
    assert main(["--version"]) == 0
    assert signal.getsignal(signal.SIGINT) is before


def test_within_the_command_ctrl_c_raises():
    """While a command runs, Ctrl-C raises KeyboardInterrupt, so it can clean up."""
    before = signal.signal(signal.SIGINT, interrupts._end_command)
    try:
        with pytest.raises(KeyboardInterrupt), interrupts.command_loaded():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is interrupts._end_command
    finally:
        signal.signal(signal.SIGINT, before)
