"""Plans in a data folder: SQLite, one writer, what is finished stays."""

from __future__ import annotations

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
_UNFINISHED = "status IN ('queued', 'running')"


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
    id, client
        The plan and whose it is.
    begun
        How often a server ended without notice while it was in the making.
    instance, document
        The instance and the plan's document, as JSON.
    """

    id: str
    client: str
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
        Finished plans to keep; the oldest beyond it are forgotten.

    Raises
    ------
    InputError
        If another server uses the folder, or what lies there is no store.
    """

    def __init__(self, folder: Path, keep: int) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path, self._keep = folder / "plans.sqlite", keep
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

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Take the writer for one transaction: all of it or nothing."""
        with self._lock:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
            except BaseException:
                self._writer.execute("ROLLBACK")
                raise
            self._writer.execute("COMMIT")

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
        """Keep a plan that is finished, and forget the oldest beyond what is kept."""
        with self._writing() as writer:
            writer.execute(
                "UPDATE plans SET status = ?, cost = ?, document = ? WHERE id = ?",
                (status, cost, document, id),
            )
            writer.execute(
                f"DELETE FROM plans WHERE NOT {_UNFINISHED} AND number <= "
                "(SELECT max(number) FROM plans) - ?",
                (self._keep,),
            )

    def put_back(self) -> None:
        """Let all that is in the making wait again, as if it had not begun."""
        with self._writing() as writer:
            writer.execute(
                "UPDATE plans SET status = 'queued', begun = max(begun - 1, 0) "
                "WHERE status = 'running'"
            )

    def unfinished(self) -> list[Unfinished]:
        """Plans that an earlier server left unfinished, oldest first."""
        rows = self._read(
            "SELECT id, client, begun, instance, document FROM plans "
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
            return reader.execute(query, values).fetchall()


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
