"""The plans in a data folder: an SQLite database that loses no confirmed change."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from fixedfleet.errors import InputError
from fixedfleet.files import atomic
from fixedfleet.serve.schema import PlanListing

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["PlanStore", "StoredPlan", "Unfinished"]

_VERSION = 3
_FINISHED = "status NOT IN ('queued', 'running')"
_SCHEMA = f"""
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
    unit TEXT NOT NULL,
    listed INTEGER NOT NULL,
    begun INTEGER NOT NULL DEFAULT 0,
    instance TEXT NOT NULL,
    document TEXT NOT NULL
);
CREATE INDEX unfinished ON plans (number) WHERE status IN ('queued', 'running');
CREATE INDEX finished ON plans (number) WHERE {_FINISHED};
"""
# The number of unserved customers, in the tours as the dispatcher changed them. If they
# were not changed, it is that of the result.
_UNSERVED = """
CASE WHEN json_valid(document) THEN coalesce(
    json_array_length(document, '$.edited.unserved'),
    json_array_length(document, '$.result.unserved'), 0
) ELSE 0 END
"""
# Deletes the oldest finished plans, but never the one that has just been finished: its
# client has yet to ask for it. With the index, the large documents are not read.
_FORGET = f"""
DELETE FROM plans WHERE number IN (
    SELECT number FROM plans INDEXED BY finished
    WHERE {_FINISHED} AND number <> (SELECT number FROM plans WHERE id = :id)
    ORDER BY number DESC LIMIT -1 OFFSET :others
)
"""


class StoredPlan(NamedTuple):
    """The status of a plan, and its document as JSON."""

    status: str
    document: str


class Unfinished(NamedTuple):
    """A plan that an earlier server did not finish. Instance and document are JSON."""

    id: str
    client: str
    created: str
    deaths: int  # how often a server died while a worker was making it
    instance: str
    document: str


class PlanStore:
    """
    The plans of one data folder. One server at a time may use a folder.

    When :meth:`add` or :meth:`finish` returns, its change is on disk and survives a
    crash of the process or the machine. One thread at a time may write; any thread may
    read. A folder that does not exist is created. If there are more than ``keep``
    finished plans, the oldest ones are deleted.

    Raises
    ------
    InputError
        If another server uses the folder, or its database cannot be used.
    """

    def __init__(self, folder: Path, keep: int) -> None:
        self._path, self._keep = folder / "plans.sqlite", keep
        _make_private(folder)
        self._lock = open(folder / "lock", "a")  # noqa: SIM115  # `close` closes it
        try:
            busy = "another server uses this data folder: end it, or choose another"
            atomic.lock(self._lock, f"{folder}: {busy}")
            self._writer = self._connect()
            self._prepare()
        except (sqlite3.DatabaseError, InputError) as error:
            self._lock.close()
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{self._path}: cannot be used as a store of plans ({error}): move it "
                "away, or choose another folder"
            ) from None

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path,
            timeout=10,
            isolation_level=None,  # each statement is a transaction
            check_same_thread=False,
        )
        connection.execute("PRAGMA journal_mode = WAL")
        # Each commit is on the disk before it returns, so a power cut loses nothing.
        connection.execute("PRAGMA synchronous = FULL")
        # Names and telephone numbers of a deleted plan are overwritten.
        connection.execute("PRAGMA secure_delete = ON")
        return connection

    def _prepare(self) -> None:
        (version,) = self._writer.execute("PRAGMA user_version").fetchone()
        if version == _VERSION:
            return
        if version != 0:
            raise InputError(
                f"{self._path}: the store has version {version}, but this program "
                f"needs version {_VERSION}: choose another folder"
            )
        self._writer.executescript(
            f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;"
        )

    def close(self) -> None:
        """Close the store, so that another server may use the folder."""
        self._writer.close()
        self._lock.close()

    def add(
        self,
        listing: PlanListing,
        client: str,
        instance: str,
        document: str,
        listed: bool = True,
    ) -> None:
        """
        Add a plan that waits for a worker.

        ``instance`` and ``document`` are JSON. ``client`` is the address of the client.
        ``listed`` says whether the plan appears in the list of plans.
        """
        values = {**vars(listing), "client": client, "listed": listed}
        del values["unserved"]  # it is computed from the document
        values |= {"instance": instance, "document": document}
        self._writer.execute(
            f"INSERT INTO plans ({', '.join(values)}) "
            f"VALUES ({', '.join(f':{name}' for name in values)})",
            values,
        )

    def begin(self, id: str) -> None:
        """Record that a worker is making a plan."""
        self._writer.execute(
            "UPDATE plans SET status = 'running', begun = begun + 1 WHERE id = ?", (id,)
        )

    def finish(self, id: str, status: str, cost: float | None, document: str) -> None:
        """Store a finished plan, and delete the oldest ones if there are too many."""
        with self._writer as writer:  # both changes, or none
            writer.execute("BEGIN IMMEDIATE")
            writer.execute(
                "UPDATE plans SET status = ?, cost = ?, document = ? WHERE id = ?",
                (status, cost, document, id),
            )
            writer.execute(_FORGET, {"id": id, "others": self._keep - 1})

    def keep_edit(
        self, id: str, cost: float | None, edited: str, revision: int
    ) -> bool:
        """
        Store tours that the dispatcher changed; return whether they were stored.

        ``edited`` is the document of the tours as JSON, and ``cost`` is their cost.
        ``revision`` says how often the tours had been changed when the dispatcher read
        them. Return False if the plan does not exist, or if somebody else has changed
        its tours since then.
        """
        found = self._writer.execute(
            "UPDATE plans SET cost = ?, "
            "document = json_set(document, '$.edited', json(?)) WHERE id = ? "
            "AND coalesce(json_extract(document, '$.edited.revision'), 0) = ?",
            (cost, edited, id, revision),
        )
        return found.rowcount == 1

    def forget(self, id: str) -> bool:
        """Delete a plan for good; return whether it existed."""
        found = self._writer.execute("DELETE FROM plans WHERE id = ?", (id,))
        # The write-ahead log may still hold the plan, so it is emptied.
        self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return found.rowcount == 1

    def rename(self, id: str, name: str) -> bool:
        """Give a plan and its instance another name; return whether the plan exists."""
        found = self._writer.execute(
            "UPDATE plans SET name = :name, "
            "instance = json_set(instance, '$.name', :name), "
            "document = json_set(document, '$.instance.name', :name) WHERE id = :id",
            {"id": id, "name": name},
        )
        return found.rowcount == 1

    def requeue_running(self) -> None:
        """Mark all running plans as waiting again, as if no worker had begun them."""
        self._writer.execute(
            "UPDATE plans SET status = 'queued', begun = max(begun - 1, 0) "
            "WHERE status = 'running'"
        )

    def take_over(self) -> list[Unfinished]:
        """
        Mark the unfinished plans of an earlier server as waiting, and return them.

        The oldest plan comes first.
        """
        self._writer.execute(
            "UPDATE plans SET status = 'queued' WHERE status = 'running'"
        )
        rows = self._read(
            "SELECT id, client, created, begun, instance, document FROM plans "
            "WHERE status IN ('queued', 'running') ORDER BY number"
        )
        return [Unfinished(*row) for row in rows]

    def plan(self, id: str) -> StoredPlan | None:
        """Return a plan; None if it does not exist."""
        rows = self._read("SELECT status, document FROM plans WHERE id = ?", id)
        return StoredPlan(*rows[0]) if rows else None

    def instance(self, id: str) -> str | None:
        """Return the instance of a plan as JSON; None if the plan does not exist."""
        rows = self._read("SELECT instance FROM plans WHERE id = ?", id)
        return str(rows[0][0]) if rows else None

    def newest(self, limit: int, before: str | None = None) -> list[PlanListing]:
        """
        Return at most ``limit`` plans of the list, newest first.

        With ``before``, the id of a plan, return only plans that are older.
        """
        names = [
            name for name in PlanListing.__dataclass_fields__ if name != "unserved"
        ]
        older = "AND number < (SELECT number FROM plans WHERE id = ?)"
        rows = self._read(
            f"SELECT {', '.join(names)}, {_UNSERVED} FROM plans WHERE listed "
            f"{older if before is not None else ''} ORDER BY number DESC LIMIT ?",
            *(() if before is None else (before,)),
            limit,
        )
        columns = [*names, "unserved"]
        return [PlanListing(**dict(zip(columns, row, strict=True))) for row in rows]

    def _read(self, query: str, *values: object) -> list[Any]:
        # Each read has its own connection, which sees the last commit and never waits
        # for the writer.
        with closing(sqlite3.connect(self._path, timeout=10)) as reader:
            # A damaged text in one row must not hide the other rows.
            reader.text_factory = lambda text: text.decode(errors="replace")
            return reader.execute(query, values).fetchall()


def _make_private(folder: Path) -> None:
    """Create the folder and its files so that only the user can read them."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in ("lock", "plans.sqlite"):
            # If other users may enter the folder, they could read files that SQLite
            # creates.
            os.close(os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600))
        for name in ("lock", *(f"plans.sqlite{end}" for end in ("", "-wal", "-shm"))):
            if (folder / name).exists():
                (folder / name).chmod(0o600)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be used as a data folder ({error.strerror}): choose "
            "another"
        ) from None
