"""The store: what is finished stays, what is not is put right."""

from __future__ import annotations

import sqlite3
import sys

import pytest

from fixedfleet.errors import InputError
from fixedfleet.serve.store import Listing, Store

needs_modes = pytest.mark.skipif(sys.platform == "win32", reason="needs modes")


def listing(id):
    """A plan that waits."""
    return Listing(id, f"name of {id}", "queued", "now", 3, 2, None)


@pytest.fixture
def store(tmp_path):
    """An empty store that keeps three plans."""
    store = Store(tmp_path / "new" / "folder", keep=3)
    yield store
    store.close()


def test_what_is_finished_is_there_for_the_next_server(store, tmp_path):
    """A finished plan is read back by whoever opens the folder next."""
    store.add(listing("a"), "me", "instance", "waiting")
    store.begin("a")
    store.finish("a", "done", 12.5, "document")
    store.close()
    again = Store(tmp_path / "new" / "folder", keep=3)
    assert again.document("a") == ("done", "document")
    assert again.instance("a") == "instance"
    assert again.newest(5)[0].cost == 12.5
    assert again.unfinished() == []
    again.close()


def test_what_is_not_finished_is_left_in_order(store):
    """Plans that wait or are in the making are found again, oldest first."""
    for id in "abc":
        store.add(listing(id), "me", "instance", "waiting")
    store.begin("a")
    store.finish("b", "failed", None, "document")
    left = store.unfinished()
    assert [(plan.id, plan.begun) for plan in left] == [("a", 1), ("c", 0)]
    store.put_back()
    assert [plan.begun for plan in store.unfinished()] == [0, 0]


def test_the_oldest_finished_plans_are_forgotten(store):
    """Beyond what is kept the oldest finished plans go; one that waits stays."""
    store.add(listing("waits"), "me", "instance", "waiting")
    for id in "abcde":
        store.add(listing(id), "me", "instance", "waiting")
        store.finish(id, "done", 1.0, "document")
    assert [plan.id for plan in store.newest(9)] == ["e", "d", "c", "waits"]


def test_a_folder_has_one_server(store, tmp_path):
    """A second server is refused the folder while the first has it."""
    with pytest.raises(InputError, match="another server uses this data folder"):
        Store(tmp_path / "new" / "folder", keep=3)


def test_a_file_that_is_no_store_is_refused(tmp_path):
    """Something else under the store's name is left alone, with a sentence."""
    (tmp_path / "plans.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(InputError, match="cannot be used as a store"):
        Store(tmp_path, keep=3)
    with pytest.raises(InputError, match="cannot be used as a store"):
        Store(tmp_path, keep=3)  # and the folder is not left locked


def test_a_store_of_another_version_is_refused(tmp_path):
    """A store of a version that is not known is not touched."""
    with sqlite3.connect(tmp_path / "plans.sqlite") as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="version 99"):
        Store(tmp_path, keep=3)


def test_a_transaction_is_whole_or_nothing(store):
    """A plan under an id that exists is refused, and the store goes on."""
    store.add(listing("a"), "me", "instance", "waiting")
    with pytest.raises(sqlite3.IntegrityError):
        store.add(listing("a"), "me", "instance", "waiting")
    store.add(listing("b"), "me", "instance", "waiting")
    assert len(store.newest(9)) == 2


def finish(store, id, client="me", status="done", cost=1.0):
    """Add a plan of a client's and finish it."""
    store.add(listing(id), client, "instance", "waiting")
    store.finish(id, status, cost, "document")


def kept(store):
    """The ids of the plans there are, newest first."""
    return [plan.id for plan in store.newest(99)]


def test_plans_that_are_not_finished_take_no_place(store):
    """What waits does not count among the plans that are kept."""
    for id in "abc":
        finish(store, id)
    for id in "uvwxyz":
        store.add(listing(id), "me", "instance", "waiting")
    store.finish("u", "cancelled", None, "document")
    assert set(kept(store)) == set("abcuvwxyz")


def test_the_plan_just_finished_is_never_forgotten(store):
    """A plan that took long is there when it is finished, however old its number."""
    store.add(listing("long"), "me", "instance", "waiting")
    for id in "abc":
        finish(store, id)
    store.finish("long", "done", 1.0, "document")
    assert kept(store) == ["c", "b", "long"]


def test_plans_without_a_result_drive_out_none_with_one(store):
    """Cancelled and failed plans are forgotten for each other alone."""
    for id in "abc":
        finish(store, id)
    for i in range(9):
        finish(store, f"{i}", "other", ("cancelled", "failed")[i % 2], None)
    assert kept(store) == ["8", "7", "6", "c", "b", "a"]
    finish(store, "impossible", cost=None)  # done, with a result that has no cost
    assert kept(store) == ["impossible", "8", "7", "6", "c", "b"]


def test_a_client_with_many_plans_drives_out_its_own(store):
    """Plans of a client with few stay, whatever another has made."""
    finish(store, "mine", "me")
    for id in "abcdef":
        finish(store, id, "busy", "cancelled")
    assert kept(store) == ["f", "e", "mine"]


def test_a_full_disk_is_told_as_such_and_passes(store):
    """What SQLite rolls back by itself is not rolled back again, and all goes on."""
    (pages,) = store._writer.execute("PRAGMA page_count").fetchone()
    store._writer.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.add(listing("a"), "me", "x" * 10**6, "waiting")
    store._writer.execute(f"PRAGMA max_page_count = {10**6}")
    store.add(listing("a"), "me", "x" * 10**6, "waiting")
    assert kept(store) == ["a"]


def test_what_was_in_the_making_waits_again(store):
    """A plan that a dead server had begun waits, and it is known that it was begun."""
    store.add(listing("a"), "me", "instance", "waiting")
    store.begin("a")
    store.requeue()
    assert store.newest(9)[0].status == "queued"
    assert [plan.begun for plan in store.unfinished()] == [1]


@needs_modes
def test_the_data_folder_is_the_users_alone(store, tmp_path):
    """Nobody else on the machine may read the plans."""
    assert (tmp_path / "new" / "folder").stat().st_mode & 0o077 == 0


@needs_modes
def test_files_in_an_open_folder_are_the_users_alone(tmp_path):
    """Where others may look into the folder, they cannot read what is in it."""
    tmp_path.chmod(0o755)
    Store(tmp_path, keep=3).close()
    (tmp_path / "plans.sqlite").chmod(0o644)
    store = Store(tmp_path, keep=3)
    store.add(listing("a"), "me", "instance", "waiting")
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    store.close()
    assert modes.keys() >= {"lock", "plans.sqlite", "plans.sqlite-wal"}
    assert set(modes.values()) == {0o600}


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    """A data folder that cannot be made is one sentence."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot be used as a data folder"):
        Store(tmp_path / "file", keep=3)


def test_fewer_plans_to_keep_are_taken_from_all_alike(tmp_path):
    """Where the limit was lowered, each client's newest plans stay."""
    store = Store(tmp_path, keep=99)
    for i in range(9):
        finish(store, f"{i}", "first" if i < 5 else "second")
    store.close()
    store = Store(tmp_path, keep=4)
    finish(store, "last", "third")
    assert kept(store) == ["last", "8", "7", "4"]
    store.close()
