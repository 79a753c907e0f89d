"""Plans in a data folder: SQLite, one writer, what is finished stays."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Listing", "Store", "Unfinished"]

_VERSION = 1
_SCHEMA = """
CREATE TABLE plans (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    client TEXT NOT NULL,
    name TEXT NOT NULL,
    status TEXT NOT NULL,
    created TEXT NOT NULL,
    customers INTEGER NOT NULL,
    vehicles INTEGER NOT NULL,
    cost REAL,
    begun INTEGER NOT NULL DEFAULT 0,
    instance TEXT NOT NULL,
    document TEXT NOT NULL
);
CREATE INDEX unfinished ON plans (number) WHERE status IN ('queued', 'running');
"""
# What is forgotten is looked for here, without a look at the documents.
_INDEX = "CREATE INDEX IF NOT EXISTS kept ON plans (client, status, cost, number)"
_UNFINISHED = "status IN ('queued', 'running')"
# A plan for too small a fleet has no cost, and a result all the same.
_HAS_RESULT = "(cost IS NOT NULL OR status = 'done')"
# Of all finished plans with a result, or all without, the oldest of the client that has
# most of them go first: nobody's plans drive out those of others who have fewer. The
# one that has just been finished is yet to be asked for.
_FORGET = f"""
DELETE FROM plans WHERE number IN (
    SELECT number FROM (
        SELECT number,
            row_number() OVER (PARTITION BY client ORDER BY number DESC) AS rank
        FROM plans
        WHERE NOT {_UNFINISHED} AND {_HAS_RESULT} = :has_result
    )
    WHERE number <> (SELECT number FROM plans WHERE id = :id)
    ORDER BY rank DESC, number LIMIT :excess
)
"""
_FOUND = f"SELECT count(*) FROM plans WHERE NOT {_UNFINISHED} AND {_HAS_RESULT} = ?"


@dataclass(frozen=True)
class Listing:
    """A plan in the list of plans."""

    id: str
    name: str
    status: str
    created: str
    customers: int
    vehicles: int
    cost: float | None


@dataclass(frozen=True)
class Unfinished:
    """
    A plan that a server did not come to finish.

    Attributes
    ----------
    id, client, created
        The plan, whose it is and since when.
    begun
        How often a server ended without notice while it was in the making.
    instance, document
        The instance and the plan's document, as JSON.
    """

    id: str
    client: str
    created: str
    begun: int
    instance: str
    document: str


class Store:
    """
    The plans of one data folder, which one server at a time may use.

    What :meth:`finish` has returned from survives the death of the process and of the
    machine. Every method may be called from any thread.

    Parameters
    ----------
    folder
        The data folder; made if there is none.
    keep
        Finished plans with a result to keep, and as many without one. Beyond that, the
        oldest of the client that has most of them are forgotten.

    Raises
    ------
    InputError
        If another server uses the folder, or what lies there is no store.
    """

    def __init__(self, folder: Path, keep: int) -> None:
        self._path, self._keep = folder / "plans.sqlite", keep
        _make_private(folder)
        self._folder_lock = _lock_folder(folder)
        self._lock = threading.Lock()
        try:
            self._writer = self._connect()
            self._prepare()
        except (sqlite3.DatabaseError, InputError) as error:
            self._folder_lock.close()
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{self._path}: cannot be used as a store of plans ({error}): move it "
                "away, or choose another folder"
            ) from None

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=10, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode = WAL")
        # Each commit is on the disk before it is told: power cuts lose nothing.
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _prepare(self) -> None:
        (version,) = self._writer.execute("PRAGMA user_version").fetchone()
        if version == 0:
            with self._writing() as writer:
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    writer.execute(statement)
                writer.execute(f"PRAGMA user_version = {_VERSION}")
        elif version != _VERSION:
            raise InputError(
                f"{self._path}: a store of version {version}, not {_VERSION}: choose "
                "another folder"
            )
        self._writer.execute(_INDEX)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Take the writer for one transaction: all of it or nothing."""
        with self._lock:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back itself where the disk was full.
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the store; another server may use the folder now."""
        with self._lock:
            self._writer.close()
            self._folder_lock.close()

    def add(self, listing: Listing, client: str, instance: str, document: str) -> None:
        """Note a plan that waits to be made."""
        with self._writing() as writer:
            writer.execute(
                "INSERT INTO plans (id, client, name, status, created, customers, "
                "vehicles, instance, document) VALUES (?, ?, ?, 'queued', ?, ?, ?, ?, "
                "?)",
                (
                    listing.id,
                    client,
                    listing.name,
                    listing.created,
                    listing.customers,
                    listing.vehicles,
                    instance,
                    document,
                ),
            )

    def begin(self, id: str) -> None:
        """Note that a plan is in the making."""
        with self._writing() as writer:
            writer.execute(
                "UPDATE plans SET status = 'running', begun = begun + 1 WHERE id = ?",
                (id,),
            )

    def finish(self, id: str, status: str, cost: float | None, document: str) -> None:
        """Keep a plan that is finished, and forget what is beyond what is kept."""
        has_result = cost is not None or status == "done"
        with self._writing() as writer:
            writer.execute(
                "UPDATE plans SET status = ?, cost = ?, document = ? WHERE id = ?",
                (status, cost, document, id),
            )
            (found,) = writer.execute(_FOUND, (has_result,)).fetchone()
            if found > self._keep:
                values = {"id": id, "has_result": has_result}
                writer.execute(_FORGET, {**values, "excess": found - self._keep})

    def put_back(self) -> None:
        """Let all that is in the making wait again, as if it had not begun."""
        with self._writing() as writer:
            writer.execute(
                "UPDATE plans SET status = 'queued', begun = max(begun - 1, 0) "
                "WHERE status = 'running'"
            )

    def requeue(self) -> None:
        """Let all wait again that was in the making when a server died."""
        with self._writing() as writer:
            writer.execute(
                "UPDATE plans SET status = 'queued' WHERE status = 'running'"
            )

    def unfinished(self) -> list[Unfinished]:
        """Plans that an earlier server left unfinished, oldest first."""
        rows = self._read(
            "SELECT id, client, created, begun, instance, document FROM plans "
            f"WHERE {_UNFINISHED} ORDER BY number"
        )
        return [Unfinished(*row) for row in rows]

    def document(self, id: str) -> tuple[str, str] | None:
        """Status and document of a plan; None if there is none of this id."""
        rows = self._read("SELECT status, document FROM plans WHERE id = ?", id)
        return (rows[0][0], rows[0][1]) if rows else None

    def instance(self, id: str) -> str | None:
        """The instance of a plan as JSON; None if there is none of this id."""
        rows = self._read("SELECT instance FROM plans WHERE id = ?", id)
        return str(rows[0][0]) if rows else None

    def newest(self, limit: int, before: str | None = None) -> list[Listing]:
        """Plans, newest first, those before a given one if there is one given."""
        older = "WHERE number < (SELECT number FROM plans WHERE id = ?)"
        rows = self._read(
            "SELECT id, name, status, created, customers, vehicles, cost FROM plans "
            f"{older if before is not None else ''} ORDER BY number DESC LIMIT ?",
            *(() if before is None else (before,)),
            limit,
        )
        return [Listing(*row) for row in rows]

    def _read(self, query: str, *values: object) -> list[Any]:
        # A reader of its own sees the last commit and never waits for the writer.
        with closing(sqlite3.connect(self._path, timeout=10)) as reader:
            # One text that was spoilt must not hide all others.
            reader.text_factory = lambda text: text.decode(errors="replace")
            return reader.execute(query, values).fetchall()


def _make_private(folder: Path) -> None:
    """Make a folder, and the files in it that nobody but the user may read."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in ("lock", "plans.sqlite"):
            # SQLite would let everybody read what it makes in a folder of others.
            os.close(os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600))
        for name in ("lock", *(f"plans.sqlite{end}" for end in ("", "-wal", "-shm"))):
            if (folder / name).exists():
                (folder / name).chmod(0o600)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be used as a data folder ({error.strerror}): choose "
            "another"
        ) from None


def _lock_folder(folder: Path) -> sqlite3.Connection:
    """Hold a folder until the connection closes or the process ends, however."""
    path = folder / "lock"
    try:
        lock = sqlite3.connect(
            path, timeout=0, isolation_level=None, check_same_thread=False
        )
    except sqlite3.OperationalError as error:
        raise InputError(f"{path}: {error}: choose another data folder") from None
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.DatabaseError as error:
        lock.close()
        if error.sqlite_errorname == "SQLITE_BUSY":
            sentence = "another server uses this data folder: end it, or choose another"
        else:
            sentence = f"cannot be used as a data folder ({error}): choose another"
        raise InputError(f"{folder}: {sentence}") from None
    return lock
