"""Tests of the quick and the exact packings."""

from __future__ import annotations

import math
import signal
from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fixedfleet as ff
from fixedfleet.deadline import Deadline
from fixedfleet.fleet import exact_packing
from fixedfleet.fleet.exact_packing import pack_exactly
from fixedfleet.fleet.packing import best_fit, best_fit_batch, fill

# Demands with hardly two equal sums.
FINE = [
    [380_000_000_001, 310_000_000_007, 309_999_999_991],
    [420_000_000_003, 290_000_000_011, 289_999_999_987],
]


@st.composite
def loads(draw):
    capacity = draw(st.integers(1, 40))
    sizes = draw(st.lists(st.integers(1, capacity), min_size=1, max_size=9))
    return sizes, capacity


def is_packing(packing, sizes, capacity):
    inside = all(vehicle and sum(vehicle) <= capacity for vehicle in packing)
    return inside and sorted(s for v in packing for s in v) == sorted(sizes)


@given(loads(), st.integers(0, 5))
@settings(deadline=None, max_examples=100)
def test_quick_packings_hold_every_demand_once(case, seed):
    """Quick packings carry every demand once and overload no vehicle."""
    assert is_packing(best_fit(*case), *case)
    assert is_packing(fill(*case), *case)
    assert is_packing(fill(*case, Random(seed)), *case)


def test_filling_refuses_what_would_take_too_long():
    """Filling gives up if the capacity has too many units."""
    assert fill([10**11] * 10, 10**12) is None


def begins(sizes, capacity):
    """Whether filling begins; it ends at once, because it is asked to stop."""
    asked = []
    fill(sizes, capacity, deadline=Deadline(stop=lambda: asked.append(1) or True))
    return bool(asked)


def test_filling_has_a_limit_of_memory():
    """The sums of four demands may take 2**28 bits each; those of five may not."""
    assert begins([1] * 4, 2**28)
    assert not begins([1] * 5, 2**28)


def test_filling_has_a_limit_of_work():
    """Demands times vehicles times blocks of 4,096 units are at most five million."""
    full = 999 * 4096  # 1,000 blocks

    def begins_with(halves, crumbs, capacity):
        return begins([capacity // 2] * halves + [2] * crumbs, capacity)

    assert begins_with(98, 2, full)  # 100 demands, 50 vehicles
    assert begins_with(98, 2, full + 4095)
    assert not begins_with(98, 2, full + 4096)  # 1,001 blocks
    assert not begins_with(98, 3, full)  # 101 demands
    assert not begins_with(100, 0, full)  # 51 vehicles


@pytest.mark.slow
def test_exact_packing_agrees_with_brute_force(fewest):
    """Demands are packed into the fewest vehicles; fewer are proven not to suffice."""
    rng = Random(5)
    for _ in range(25):
        capacity = rng.randint(10, 40)
        sizes = [rng.randint(1, capacity) for _ in range(rng.randint(4, 9))]
        needed = fewest(sizes, capacity)
        for vehicles in range(1, needed + 2):
            answer = pack_exactly(sizes, capacity, vehicles, Deadline(20))
            if vehicles < needed:
                assert answer == "impossible"
            else:
                assert len(answer) <= vehicles
                assert is_packing(answer, sizes, capacity)


def test_exact_packing_of_amounts_of_thirteen_digits():
    """Amounts of a million million units are packed exactly, to the last unit."""
    sizes = [size for vehicle in FINE for size in vehicle]
    capacity = max(map(sum, FINE))
    assert is_packing(pack_exactly(sizes, capacity, 2, Deadline(20)), sizes, capacity)
    assert pack_exactly(sizes, capacity - 1, 2, Deadline(20)) == "impossible"


def test_exact_packing_loads_nothing_outside_a_vehicle():
    """Demands that sum to more than the fleet carries do not fit in part of a path."""
    sizes = [2, 2, 2, 2, 1, 1]
    assert pack_exactly(sizes, 4, 2, Deadline(20)) == "impossible"
    assert is_packing(pack_exactly(sizes, 4, 3, Deadline(20)), sizes, 4)


def test_exact_packing_of_amounts_beyond_64_bits():
    """Amounts whose sums exceed an int64 give no error and no wrong answer."""
    sizes = [size * 2**40 + 1 for vehicle in FINE for size in vehicle]
    answer = pack_exactly(sizes, max(map(sum, FINE)) * 2**40, 2, Deadline(20))
    assert answer == "impossible"
    assert pack_exactly([2**62] * 5, 2**63, 2, Deadline(20)) == "impossible"


@pytest.mark.slow
def test_exact_packing_ends_at_its_limit():
    """Without time, or with too many possible loads, the answer is undecided."""
    assert pack_exactly([3, 3, 4, 5, 5], 10, 2, Deadline(0)) == "undecided"
    rng = Random(1)
    sizes = [rng.randrange(10**11, 4 * 10**11) for _ in range(1000)]
    assert pack_exactly(sizes, 10**12, 250, Deadline(60)) == "undecided"


def test_exact_packing_is_deterministic():
    """The same demands give the same packing."""
    rng = Random(3)
    sizes = [rng.randint(20, 60) for _ in range(40)]
    first, second = (pack_exactly(sizes, 150, 12, Deadline(20)) for _ in range(2))
    assert first == second != "undecided"


def test_best_fit_opens_a_vehicle_only_when_it_must():
    """Each demand goes where it leaves the least room."""
    batch = ff.InstanceBatch(
        depots=np.zeros((3, 2)),
        customers=np.zeros((3, 4, 2)),
        demands=[[5, 4, 3, 3], [6, 6, 6, 0], [8, 0, 0, 0]],
        capacity=[8, 6, 8],
        vehicles=[3, 2, 1],
        sizes=[4, 4, 2],
    )
    plans, packed = best_fit_batch(batch)
    assert packed.tolist() == [True, False, True]
    assert plans[0].tours == ((1, 3), (2, 4))
    assert plans[2].tours == ((1, 2),)


def test_best_fit_takes_customers_that_demand_nothing():
    """One empty vehicle is enough for them; they do not open another one."""
    batch = ff.InstanceBatch(
        depots=np.zeros((2, 2)),
        customers=np.zeros((2, 3, 2)),
        demands=[[0, 0, 0], [0, 8, 0]],
        capacity=[8, 8],
        vehicles=[1, 2],
    )
    plans, packed = best_fit_batch(batch)
    assert packed.tolist() == [True, True]
    assert [plan.tours for plan in plans] == [((1, 2, 3),)] * 2


def test_exact_packing_does_not_begin_without_time_for_its_model(monkeypatch):
    """With less time than building the model takes, nothing is built."""
    sizes = [7, 6, 10, 11, 5, 7, 7, 5, 6, 10, 11, 10]
    steps = len(exact_packing._arcs(Counter(sorted(sizes, reverse=True)), 24))
    assert steps > 10
    monkeypatch.setattr(exact_packing, "load", lambda: pytest.fail("it was loaded"))
    left = Deadline(steps * 1e-5, clock=lambda: 0.0)
    assert pack_exactly(sizes, 24, 4, left) == "undecided"


def test_exact_packing_has_a_limit_of_steps(monkeypatch):
    """Demands with more possible steps than the limit are not packed exactly."""
    counts = {11: 2, 10: 3, 7: 3, 6: 2, 5: 2}
    steps = len(exact_packing._arcs(counts, 24))
    monkeypatch.setattr(exact_packing, "_MOST_ARCS", steps)
    assert len(exact_packing._arcs(counts, 24)) == steps
    monkeypatch.setattr(exact_packing, "_MOST_ARCS", steps - 1)
    assert exact_packing._arcs(counts, 24) is None


def test_exact_packing_has_one_worker_and_the_time_left(monkeypatch):
    """CP-SAT runs on one core with a seed, or the packing would be up to chance."""
    solvers = []
    cp = exact_packing.load()

    class Solver(cp.CpSolver):
        def __init__(self):
            super().__init__()
            solvers.append(self)

    monkeypatch.setattr(cp, "CpSolver", Solver)
    for seconds in (50.0, math.inf):
        left = Deadline(seconds, clock=lambda: 0.0)
        assert pack_exactly([3, 3, 4, 5, 5], 10, 2, left) == [[5, 5], [4, 3, 3]]
    told = [solver.parameters for solver in solvers]
    assert [one.max_time_in_seconds for one in told] == [50.0, 1_000_000]
    assert {(one.num_workers, one.random_seed) for one in told} == {(1, 0)}


def hard_to_pack() -> list[int]:
    """Demands that CP-SAT cannot pack into vehicles of 1,000 at once."""
    rng = np.random.default_rng(5)
    return rng.integers(150, 500, size=120).tolist()


def test_exact_packing_ends_when_it_is_stopped():
    """A user's stop ends CP-SAT long before its limit."""
    sizes, asked = hard_to_pack(), []
    fewest = -(-sum(sizes) // 1000)

    def stop():
        asked.append(None)
        return len(asked) > 5

    assert pack_exactly(sizes, 1000, fewest, Deadline(10_000, stop=stop)) == "undecided"


def test_ctrl_c_is_noticed_after_an_exact_packing():
    """CP-SAT would leave a handler behind that Python does not know."""
    handler = signal.getsignal(signal.SIGINT)
    pack_exactly([3, 3, 4], 10, 1, Deadline(20))
    assert signal.getsignal(signal.SIGINT) == handler
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
