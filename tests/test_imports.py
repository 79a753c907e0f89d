"""Data flows one way: a room imports from the rooms on its left, never the right."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "fixedfleet"
ROOMS = (
    "interrupts",
    "errors",
    "compiling",
    "registry",
    "version",
    "data_folder",
    "deadline",
    "workers",
    "distances",
    "notebook",
    "instance",
    "timetable",
    "route_loops",
    "plan",
    "progress",
    "wording",
    "doubts",
    "fleet",
    "documents",
    "result",
    "files",
    "roads",
    "addresses",
    "generate",
    "plotting",
    "model",
    "planning",
    "search",
    "bound",
    "labels",
    "training",
    "solving",
    "evaluate",
    "serve",
    "cli",
)
OUTSIDE = {  # packages that these rooms alone may import
    "pyvrp": ("search",),
    "vroom": ("search",),
    "hybgensea": ("search",),
    "numba": ("compiling", "search", "workers"),  # workers: its copy of cloudpickle
    "cupy": ("compiling",),
    "ray": ("workers",),
    "matplotlib": ("plotting",),
    "geopy": ("addresses",),
    "fastapi": ("serve",),
    "uvicorn": ("serve",),
    "sqlite3": ("serve",),
    "experiments": (),  # it is not installed with the package
}
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE) + [
    path
    for path in sorted(PACKAGE.glob("*.py"))
    if path.name not in ("__init__.py", "__main__.py")
]


def room_of(path: Path) -> str:
    """The room a source file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def imported(path: Path) -> set[str]:
    """Modules a file imports anywhere, in functions and type checking too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
            if node.module == "fixedfleet":
                found.update(f"fixedfleet.{alias.name}" for alias in node.names)
    return found


def test_a_room_imports_from_its_left_only():
    """No file imports a room that stands to the right of its own."""
    for path in FILES:
        place = ROOMS.index(room_of(path))
        for module in imported(path):
            parts = module.split(".")
            if parts[0] == "fixedfleet" and len(parts) > 1 and parts[1] in ROOMS:
                assert ROOMS.index(parts[1]) <= place, f"{path.name} imports {module}"


def test_an_outside_package_has_one_owner():
    """Packages that a room adapts are imported nowhere else."""
    for path in FILES:
        for module in imported(path):
            owners = OUTSIDE.get(module.split(".")[0])
            assert owners is None or room_of(path) in owners, f"{path.name}: {module}"


def test_no_two_files_have_the_same_name():
    """A file is named after the one thing it owns, so its name identifies it."""
    counts = Counter(path.stem for path in FILES if path.name != "__init__.py")
    assert [name for name, count in counts.items() if count > 1] == []


def test_importing_the_package_loads_nothing_heavy():
    """Reading and checking a file needs no compiler, solver, plot or network."""
    import subprocess
    import sys

    code = (
        "import sys, fixedfleet\n"
        "heavy = {'numba', 'torch', 'ortools', 'matplotlib', 'ray', 'pyvrp', 'scipy'}\n"
        "heavy |= {'fixedfleet.bound'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_only_a_proof_loads_lower_bounds():
    """The step of `solve` imports the room in the functions that a proof calls."""
    for path in (PACKAGE / "solving").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top = {
            node.module
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module
        }
        assert not [name for name in top if name.startswith("fixedfleet.bound")]
    assert any(
        module.startswith("fixedfleet.bound")
        for module in imported(PACKAGE / "solving" / "bounded_plan.py")
    )
