"""The kernel that decodes memberships: emulated, and on a GPU."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

from fixedfleet import compiling, generate
from fixedfleet.planning import membership, membership_kernel, predict

HERE = Path(__file__).parent
KERNEL = HERE.parents[1] / "src" / "fixedfleet" / "planning" / "membership.cu"


def tight(noisy):
    """Predictions of little certainty for fleets that are nearly or more than full."""
    return noisy(12, 5, 24, 26, seed=3)


def inputs(prediction):
    """The inputs of the kernel, and tours on the CPU."""
    value = membership.membership_scores(prediction)
    arrays = membership.member_arrays(prediction, value)
    return arrays, membership.plan_on_cpu(arrays)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to emulate with")
def test_the_kernel_plans_as_the_cpu_does(noisy, tmp_path):
    """Lane by lane, in either order, the kernel finds the tours of the CPU."""
    library = tmp_path / "kernel.so"
    defines = {"KERNEL": f'"{KERNEL}"'} | membership_kernel.DEFINES
    options = [f"-D{name}={value}" for name, value in defines.items()]
    command = ["g++", "-std=c++17", "-O1", "-w", "-ffp-contract=off", "-shared"]
    source = str(HERE / "emulated_membership.cpp")
    command += ["-fPIC", *options, "-o", str(library), source]
    subprocess.run(command, check=True)
    emulate = ctypes.CDLL(str(library)).emulate
    arrays, expected = inputs(tight(noisy))
    count, locations, fleet = arrays[0].shape
    for backwards in (0, 1):
        routes = torch.zeros_like(expected)
        pointers = (array.data_ptr() for array in (*arrays, routes))
        emulate(
            *map(ctypes.c_void_p, pointers),
            *map(ctypes.c_int, (count, locations, fleet, backwards)),
        )
        assert torch.equal(routes, expected)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_plans_as_the_cpu_does():
    """On a GPU, with CuPy, the tours are those of the CPU."""
    pytest.importorskip("cupy")
    mixed = [*generate.uniform(50, 30, seed=3), *generate.uniform(20, 30, seed=3)]
    arrays, expected = inputs(predict(mixed, device="cuda"))
    routes = torch.zeros_like(expected, device="cuda")
    assert membership_kernel.launch(*arrays, routes)
    assert torch.equal(routes.cpu(), expected)


def test_the_cpu_plans_where_the_kernel_cannot(noisy, monkeypatch):
    """Without CuPy, or for an instance too large, the kernel is not started."""
    monkeypatch.setattr(membership_kernel, "load_cupy", compiling.load_cupy.__wrapped__)
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    arrays, expected = inputs(tight(noisy))
    assert not membership_kernel.launch(*arrays, expected)
    assert membership_kernel.shared_bytes(1001, 200) < 48 * 2**10
    large = [torch.zeros((1, 2001, 2))] * 7
    assert not membership_kernel.launch(*large)
