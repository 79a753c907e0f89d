"""Data sets of the field: RL4CO's, POMO's and LEHD's files, and divided demands."""

from __future__ import annotations

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.files import read_batch, write_batch


@pytest.fixture
def batch():
    """Five instances of 20 customers with capacity 30 and four vehicles."""
    return ff.generate.uniform(20, 5, seed=3)


@pytest.fixture
def plans(batch):
    """A feasible plan of each instance."""
    return ff.solve_batch(batch, search="none", cores=1).plans


def same(one: ff.InstanceBatch, two: ff.InstanceBatch, digits: int = 12) -> bool:
    """Whether two batches hold the same instances, with coordinates of some digits."""
    names = ("demands", "capacity", "vehicles")
    places = zip((one.depots, one.customers), (two.depots, two.customers), strict=True)
    return all(np.array_equal(getattr(one, n), getattr(two, n)) for n in names) and all(
        np.allclose(a, b, atol=10.0**-digits) for a, b in places
    )


@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize("depot", [True, False])
@pytest.mark.parametrize("capacity", ["row", "column", None])
def test_rl4co_files_are_read(batch, tmp_path, divided, depot, capacity):
    """Arrays by RL4CO's names are a batch, with whole or divided demands."""
    arrays = {"demand": batch.demands, "locs": batch.customers, "depot": batch.depots}
    if not depot:
        del arrays["depot"]
        points = (batch.depots[:, None], batch.customers)
        arrays["locs"] = np.concatenate(points, axis=1)
    if divided:
        arrays["demand"] = (batch.demands / 30).astype(np.float32)
    if capacity:
        shape = (-1,) if capacity == "row" else (-1, 1)
        arrays["capacity"] = batch.capacity.astype(np.float32).reshape(shape)
    np.savez(tmp_path / "a.npz", **arrays)
    if capacity is None and not divided:
        with pytest.raises(ff.InputError, match="in the file: give capacity="):
            read_batch(tmp_path / "a.npz", 4)
        assert same(read_batch(tmp_path / "a.npz", 4, 30), batch)
    else:
        assert same(read_batch(tmp_path / "a.npz", 4), batch)
    with pytest.raises(ff.InputError, match="give vehicles="):
        read_batch(tmp_path / "a.npz", capacity=30)


def test_divided_demands_are_told(batch, tmp_path, caplog):
    """That fractions are shares of the capacity is said, and a wrong one refused."""
    arrays = {"depots": batch.depots, "customers": batch.customers, "vehicles": 4}
    shares = (batch.demands / 30).astype(np.float32)
    np.savez(tmp_path / "a.npz", demands=shares, **arrays)
    assert same(read_batch(tmp_path / "a.npz"), batch)
    assert "they are read as shares of a capacity" in caplog.text
    assert same(read_batch(tmp_path / "a.npz", capacity=30), batch)
    with pytest.raises(ff.InputError, match="give the right capacity="):
        read_batch(tmp_path / "a.npz", capacity=31)
    np.savez(
        tmp_path / "b.npz", demands=np.random.default_rng(1).random((5, 20)), **arrays
    )
    with pytest.raises(ff.InputError, match="fractions of an unknown capacity"):
        read_batch(tmp_path / "b.npz")


def test_pomo_files_are_read_and_written(batch, tmp_path):
    """Tensors by POMO's names come back, in 32 bits and with divided demands."""
    torch = pytest.importorskip("torch")
    path = tmp_path / "a.pt"
    write_batch(path, batch)
    found = torch.load(path, weights_only=True)
    assert found["depot_xy"].shape == (5, 1, 2)
    assert found["node_demand"].max() <= 1
    assert same(read_batch(path, 4), batch, digits=6)
    with pytest.raises(ff.InputError, match="give vehicles="):
        read_batch(path)


@pytest.mark.parametrize("content", [b"junk", "list", "code"])
def test_other_files_of_torch_are_refused(tmp_path, content):
    """A broken file, other tensors and code are refused in one line."""
    torch = pytest.importorskip("torch")
    path = tmp_path / "a.pt"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        torch.save([1] if content == "list" else {"node_xy": ff.Plan}, path)
    with pytest.raises(ff.InputError, match=r"not a \w+ of tensors") as said:
        read_batch(path, 4)
    assert "\n" not in str(said.value)


def _line(instance: ff.Instance, *, of_depot: bool) -> str:
    """An instance as LEHD writes it, with a plan."""
    numbers = [int(q) for q in instance.demands]
    parts = ["depot", *instance.depot, "customer", *instance.customers.ravel()]
    parts += [
        "capacity",
        float(instance.capacity),
        "demand",
        *([0] * of_depot),
        *numbers,
    ]
    parts += ["cost", 6.1, "node_flag", *range(1, 21), *([1] + [0] * 19)]
    return ",".join(map(str, parts))


@pytest.mark.parametrize("of_depot", [False, True])
def test_lehd_files_are_read(batch, tmp_path, of_depot):
    """Lines of words and numbers are a batch, whether or not the depot has a demand."""
    path = tmp_path / "a.txt"
    lines = [_line(one, of_depot=of_depot) for one in batch]
    path.write_text("\n".join(lines) + "\n")
    assert same(read_batch(path, 4), batch)
    path.write_text(lines[0])
    assert same(read_batch(path, 4), batch[:1])


def test_lehd_files_are_written_with_plans(batch, plans, tmp_path):
    """The customers of all tours in order, then a 1 for the first of each tour."""
    path = tmp_path / "a.txt"
    write_batch(path, batch, plans)
    assert same(read_batch(path, 4), batch)
    for line, plan, instance in zip(path.open(), plans, batch, strict=True):
        words = line.split(",")
        cost, flags = words.index("cost"), words.index("node_flag")
        assert float(words[cost + 1]) == pytest.approx(plan.length(instance))
        numbers = [int(word) for word in words[flags + 1 :]]
        tours: list[list[int]] = []
        for customer, first in zip(numbers[:20], numbers[20:], strict=True):
            tours += [[]] * first
            tours[-1] = [*tours[-1], customer]
        assert tours == [list(tour) for tour in plan.tours]
    with pytest.raises(ff.InputError, match=r"a plan of each instance: give plans="):
        write_batch(path, batch)


def test_rl4co_files_are_written_in_its_types(batch, plans, tmp_path):
    """RL4CO's networks compute in 32 bits; actions are indices, rewards negative."""
    path = tmp_path / "a.rl4co.npz"
    write_batch(path, batch)
    assert same(read_batch(path, 4), batch, digits=6)
    with np.load(path) as arrays:
        assert {*arrays} == {"depot", "locs", "demand", "capacity"}
        assert {array.dtype for array in arrays.values()} == {np.dtype("float32")}
        assert arrays["capacity"].shape == (5,)
    write_batch(path, batch, plans)
    assert same(read_batch(path, 4), batch, digits=6)
    with np.load(path) as arrays:
        assert arrays["actions"].dtype == np.int64
        assert ff.PlanBatch(arrays["actions"]).feasible(batch).all()
        assert arrays["reward"] == pytest.approx(-plans.lengths(batch))


def test_plans_that_a_file_cannot_hold_are_refused(batch, plans, tmp_path):
    """A format without plans, too few plans and an infeasible one are named."""
    with pytest.raises(ff.InputError, match=r"no plans: write \.rl4co\.npz or \.txt"):
        write_batch(tmp_path / "a.npz", batch, plans)
    with pytest.raises(ff.InputError, match="4 plans for 5 instances"):
        write_batch(tmp_path / "a.txt", batch, plans[:4])
    wrong = plans.replace([3], ff.PlanBatch([[1, 2, 3]]))
    with pytest.raises(ff.InputError, match="plan 3: "):
        write_batch(tmp_path / "a.txt", batch, wrong)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "the file is empty"),
        ("a table, of something", "line 1: not an instance with depot, customer"),
        (
            "depot,0,0,customer,1,x,capacity,9,demand,1,cost,1",
            "line 1: not an instance",
        ),
        (
            "depot,0,0,customer,1,1,capacity,9,demand,1,2,cost,1",
            "2 coordinates of depot",
        ),
        (
            "GOOD\ndepot,0,0,customer,1,1,capacity,9,demand,1,cost,1",
            "line 2: 1 customers",
        ),
    ],
)
def test_other_texts_are_refused(batch, tmp_path, line, said):
    """What is no line of LEHD's is told with its number."""
    path = tmp_path / "a.txt"
    path.write_text(line.replace("GOOD", _line(batch[0], of_depot=True)))
    with pytest.raises(ff.InputError) as caught:
        read_batch(path, 4)
    assert said in str(caught.value)
