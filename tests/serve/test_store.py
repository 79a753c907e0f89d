"""The store: what is finished stays, what is not is put right."""

from __future__ import annotations

import sqlite3

import pytest

from fixedfleet.errors import InputError
from fixedfleet.serve.store import Listing, Store


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


def test_the_data_folder_is_the_users_alone(store, tmp_path):
    """Nobody else on the machine may read the plans."""
    assert (tmp_path / "new" / "folder").stat().st_mode & 0o077 == 0
