"""Labels read back."""

from __future__ import annotations

import io
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fixedfleet as ff
from fixedfleet.files import write_batch
from fixedfleet.labels import has_labels, label, load_labels


@pytest.fixture
def seeded():
    """A one-file label set of two instances, which its seed stands for.

    No demand is above 9, the capacity, so a vehicle for each customer always does.
    """
    return {
        "routes": np.array([[2, 0, 1, 0], [1, 0, 2, 0]], dtype=np.uint8),
        "labelled": np.array([True, True]),
        "n": 2,
        "capacity": 9,
        "fleet": 2,
        "seed": 7,
        "count": 2,
        "iterations": 10,
    }


@pytest.mark.slow
@pytest.mark.parametrize("size", [20, 50, 100])
def test_published_labels_load(shared, size):
    """A file of routes and a seed gives instances with feasible plans for them."""
    path = shared / "labels" / f"vrp{size}_uniform_seed7.npz"
    batch, plans, labelled = load_labels(path)  # checks every label
    assert labelled.sum() == {20: 149_710, 50: 119_997, 100: 120_000}[size]
    first = np.flatnonzero(labelled)[:1000]
    head = batch[first]
    some = ff.PlanBatch(plans.routes[first])
    assert some.feasible(head).all()
    published = {20: 6.0892, 50: 10.3302, 100: 15.6193}
    assert some.lengths(head).mean() == pytest.approx(published[size], rel=0.02)


def test_a_file_with_a_seed_is_read(seeded, tmp_path):
    """Rows that are not labelled come back empty, the others as they are."""
    seeded["labelled"] = np.array([False, True])
    np.savez(tmp_path / "labels.npz", **seeded)
    batch, plans, labelled = load_labels(tmp_path / "labels.npz")
    assert len(batch) == 2
    assert list(plans) == [ff.Plan([]), ff.Plan([[1], [2]])]
    assert labelled.tolist() == [False, True]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"routes": np.array([[2, 0, 1], [1, 0, 0]])},
            "row 1 is infeasible: customer",
        ),
        ({"routes": np.array([[2, 9, 0], [1, 0, 2]])}, r"routes\[0\] names a customer"),
        (
            {"routes": np.array([[2.0, 1], [1, 2]])},
            "'routes' holds float64, not whole numbers",
        ),
        ({"count": 10**12}, "2 rows of routes for a count of 1000000000000"),
        ({"n": 10**9}, "too short a row for 1000000000 customers"),
        ({"n": 2.5}, "'n' holds float64, not whole numbers"),
        ({"labelled": np.array([1, 1])}, "'labelled' holds int64, not true or false"),
        ({"labelled": np.array([True])}, r"'labelled' has shape \(1,\)"),
    ],
)
def test_a_wrong_file_is_refused(seeded, tmp_path, changes, message):
    """A file whose labels do not hold, or whose numbers do not fit, is refused."""
    np.savez(tmp_path / "labels.npz", **(seeded | changes))
    with pytest.raises(ff.InputError, match=message):
        load_labels(tmp_path / "labels.npz")


def test_what_is_not_labels_is_refused(seeded, tmp_path):
    """Nothing there, an empty folder, an npz of something else: each is named."""
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_labels(tmp_path / "nowhere.npz")
    with pytest.raises(ff.InputError, match="holds no labels"):
        load_labels(tmp_path)
    del seeded["labelled"]
    np.savez(tmp_path / "a.npz", **seeded)
    with pytest.raises(ff.InputError, match="no array 'labelled'"):
        load_labels(tmp_path / "a.npz")


def test_whether_a_file_has_labels_is_told_without_an_error(seeded, tmp_path):
    """An npz file of routes has labels; junk, other arrays and other files have not."""
    np.savez(tmp_path / "labels.npz", **seeded)
    for name in ("LABELS.NPZ", "labels.zip"):
        shutil.copy(tmp_path / "labels.npz", tmp_path / name)
    np.savez(tmp_path / "other.npz", demands=[1, 2])
    (tmp_path / "junk.npz").write_bytes(b"PK is how a zip file begins")
    found = {file.name for file in tmp_path.iterdir() if has_labels(file)}
    assert found == {"labels.npz", "LABELS.NPZ"}
    assert not has_labels(tmp_path)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_junk_never_gets_through(tmp_path_factory, data):
    """Bytes that are no labels, or labels cut short, are refused in one line."""
    whole = io.BytesIO()
    np.savez(whole, routes=np.ones((2, 3), dtype=np.uint8), labelled=np.ones(2, bool))
    content = whole.getvalue()
    junk = data.draw(
        st.binary(max_size=200)
        | st.integers(0, len(content) - 1).map(lambda size: content[:size])
        | st.integers(0, 300).map(lambda i: content[:i] + b"\xff" + content[i + 1 :])
    )
    path = tmp_path_factory.mktemp("junk") / "labels.npz"
    path.write_bytes(junk)
    with pytest.raises(ff.InputError) as caught:
        load_labels(path)
    assert "\n" not in str(caught.value)


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of a finished folder, to be spoilt."""
    return shutil.copytree(finished, tmp_path / "labels")


def test_an_unfinished_folder_gives_what_it_has(folder):
    """Rows of shards that are not there yet are unlabelled."""
    (folder / "shard-00001.npz").unlink()
    _, plans, labelled = load_labels(folder)
    assert np.flatnonzero(~labelled).tolist() == [4, 5, 6, 7]
    assert len(plans) == 12


def test_shards_record_seconds_and_status(folder):
    """A shard holds, for each of its rows, the route, the status and the time taken."""
    with np.load(folder / "shard-00002.npz") as shard:
        assert shard["routes"].dtype == np.uint8
        assert shard["labelled"].tolist() == [True] * 4
        assert shard["status"].tolist() == [0] * 4
        assert (shard["seconds"] > 0).all()
        assert shard["first"] == 8


def test_a_spoilt_folder_is_refused(folder, methods):
    """A cut shard, a shard in another's place, other instances: each is named."""
    second = folder / "shard-00001.npz"
    content = second.read_bytes()
    second.write_bytes(content[:100])
    with pytest.raises(ff.InputError, match=r"shard-00001\.npz: not an npz file"):
        load_labels(folder)
    with pytest.raises(ff.InputError, match=r"shard-00001\.npz: not an npz file"):
        label(methods.make_batch(), folder, method=methods.NearestFirst())
    second.write_bytes((folder / "shard-00000.npz").read_bytes())
    with pytest.raises(ff.InputError, match="not rows 4 to 7; delete it"):
        load_labels(folder)
    second.write_bytes(content)
    write_batch(folder / "instances.npz", methods.make_batch(seed=8))
    with pytest.raises(ff.InputError, match="other instances than manifest"):
        load_labels(folder)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 99}'])
def test_a_spoilt_manifest_is_refused(folder, text):
    """A manifest that is none is refused with the file's name."""
    (folder / "manifest.json").write_text(text)
    with pytest.raises(ff.InputError, match=r"manifest\.json"):
        load_labels(folder)
