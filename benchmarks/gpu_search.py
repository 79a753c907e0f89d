"""Plans a second and gap of the GPU search on the rejection-sampled test sets.

    python benchmarks/gpu_search.py --reference FOLDER [--sizes 20 50 100]

Each row is one call of ``improve_batch`` for all instances of the set at once: its
wall time includes packing the arrays, both transfers and the host's checks, but not
the compilation (a first short call does that) nor the making of the starts, which are
packings. The gap is to the plans in ``ref_vrp{N}_cost.npz``, over their instances.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.files import read_reference
from fixedfleet.search.gpu import GpuParameters, improve_batch

ITERATIONS = {
    20: (3_000, 6_000, 10_000),
    50: (10_000, 30_000, 60_000),
    100: (10_000, 30_000, 130_000, 400_000),
}


def test_set(n: int) -> tuple[ff.InstanceBatch, np.ndarray]:
    """Return the test instances with Σq ≤ MQ, and their rows among all 10,000."""
    batch = generate.test_set(n, reject=False)
    rows = np.flatnonzero(batch.demands.sum(1) <= batch.vehicles * batch.capacity)
    return batch.take(rows), rows


def pack(batch: ff.InstanceBatch) -> tuple[ff.PlanBatch, np.ndarray]:
    """Pack each instance's customers into its fleet; also return where that failed."""
    assigned = best_fit(batch, batch.demands.astype(float))
    rng = np.random.default_rng(0)
    for _ in range(200):  # the few that are left, with demands in another order
        left = np.flatnonzero((assigned < 0).any(axis=1))
        if not len(left):
            break
        noise = rng.normal(0.0, 1.0, size=(len(left), batch.num_customers))
        assigned[left] = best_fit(batch.take(left), batch.demands[left] + noise)
    packed = (assigned >= 0).all(axis=1)
    width = batch.num_customers + int(batch.vehicles.max())
    routes = np.zeros((len(batch), width), dtype=np.int64)
    for row in np.flatnonzero(packed):
        tours = [np.flatnonzero(assigned[row] == k) + 1 for k in range(width)]
        plan = ff.Plan(tour for tour in tours if len(tour))
        routes[row] = plan.to_routes(width)
    return ff.PlanBatch(routes), packed


def best_fit(batch: ff.InstanceBatch, keys: np.ndarray) -> np.ndarray:
    """Vehicle of each customer by best fit in falling order of the keys, or -1."""
    most = int(batch.vehicles.max())
    room = np.where(
        np.arange(most) < batch.vehicles[:, None], batch.capacity[:, None], -1
    )
    assigned = np.full(batch.demands.shape, -1)
    everyone = np.arange(len(batch))
    for customer in np.argsort(-keys, axis=1, kind="stable").T:
        demand = batch.demands[everyone, customer][:, None]
        left = np.where(room >= demand, room - demand, np.iinfo(np.int64).max)
        vehicle = left.argmin(axis=1)
        fits = (room >= demand).any(axis=1)
        room[everyone[fits], vehicle[fits]] -= demand[fits, 0]
        assigned[everyone[fits], customer[fits]] = vehicle[fits]
    return assigned


def reference_lengths(
    folder: Path, n: int, batch: ff.InstanceBatch, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Positions in the batch of the reference's instances, and their plans' lengths."""
    file = read_reference(folder / f"ref_vrp{n}_cost.npz")
    positions = np.searchsorted(rows, file.index)
    instances = batch.take(positions)
    plans = ff.PlanBatch(file.routes)
    if not (rows[positions] == file.index).all() or not plans.feasible(instances).all():
        raise ff.InputError(f"the reference in {folder} is for other instances")
    return positions, plans.lengths(instances)


def report(
    n: int, folder: Path, iterations: tuple[int, ...], parameters: GpuParameters
) -> None:
    """Print the table of one size."""
    batch, rows = test_set(n)
    starts, packed = pack(batch)
    batch, rows, starts = (
        batch.take(packed), rows[packed], ff.PlanBatch(starts.routes[packed])
    )  # fmt: skip
    positions, reference = reference_lengths(folder, n, batch, rows)
    improve_batch(batch, starts, iterations=10, parameters=parameters)
    print(f"\nVRP{n}: {len(batch)} instances ({(~packed).sum()} not packed)")
    print(f"{parameters}")
    print("| iterations | wall s | plans/s | mean length | mean vehicles | gap % |")
    print("| --- | --- | --- | --- | --- | --- |")
    for count in iterations:
        begin = time.perf_counter()
        plans = improve_batch(batch, starts, iterations=count, parameters=parameters)
        wall = time.perf_counter() - begin
        if not plans.feasible(batch).all():
            raise RuntimeError("infeasible plans")
        lengths = plans.lengths(batch)
        gap = 100 * (lengths[positions].mean() / reference.mean() - 1)
        print(
            f"| {count:,} | {wall:.3f} | {len(batch) / wall:,.0f} | "
            f"{lengths.mean():.4f} | {plans.vehicles().mean():.3f} | {gap:.3f} |",
            flush=True,
        )


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--iterations", type=int, nargs="+")
    arguments = parser.parse_args(argv)
    for n in arguments.sizes:
        iterations = tuple(arguments.iterations or ITERATIONS[n])
        report(n, arguments.reference, iterations, GpuParameters())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
