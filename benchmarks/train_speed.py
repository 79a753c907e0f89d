"""
Measure the speed of training: seconds per epoch, memory, FLOP/s of the paper's presets.

    python benchmarks/train_speed.py --labels FOLDER [--presets paper20 …]
                                     [--profile FILE]

FOLDER has vrp20_….npz, vrp50_….npz and vrp100_….npz. A time is that of a whole step,
with loading data, assignment and update, after compilation. With --profile FILE, the
kernels of five steps of each preset are written to FILE, the slowest first.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from fixedfleet.model import Network
from fixedfleet.training import Preset, get_preset
from fixedfleet.training.assignment import assign
from fixedfleet.training.step import Stepper
from fixedfleet.training.training_data import (
    Bucket,
    TrainingBatch,
    read_labels,
    to_tensors,
)
from fixedfleet.version import installed_versions

if TYPE_CHECKING:
    from collections.abc import Callable

PROFILED_STEPS = 5
PEAK = 790e12  # bf16 FLOP/s of an H200, measured on large matrices
EPOCH = 100_000  # labels
PRESETS = ["paper20", "paper50", "paper100"]


def measure(
    preset: Preset, data: TrainingBatch, seconds: float, table: Path | None = None
) -> dict[str, object]:
    """
    Return the row of a preset: the time of its steps on a dataset, memory and FLOP/s.

    ``table`` is the file for the profile of a few steps.
    """
    device, vehicles = data.routes.device, data.features.vehicles.shape[1]
    torch.manual_seed(0)
    network = Network(preset.model).to(device)
    size = preset.training.batch_size
    flops = _flops(network, data, size)
    begin = time.perf_counter()
    bucket = Bucket(data, size, "")
    stepper = Stepper(network, [bucket], preset.loss, preset.training)
    stepper.prepare()
    compiled = time.perf_counter() - begin

    def advance() -> None:
        stepper.step(0, _rows(data, size), _codes(data, size), 1e-5)

    step = _time(advance, seconds)
    if table is not None:
        with table.open("a", encoding="utf-8") as file:
            file.write(f"{preset.name}, M = {vehicles}\n{_profile(advance)}\n")
    cost = torch.rand(size, vehicles, vehicles, device=device)
    alone = _time(lambda: assign(cost), seconds / 5)
    # The memory of a captured step belongs to its CUDA graph. PyTorch counts it as
    # reserved, not as allocated.
    on_gpu = device.type == "cuda"
    peak = torch.cuda.max_memory_reserved(device) if on_gpu else 0
    return {
        "preset": preset.name,
        "device": torch.cuda.get_device_name(device) if on_gpu else "cpu",
        "M": vehicles,
        "batch": size,
        "epoch_s": round(step * EPOCH / size, 3),
        "step_ms": round(1e3 * step, 3),
        "assignment_ms": round(1e3 * alone, 3),
        "assignment_share": round(alone / step, 4),
        "tflops": round(flops / step / 1e12, 1),
        "share_of_peak": round(flops / step / PEAK, 4),
        "peak_GiB": round(peak / 2**30, 2),
        "compile_s": round(compiled, 1),
        "loss": float(stepper.sums[0] / max(1, int(stepper.step_number))),
        "versions": installed_versions(),
    }


def _rows(data: TrainingBatch, size: int) -> torch.Tensor:
    return torch.randint(len(data.routes), (size,), device=data.routes.device)


def _codes(data: TrainingBatch, size: int) -> torch.Tensor:
    return torch.randint(8, (size,), device=data.routes.device)


def _profile(action: Callable[[], None]) -> str:
    """Return a table of the kernels of a few steps, by their total time."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(PROFILED_STEPS):
            action()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    order = f"self_{'cuda' if torch.cuda.is_available() else 'cpu'}_time_total"
    return profile.key_averages().table(
        sort_by=order, row_limit=60, max_name_column_width=110
    )


def _flops(network: Network, data: TrainingBatch, size: int) -> float:
    """
    Return the floating-point operations of the matrix products in a step.

    Forward and backward pass together count as three forward passes.
    """
    few = min(size, 8)
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        network(data.take(torch.arange(few, device=data.routes.device)).features)
    return 3 * counter.get_total_flops() * size / few


def _time(action: Callable[[], object], seconds: float) -> float:
    """
    Return the mean time of an action in seconds.

    The clock is read only after the device has finished its work.
    """

    def wait() -> float:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter()

    for _ in range(3):
        action()
    begin, count = wait(), 0
    while time.perf_counter() - begin < seconds or count < 3:
        for _ in range(10):
            action()
        count += 10
        wait()
    return (wait() - begin) / count


def main() -> None:
    """Measure, and print one JSON line per preset."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=Path, required=True)
    parser.add_argument("--presets", nargs="+", default=PRESETS)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--limit", type=int, default=20_000)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--fleet", type=int, help="more vehicles, such as 50")
    parser.add_argument("--profile", type=Path, help="file for the tables of kernels")
    options = parser.parse_args()
    if options.profile:
        options.profile.write_text("", encoding="utf-8")
    for name in options.presets:
        preset = get_preset(name)
        (path,) = options.labels.glob(f"vrp{preset.customers}_*.npz")
        ((instances, plans),) = read_labels(path)
        instances, plans = instances[: options.limit], plans[: options.limit]
        if options.fleet:
            fleets = np.full(len(instances), options.fleet)
            instances = instances.with_vehicles(fleets)
        data = to_tensors(instances, plans, options.device)
        row = measure(preset, data, options.seconds, options.profile)
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
