"""Starts that read their plans from kept rows."""

from __future__ import annotations

import pytest

from experiments.kept_plans import KeptPlans
from fixedfleet.errors import InputError
from fixedfleet.evaluate import get_method, get_set
from fixedfleet.evaluate.rows import Results


def test_plans_that_are_not_kept_are_asked_for(tmp_path, make_row):
    """A missing method or instance is named, with the file."""
    with Results(tmp_path / "rows.jsonl") as results:
        results.append(make_row(instance="test20/0", method="a", tours=((1, 2),)))
    start = KeptPlans("a", results.path)
    start.check()
    first, second = get_set("kool20", 2).instances
    (answer,) = start.answers([first], 0)
    assert answer.plan.tours == ((1, 2),)
    with pytest.raises(InputError, match=r"has no row of 'a' for test20/1"):
        start.plans([second], 0)
    with pytest.raises(InputError, match="has no rows of the method 'b'"):
        KeptPlans("b", results.path).check()


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
