"""Two methods compared instance by instance."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet.evaluate import compare
from fixedfleet.evaluate.tables import pairs_to_markdown


@pytest.fixture
def rows(make_row):
    """Rows of the methods a and b on three instances, b with two seeds."""
    costs = {"a": (9.0, 10.0, 12.0), "b": (10.0, 10.0, 10.0)}
    return [
        make_row(method=method, instance=name, length=length + change, seed=seed)
        for method, lengths in costs.items()
        for name, length in zip("abc", lengths, strict=True)
        for seed, change in enumerate((1.0, -1.0) if method == "b" else (0.0,))
    ]


def test_two_methods_are_compared_on_the_same_instances(rows, fakes, make_row):
    """Seeds are averaged; what only one of them solves does not count."""
    alone = make_row(method="a", instance="d", length=1.0)
    failed = make_row(method="b", instance="d", within=False)
    (pair,) = compare([*rows, alone, failed], fakes.make_set(4), "a", "b")
    assert (pair.set, pair.first, pair.second) == ("letters", "a", "b")
    assert (pair.better, pair.equal, pair.worse) == (1, 1, 1)
    assert pair.difference.value == pytest.approx((-10 + 0 + 20) / 3)
    assert pair.difference.count == 3
    assert pair.difference.half == pytest.approx(4.303 * 15.275 / 3**0.5, rel=1e-3)
    (other,) = compare(rows, fakes.make_set(4), "b", "a")
    assert (other.better, other.equal, other.worse) == (1, 1, 1)
    line = pairs_to_markdown([pair]).splitlines()[2]
    assert line == "| letters | a | b | 1 s | 3 | 3.333 ± 37.946 | 1 | 1 | 1 |"


def test_each_limit_is_compared_and_a_method_without_one_with_all(make_row, fakes):
    """Runs with different limits or objectives are not compared."""
    rows = [
        *(make_row(method="a", time_limit=t, length=9.0) for t in (2.0, 1.0)),
        make_row(method="b", time_limit=2.0, length=10.0),
        make_row(method="c", time_limit=None, length=12.0),
        make_row(method="d", time_limit=2.0, objective="cost-v"),
    ]
    letters = fakes.make_set(1)
    assert [p.time_limit for p in compare(rows, letters, "a", "b")] == [2.0]
    for first, second in ("ac", "ca"):
        found = compare(rows, letters, first, second)
        assert [pair.time_limit for pair in found] == [1.0, 2.0]
    for first, second in ("ad", "ax"):
        with pytest.raises(ff.InputError, match="have no instance of letters in comm"):
            compare(rows, letters, first, second)
