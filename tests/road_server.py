"""A real road server: OSRM with the roads of two small towns."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

from tests.town import corner, town_map

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROGRAMS = Path(sys.prefix) / "osrm" / "osrm"  # see the Makefile


@contextmanager
def serving_roads(folder: Path) -> Iterator[str]:
    """Run an OSRM server with the roads of two towns; give its address."""
    profile = _PROGRAMS / "share" / "profiles" / "car.lua"
    if not profile.exists():
        pytest.skip("OSRM is not installed: `make setup` fetches it where there is one")
    (folder / "town.osm").write_text(town_map(), encoding="utf-8")
    _run("osrm-extract", "--threads", "1", "--profile", profile, "town.osm", cwd=folder)
    _run("osrm-contract", "--threads", "1", "town.osrm", cwd=folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [
            *(_PROGRAMS / "bin" / "osrm-routed", "--ip", "127.0.0.1"),
            *("--port", str(port), "--threads", "1", "--max-table-size", "20"),
            *("--verbosity", "NONE", "town.osrm"),
        ],
        cwd=folder,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url, server)
        yield url
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _run(program: str, *arguments: object, cwd: Path) -> None:
    command = [str(_PROGRAMS / "bin" / program), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if "GLIBC" in done.stderr:
        pytest.skip(f"OSRM does not run on this machine: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stdout[-2000:]


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    lat, lon = corner(0, 0)
    for _ in range(600):
        try:
            with urlopen(f"{url}/nearest/v1/driving/{lon},{lat}", timeout=10):
                return
        except OSError:
            assert server.poll() is None, "osrm-routed ended"
            time.sleep(0.05)
    raise TimeoutError("osrm-routed does not answer")
