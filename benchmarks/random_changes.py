"""Mutation testing: show which random one-token changes of the source the tests notice.

    python benchmarks/random_changes.py src/fixedfleet/plan.py src/fixedfleet/fleet
        [--changes 12] [--seed 0] [--time-limit 60] [--rows build/random_changes.jsonl]

A change replaces a comparison, another operator, a number or a boolean, or drops a
`not`. Annotations, strings and f-strings are never changed. Changes are made in a
temporary copy of the project. There the quick tests of the changed file run. If they
pass, the quick tests of its package run. A change is noticed if a test fails or if the
tests take longer than the time limit.

Every result is a line in the file of rows. The same command continues this file: it
makes the changes that are missing in the file, and repeats those that were not noticed.
So run it again after you have written a test. Some changes make no difference and need
no test.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from itertools import accumulate, chain
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src", "fixedfleet")
OTHERS: dict[str, tuple[str, ...]] = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
    "==": ("!=",), "!=": ("==",), "is": ("is not",), "is not": ("is",),
    "in": ("not in",), "not in": ("in",), "and": ("or",), "or": ("and",), "not": ("",),
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "//": ("*",), "%": ("*",),
    "&": ("|",), "|": ("&",), "<<": (">>",), ">>": ("<<",), "~": ("",),
    "True": ("False",), "False": ("True",),
}  # fmt: skip
MOST_MEMORY = 8 * 2**30  # bytes that the tests may use
NO_TESTS = 5  # the exit code of pytest if all tests of a file are slow
_TOKEN = re.compile(rb"is not\b|not in\b|\*\*|//|<<|>>|[<>=!]=|[\w.]+|.")
# What may stand between a value and the operator after it.
_BETWEEN = re.compile(rb"(?:#[^\n]*|[\s()\\])*")


def find_changes(source: bytes) -> list[tuple[int, str, str]]:
    """Return all possible changes of a module: (position, old token, new token)."""
    starts = [0, *accumulate(map(len, source.splitlines(keepends=True)))]
    found = []
    for node in _executed(ast.parse(source)):
        match node:
            case ast.Constant(value=bool() | int() | float()) | ast.UnaryOp():
                places = [starts[node.lineno - 1] + node.col_offset]
            case ast.BinOp(left=left) | ast.AugAssign(target=left):
                places = [_behind(left, source, starts)]
            case ast.BoolOp(values=[*lefts, _]):
                places = [_behind(left, source, starts) for left in lefts]
            case ast.Compare(left=left, comparators=[*lefts, _]):
                places = [_behind(left, source, starts) for left in (left, *lefts)]
            case _:
                continue
        for place in places:
            old = _TOKEN.match(source, place)[0].decode()
            others = OTHERS.get(old, ())
            if isinstance(node, ast.Constant) and not others:
                old = source[place : _end(node, starts)].decode()
                others = _other_numbers(node.value)
            found += [(place, old, new) for new in others]
    return sorted(found)


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a syntax tree, except f-strings and code for type checkers."""
    yield node
    skipped = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        skipped += node.body
    for child in ast.iter_child_nodes(node):
        if child not in skipped and not isinstance(child, ast.JoinedStr):
            yield from _executed(child)


def _end(node: ast.expr, starts: Sequence[int]) -> int:
    return starts[node.end_lineno - 1] + node.end_col_offset


def _behind(left: ast.expr, source: bytes, starts: Sequence[int]) -> int:
    """Return the position where the operator after a value begins."""
    return _BETWEEN.match(source, _end(left, starts)).end()


def _other_numbers(value: float) -> tuple[str, ...]:
    if value == 0:
        return (repr(value + 1),)
    if isinstance(value, int):
        return repr(value + 1), repr(value - 1)
    return repr(value * 2), repr(value / 2)


def draw(path: Path, count: int, seed: int) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield random changes of a file, each with the changed source."""
    source = (ROOT / path).read_bytes()
    changes = find_changes(source)
    random.Random(f"{seed} {path.as_posix()}").shuffle(changes)
    for place, old, new in changes[:count]:
        line = source.count(b"\n", 0, place)
        change = {
            "file": path.as_posix(),
            "line": line + 1,
            "column": place - source.rfind(b"\n", 0, place),
            "text": source.splitlines()[line].decode().strip(),
            "old": old,
            "new": new,
        }
        yield change, source[:place] + new.encode() + source[place + len(old) :]


def tests_of(path: Path) -> list[Path]:
    """
    Return the tests of a source file: its test file and the folder of its package.

    Paths that do not exist are left out.
    """
    room = Path("tests") / path.relative_to(PACKAGE).parent
    own = room / f"test_{path.stem}.py"
    rooms = [own] if room == Path("tests") else [own, room]
    return [tests for tests in rooms if (ROOT / tests).exists()]


def tests_pass(project: Path, tests: Path, time_limit: float) -> bool:
    """Return whether quick tests pass in a copy of the project in the time limit."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-m", "not slow"]
    command += ["-p", "no:cacheprovider", str(tests)]
    # Python writes no bytecode, because its cache does not notice a second change of a
    # file within a second.
    own = {"PYTHONPATH": str(project / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    shared = {"FIXEDFLEET_SHARED": str(ROOT.parent / "shared"), "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=project,
            env=shared | os.environ | own,
            capture_output=True,
            timeout=time_limit,
            preexec_fn=_limit_memory,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode in (0, NO_TESTS)


def _limit_memory() -> None:
    """Limit the memory, because a changed loop may never end."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def run(options: argparse.Namespace, project: Path) -> dict[str, list[bool]]:
    """
    Make the changes and write the rows.

    Return for each package a list that says which of its changes were noticed.
    """
    noticed = set()
    if options.rows.exists():
        for row in map(json.loads, options.rows.read_text("utf-8").splitlines()):
            if row.pop("noticed"):
                noticed.add(json.dumps(row))
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    rooms: dict[str, list[bool]] = defaultdict(list)
    sound: set[Path] = set()
    for path in options.files:
        tests = tests_of(path)
        for change, source in draw(path, options.changes, options.seed):
            seen = json.dumps(change) in noticed
            if not seen:
                for some in {*tests} - sound:
                    if not tests_pass(project, some, options.time_limit):
                        raise SystemExit(f"{some} fails without any change")
                    sound.add(some)
                (project / path).write_bytes(source)
                passed = (tests_pass(project, t, options.time_limit) for t in tests)
                seen = not all(passed)
                shutil.copy2(ROOT / path, project / path)
                with options.rows.open("a", encoding="utf-8") as rows:
                    rows.write(json.dumps(change | {"noticed": seen}) + "\n")
            rooms[path.relative_to(PACKAGE).parts[0].removesuffix(".py")].append(seen)
            if not seen:
                print(
                    "{file}:{line}: {old} → {new}: {text}".format(**change), flush=True
                )
    return rooms


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Print the changes that were not noticed, and the share of noticed ones by package.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sources", nargs="+", type=Path, help="files or folders")
    parser.add_argument("--changes", type=int, default=12, help="per file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=60, help="seconds per run")
    default = ROOT / "build" / "random_changes.jsonl"
    parser.add_argument("--rows", type=Path, default=default, help="JSON Lines file")
    options = parser.parse_args(arguments)
    files = [[*s.rglob("*.py")] if s.is_dir() else [s] for s in options.sources]
    options.files = sorted({f.resolve().relative_to(ROOT) for f in chain(*files)})
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "project")
        without = shutil.ignore_patterns(".git", ".venv", ".*_cache", "build", "dist")
        shutil.copytree(ROOT, project, ignore=without)
        rooms = run(options, project)
    for room, seen in rooms.items():
        print(f"{room}: {sum(seen)} of {len(seen)} noticed ({fmean(seen):.0%})")
    return 0 if all(map(all, rooms.values())) else 1


if __name__ == "__main__":
    sys.exit(main())
