"""What a cluster is asked for, by a stand-in for Ray."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest

from fixedfleet.evaluate import cluster
from fixedfleet.evaluate.job import Job
from fixedfleet.evaluate.processes import Patience


class Remote:
    """A task or an actor of the stand-in: calls are answered at once."""

    def __init__(self, ray, what):
        self.ray, self.what, self.asked = ray, what, {}

    def options(self, **asked):
        self.asked = asked
        return self

    def remote(self, *arguments):
        if isinstance(self.what, type):
            return SimpleNamespace(spent=SimpleNamespace(remote=self.ray.spent))
        self.ray.given.append(self.asked)
        return len(self.ray.given)


class FakeRay:
    """Jobs never end; ``seconds`` says since when they run, None for not yet."""

    exceptions = SimpleNamespace(RayError=RuntimeError)

    def __init__(self, *seconds):
        self.given, self.cancelled = [], []
        self.seconds = list(seconds)

    def remote(self, what):
        return Remote(self, what)

    def spent(self, _number):
        return self.seconds.pop(0)

    def wait(self, _pending, timeout):
        return [], []

    def put(self, value):
        return value

    def get(self, value):
        return value

    def cancel(self, reference, force):
        self.cancelled.append(reference)

    def kill(self, actor):
        pass


@pytest.fixture
def run(monkeypatch, fakes):
    """Run a job of each method with a stand-in and no patience at all."""

    def by(ray, methods):
        monkeypatch.setattr(cluster, "require", lambda *_: ray)
        monkeypatch.setattr(cluster, "connected", lambda *_: contextlib.nullcontext())
        letters = fakes.make_set(1)
        jobs = [
            Job(place, method.name, "letters", tuple(letters.instances), 1.0, 0.0,
                None, 0)
            for place, method in enumerate(methods)
        ]  # fmt: skip
        patience = Patience(grace=0.0, longest=0.0)
        return list(cluster.by_ray(iter(jobs), methods, 2, None, patience))

    return by


def test_each_job_asks_for_what_its_method_needs(run, fakes):
    """A method on a GPU does not make the others wait for one."""
    ray = FakeRay(1.0, 1.0)
    run(ray, [fakes.FirstFit(), fakes.FirstFit(name="gpu", on_gpu=True)])
    assert [asked["num_gpus"] for asked in ray.given] == [0, 1]
    assert [asked["num_cpus"] for asked in ray.given] == [1, 1]


def test_a_job_that_waits_for_its_place_is_not_overdue(run, fakes):
    """The clock of a job begins when it does."""
    ray = FakeRay(None, None, 7.0)
    ((_, (row,)),) = run(ray, [fakes.FirstFit()])
    assert ray.seconds == []
    assert ray.cancelled == [1]
    assert row.fault == "ended after 7.0 s"
