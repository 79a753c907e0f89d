"""Searches that begin with the plans in the rows of a network."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.definitions import Line, Options
from experiments.kept_plans import with_kept_plans
from fixedfleet.errors import InputError
from fixedfleet.evaluate import Results, evaluate, get_method, get_set
from fixedfleet.evaluate.origin import made_with

START = "network:decoding=greedy,guarantee=yes,repair=paper"
PAPER = "network+ortools_descent:artificial=yes,decoding=greedy,repair=paper"


@pytest.mark.slow
def test_a_search_goes_on_from_kept_plans(tmp_path):
    """Plans kept by one evaluation are searched by another, with the time of both."""
    pytest.importorskip("torch")
    file, chosen = (
        tmp_path / "rows.jsonl",
        replace(get_set("uniform20:99", 2), name="s"),
    )
    two = chosen.instances
    evaluate([chosen], [START], [], file, processes=1)
    whole = get_method(PAPER)
    method = with_kept_plans(whole, get_method(START).name, file)
    method.check()
    assert method.name == whole.name
    made = made_with(method)
    assert made.pop("source")  # of the class that reads the kept plans
    assert made == made_with(whole)
    for row, one, other in zip(
        Results(file).rows(), method.solve(two), whole.solve(two), strict=True
    ):
        assert one.start == row
        assert one.plan == other.plan
    with pytest.raises(InputError, match="has no rows of the method 'savings'"):
        with_kept_plans(whole, "savings", file).check()
    other = get_set("uniform20:98", 1).instances
    with pytest.raises(InputError, match=r"has no row of .* for uniform20:98/0"):
        method.solve(other)


def test_plans_are_kept_for_searches_behind_a_gpu(tmp_path):
    """With a GPU, a line begins with kept plans and runs on cores."""
    spec = f"{PAPER},device=cuda,precision=fp32"
    line = Line(label="x", method=PAPER, gpu="fp32")
    here, there = Options(work=tmp_path), Options(work=tmp_path, device="cuda")
    assert line.build(here) == get_method(PAPER)
    method = line.build(there)
    assert (method.name, method.on_gpu) == (get_method(spec).name, False)
    kept = get_method(f"{START},device=cuda,precision=fp32").name
    assert method.start.method == kept
    with pytest.raises(InputError, match=r"rows\.jsonl has no rows of the method"):
        method.check()


@pytest.mark.parametrize("method", ["am-greedy", "am-sampling"])
def test_the_attention_models_plans_are_kept(method):
    """They serve all customers of the first test instances, with any fleet."""
    instances = get_set("kool20", 3).instances
    start = get_method(method)
    start.check()
    for instance, answer in zip(instances, start.solve(instances), strict=True):
        assert answer.start.instance == instance.name
        larger = instance.with_vehicles(20)
        assert answer.plan.check(larger) == []
        assert answer.plan.length(instance) == pytest.approx(answer.start.length)
