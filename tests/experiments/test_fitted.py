"""HGS-CVRP with parameters that are fitted to the time limit."""

from __future__ import annotations

import pytest

from fixedfleet import generate
from fixedfleet.errors import InputError
from fixedfleet.evaluate import get_method
from fixedfleet.plan import Plan
from fixedfleet.search import genetic
from fixedfleet.search.auto import fitted_parameters, split_time


def test_it_is_hgs_with_the_parameters_of_the_default_search(monkeypatch):
    """Only its parameters differ from those of the solver hgs. It gets no start."""
    asked = []

    def hgs_plans(instance, **given):
        asked.append(given)
        return [Plan([[customer] for customer in range(1, 21)])]

    monkeypatch.setattr(genetic, "hgs_plans", hgs_plans)
    method = get_method("experiments.fitted:FittedHgs")
    batch = generate.uniform(20, 2, seed=3)
    answers = method.solve(list(batch), time_limit=0.3, seed=5)
    assert [len(answer.plan.tours) for answer in answers] == [20, 20]
    _, population = split_time(20, 0.3)
    assert [given["parameters"] for given in asked] == [
        fitted_parameters(population)
    ] * 2
    assert {given["seed"] for given in asked} == {5}
    assert not any("starts" in given for given in asked)
    assert method.name == "hgs-fitted"


def test_it_needs_a_time_limit():
    """The population depends on it."""
    method = get_method("experiments.fitted:FittedHgs")
    with pytest.raises(InputError, match="needs a time limit"):
        method.solve(list(generate.uniform(20, 1, seed=3)))


@pytest.mark.parametrize("seconds", [0.03, 1.0])
def test_the_population_is_smaller_than_the_authors(seconds):
    """HGS-CVRP builds four times mu plans before it begins; its authors take 25."""
    _, population = split_time(100, seconds)
    assert fitted_parameters(population).mu == population < 25
