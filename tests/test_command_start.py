"""Ctrl-C while the command line is still being loaded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fixedfleet import command_start
from fixedfleet.cli import main

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
def test_point_15_ctrl_c_in_an_import_ends_quietly(name, start, tmp_path):
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
    assert before is not command_start._end
    assert main(["--version"]) == 0
    assert signal.getsignal(signal.SIGINT) is before


def test_within_the_command_ctrl_c_raises():
    """While a command runs, Ctrl-C raises KeyboardInterrupt, so it can clean up."""
    before = signal.signal(signal.SIGINT, command_start._end)
    try:
        with pytest.raises(KeyboardInterrupt), command_start.loaded():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is command_start._end
    finally:
        signal.signal(signal.SIGINT, before)
