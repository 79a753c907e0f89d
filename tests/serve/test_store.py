"""The store keeps what is finished, and finds again what is not."""

from __future__ import annotations

import sqlite3
import sys

import pytest

from fixedfleet.errors import InputError
from fixedfleet.serve.schema import PlanListing
from fixedfleet.serve.store import PlanStore

needs_modes = pytest.mark.skipif(sys.platform == "win32", reason="needs modes")


def listing(id):
    """The listing of a plan that waits."""
    return PlanListing(
        id=id,
        name=f"name of {id}",
        status="queued",
        created="now",
        customers=3,
        vehicles=2,
        cost=None,
        unit="km",
    )


@pytest.fixture
def store(tmp_path):
    """An empty store that keeps three plans."""
    store = PlanStore(tmp_path / "new" / "folder", keep=3)
    yield store
    store.close()


def test_the_next_server_finds_finished_plans(store, tmp_path):
    """A finished plan can be read by the next server that opens the folder."""
    store.add(listing("a"), "me", "instance", "waiting")
    store.begin("a")
    store.finish("a", "done", 12.5, "document")
    store.close()
    again = PlanStore(tmp_path / "new" / "folder", keep=3)
    assert again.plan("a") == ("done", "document")
    assert again.instance("a") == "instance"
    assert again.newest(5)[0].cost == 12.5
    assert again.take_over() == []
    again.close()


def test_changed_tours_are_kept_with_the_plan(store):
    """The rest of the plan stays as it was, and the list has the new cost."""
    store.add(listing("a"), "me", "instance", "waiting")
    store.finish("a", "done", 12.5, '{"id":"a","result":7}')
    assert store.keep_edit("a", 13.5, '{"tours":[[1,2]],"revision":1}', 0)
    document = '{"id":"a","result":7,"edited":{"tours":[[1,2]],"revision":1}}'
    assert store.plan("a") == ("done", document)
    assert (store.newest(5)[0].cost, store.newest(5)[0].unit) == (13.5, "km")
    assert not store.keep_edit("b", 1.0, "{}", 0)
    # Somebody who has not seen this change does not overwrite it.
    assert not store.keep_edit("a", 1.0, '{"tours":[],"revision":1}', 0)
    assert store.plan("a") == ("done", document)
    assert store.keep_edit("a", 1.0, '{"tours":[],"revision":2}', 1)


def test_unfinished_plans_are_found_in_order(store):
    """Plans that wait or are running are found again, oldest first."""
    for id in "abc":
        store.add(listing(id), "me", "instance", "waiting")
    store.begin("a")
    store.finish("b", "failed", None, "document")
    store.requeue_running()
    left = store.take_over()
    assert [(plan.id, plan.deaths) for plan in left] == [("a", 0), ("c", 0)]


def test_the_oldest_finished_plans_are_deleted(store):
    """The oldest plans beyond those to keep are deleted; one that waits stays."""
    store.add(listing("waits"), "me", "instance", "waiting")
    for id in "abcde":
        store.add(listing(id), "me", "instance", "waiting")
        store.finish(id, "done", 1.0, "document")
    assert [plan.id for plan in store.newest(9)] == ["e", "d", "c", "waits"]


def test_a_folder_has_one_server(store, tmp_path):
    """A second server cannot use the folder while the first one does."""
    with pytest.raises(InputError, match="another server uses this data folder"):
        PlanStore(tmp_path / "new" / "folder", keep=3)


def test_a_file_that_is_not_a_store_is_refused(tmp_path):
    """Another file with the store's name is left alone, and the message says so."""
    (tmp_path / "plans.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(InputError, match="cannot be used as a store"):
        PlanStore(tmp_path, keep=3)
    with pytest.raises(InputError, match="cannot be used as a store"):
        PlanStore(tmp_path, keep=3)  # and the folder is not left locked


def test_a_store_of_another_version_is_refused(tmp_path):
    """A store of an older or a newer version is not touched."""
    for version in (2, 99):
        with sqlite3.connect(tmp_path / "plans.sqlite") as database:
            database.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(InputError, match=f"version {version}, but"):
            PlanStore(tmp_path, keep=3)


def test_a_transaction_is_whole_or_nothing(store):
    """A second plan with the same id is refused, and the store still works."""
    store.add(listing("a"), "me", "instance", "waiting")
    with pytest.raises(sqlite3.IntegrityError):
        store.add(listing("a"), "me", "instance", "waiting")
    store.add(listing("b"), "me", "instance", "waiting")
    assert len(store.newest(9)) == 2


def finish(store, id):
    """Add a plan and finish it."""
    store.add(listing(id), "me", "instance", "waiting")
    store.finish(id, "done", 1.0, "document")


def kept(store):
    """The ids of all plans, newest first."""
    return [plan.id for plan in store.newest(99)]


def test_unfinished_plans_do_not_count(store):
    """Plans that wait do not count among the plans that are kept."""
    for id in "abc":
        finish(store, id)
    for id in "uvwxyz":
        store.add(listing(id), "me", "instance", "waiting")
    store.finish("u", "cancelled", None, "document")
    assert set(kept(store)) == set("bcuvwxyz")


def test_the_plan_just_finished_is_never_deleted(store):
    """A plan that took long is kept when it is finished, however old it is."""
    store.add(listing("long"), "me", "instance", "waiting")
    for id in "abc":
        finish(store, id)
    store.finish("long", "done", 1.0, "document")
    assert kept(store) == ["c", "b", "long"]


def test_a_full_disk_is_reported(store):
    """A full disk is reported, and the store works again when there is room."""
    (pages,) = store._writer.execute("PRAGMA page_count").fetchone()
    store._writer.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.add(listing("a"), "me", "x" * 10**6, "waiting")
    store._writer.execute(f"PRAGMA max_page_count = {10**6}")
    store.add(listing("a"), "me", "x" * 10**6, "waiting")
    assert kept(store) == ["a"]


def test_a_running_plan_of_a_dead_server_waits_again(store):
    """A plan that a dead server had begun waits again, and its death is counted."""
    store.add(listing("a"), "me", "instance", "waiting")
    store.begin("a")
    assert [plan.deaths for plan in store.take_over()] == [1]
    assert store.newest(9)[0].status == "queued"


@needs_modes
def test_only_the_user_may_enter_the_data_folder(store, tmp_path):
    """Other users of the machine cannot enter the folder."""
    assert (tmp_path / "new" / "folder").stat().st_mode & 0o077 == 0


@needs_modes
def test_only_the_user_may_read_the_files(tmp_path):
    """In a folder that others may enter, they cannot read the files."""
    tmp_path.chmod(0o755)
    PlanStore(tmp_path, keep=3).close()
    (tmp_path / "plans.sqlite").chmod(0o644)
    store = PlanStore(tmp_path, keep=3)
    store.add(listing("a"), "me", "instance", "waiting")
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    store.close()
    assert modes.keys() >= {"lock", "plans.sqlite", "plans.sqlite-wal"}
    assert set(modes.values()) == {0o600}


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    """A data folder that cannot be made is refused with one sentence."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot be used as a data folder"):
        PlanStore(tmp_path / "file", keep=3)


def test_a_lower_limit_deletes_the_oldest_plans(tmp_path):
    """A server that is to keep fewer plans than before keeps the newest."""
    store = PlanStore(tmp_path, keep=99)
    for i in range(9):
        finish(store, f"{i}")
    store.close()
    store = PlanStore(tmp_path, keep=4)
    finish(store, "last")
    assert kept(store) == ["last", "8", "7", "6"]
    store.close()


def test_nothing_is_left_of_a_deleted_plan(store, tmp_path):
    """Names and telephone numbers are not in any file of the folder any more."""
    secret = "Erika Mustermann 0341 4711"
    store.add(listing("a"), "me", f'{{"names":["{secret}"]}}', "waiting")
    store.finish("a", "done", 1.0, f'{{"names":["{secret}"]}}')
    assert store.forget("a") and not store.forget("a")
    assert store.plan("a") is None
    for path in (tmp_path / "new" / "folder").iterdir():
        assert secret.encode() not in path.read_bytes(), path
