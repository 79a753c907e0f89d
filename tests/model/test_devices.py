"""Devices: their memory, and the threads of torch on a CPU."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest
import torch

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.errors import require
from fixedfleet.model import ModelConfig, Network
from fixedfleet.model.devices import calm_threads, check_memory
from fixedfleet.planning import predict

CPU = torch.device("cpu")


def test_too_large_for_memory_is_said_before():
    """A prediction that cannot fit is refused with its size, not begun."""
    with pytest.raises(ff.InputError, match="100000 customers and 1000 vehicles need"):
        check_memory(Network(), 1, 100_001, 1000, torch.device("cpu"))


@pytest.mark.parametrize(("native", "precision"), [(True, "bf16"), (False, "fp32")])
def test_a_cpu_with_instructions_for_bf16_uses_them(monkeypatch, native, precision):
    """A prediction is in bfloat16 if the processor computes that, else in float32."""
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: native)
    instance = generate.uniform(10, 1, seed=1, capacity=20, vehicles=3)[0]
    found = {kind: predict(instance, precision=kind) for kind in ("bf16", "fp32", None)}
    by_default = found[None].probabilities
    assert (by_default == found[precision].probabilities).all()
    assert (found["bf16"].probabilities != found["fp32"].probabilities).any()


@pytest.fixture
def undecided(monkeypatch):
    """A user who has set nothing about threads, and a torch with three of them."""
    for name in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
def test_threads_sleep_if_torch_is_loaded_by_this_package():
    """OpenMP is told before torch is loaded, in a process where nothing was decided."""
    code = "import os, fixedfleet as ff; ff.model; print(os.getenv('OMP_WAIT_POLICY'))"
    free = {k: v for k, v in os.environ.items() if not k.startswith("OMP_")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=free, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "PASSIVE"


def test_threads_stay_as_they_are_if_torch_was_loaded_before(undecided):
    """Once torch is loaded, OpenMP would not listen, so it is told nothing."""
    require("torch", "network", "a network")
    assert "OMP_WAIT_POLICY" not in os.environ


def test_one_thread_if_torch_was_loaded_before(undecided):
    """Inside the block there is one thread; afterwards the user has theirs again."""
    with calm_threads(CPU):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "OMP_WAIT_POLICY"])
def test_what_the_user_has_decided_is_kept(undecided, monkeypatch, name):
    """A variable that the user has set is not overruled."""
    monkeypatch.setenv(name, "ACTIVE" if name == "OMP_WAIT_POLICY" else "3")
    with calm_threads(CPU):
        assert torch.get_num_threads() == 3


def test_threads_do_not_matter_on_a_gpu(undecided):
    """For another device than a CPU, nothing is changed."""
    with calm_threads(torch.device("cuda")):
        assert torch.get_num_threads() == 3


def test_predictions_and_decoders_compute_in_calm_threads(undecided, monkeypatch):
    """The network and the decoder of a user see one thread."""
    seen = []
    network = Network(ModelConfig(width=8, hidden=8, layers=1)).eval()
    forward = network.forward

    def watched(features):
        seen.append(torch.get_num_threads())
        return forward(features)

    monkeypatch.setattr(network, "forward", watched)
    from fixedfleet.planning import get_decoder

    def decoder(prediction):
        seen.append(torch.get_num_threads())
        return get_decoder("greedy")(prediction)

    ff.predict(generate.uniform(20, 2, seed=1), network).decode(decoder)
    assert seen == [1, 1]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc alone does so")
def test_a_prediction_takes_memory_that_the_last_one_freed():
    """A prediction after another does not wait for thousands of new pages."""
    import resource

    instance = generate.uniform(100, 1, seed=3)[0]
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        ff.predict(instance)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 1000
