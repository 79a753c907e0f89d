"""Summaries: means, intervals, shares, gaps, floors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.evaluate import summaries, summarise
from fixedfleet.evaluate.metrics import Mean, describe_clocks
from fixedfleet.evaluate.tables import to_markdown


@pytest.fixture
def letters(fakes):
    """A set of six instances, a to f, with references for the first four."""
    reference = {"a": 8.0, "b": 10.0, "c": 5.0, "d": 10.0}
    return fakes.make_set(reference=reference, reference_cost_v={"a": 20.0})


def test_a_mean_has_student_s_interval():
    """Half of the interval is t(0.975) times the standard error, as tables have it."""
    values = [1.0, 2.0, 4.0, 5.0]
    mean = Mean.of(values)
    error = np.std(values, ddof=1) / 2
    assert (mean.value, mean.count) == (3.0, 4)
    assert mean.half == pytest.approx(3.1824 * error, rel=1e-4)
    assert Mean.of([0.0, 1.0]).half == pytest.approx(12.7062 * 0.5)
    many = Mean.of([0.0, 1.0] * 500)
    error = np.std([0, 1] * 500, ddof=1) / 1000**0.5
    assert many.half == pytest.approx(1.9623 * error, rel=1e-4)
    assert Mean.of([7.0]).half is None
    assert Mean.of([]) is None


def test_a_summary_counts_and_averages(letters, make_row):
    """Shares, excess, means and gaps are those of the rows, by hand."""
    nothing = {"length": None, "cost_v": None, "vehicles": None, "served": False}
    beyond = {"length": 6.0, "cost_v": 46.0, "vehicles": 4}
    rows = [
        make_row(instance="a", length=8.8, cost_v=28.8, seconds=0.1),
        make_row(instance="b", length=10.0, cost_v=30.0, seconds=0.2),
        make_row(instance="c", within=False, fault="4 tours for 2 vehicles", **beyond),
        make_row(instance="d", within=False, fault="no plan", **nothing),
        make_row(instance="e", length=3.0, cost_v=23.0),
    ]
    found = summarise(rows, letters)
    assert (found.runs, found.served, found.within) == (5, 4, 3)
    assert found.share_within == pytest.approx(0.6)
    assert found.share_violating == pytest.approx(0.2)
    assert found.excess == 2
    assert found.length.value == pytest.approx((8.8 + 10 + 6 + 3) / 4)
    assert found.vehicles.value == pytest.approx(2.5)
    assert found.cost_v.value == pytest.approx((28.8 + 30 + 46 + 23) / 4)
    assert found.floor == 20
    assert found.cost_v_floor == pytest.approx(20 + found.length.value)
    assert found.gap.value == pytest.approx((10 + 0) / 2)
    assert found.gap.count == 2
    assert found.seconds.value == pytest.approx((0.1 + 0.2 + 0.5 * 3) / 5)


def test_no_mean_cost_lies_below_its_floor(letters, make_row):
    """Whatever the plans, mean Cost_v is at least the floor with the mean length."""
    rng = np.random.default_rng(1)
    rows = []
    for instance in "abcdef":
        floor = int(rng.integers(1, 4))
        vehicles, length = floor + int(rng.integers(0, 3)), float(rng.uniform(1, 9))
        rows.append(
            make_row(
                instance=instance,
                floor=floor,
                vehicles=vehicles,
                length=length,
                cost_v=length + 10 * vehicles,
            )
        )
    found = summarise(rows, letters)
    assert found.cost_v.value > found.cost_v_floor
    exact = [make_row(floor=row.floor, vehicles=row.floor) for row in rows[:1]]
    assert summarise(exact, letters).floor == 10 * rows[0].floor


def test_seeds_of_an_instance_count_as_one(letters, make_row):
    """Several seeds are averaged first, so they do not narrow the interval."""
    rows = [
        make_row(instance=name, seed=seed, length=8.0 + seed)
        for name in "ab"
        for seed in range(10)
    ]
    found = summarise(rows, letters)
    assert (found.runs, found.length.count) == (20, 2)
    assert found.length.value == pytest.approx(12.5)
    assert found.length.half == pytest.approx(0.0)


def test_methods_that_minimise_cost_v_have_its_reference(letters, make_row):
    """The gap of such a method is that of Cost_v."""
    row = make_row(objective="cost-v", cost_v=22.0)
    assert summarise([row], letters).gap.value == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("cpu", "said"),
    [
        (0.5, []),
        (0.46, []),
        (0.2, ["fake with 1 s: 0.5 s of wall time and 0.2 s of processor time per "
               "instance (the machine was busy, or the method waited)"]),
        (1.5, ["fake with 1 s: 0.5 s of wall time and 1.5 s of processor time per "
               "instance (it used several cores)"]),
        (None, []),
    ],
)  # fmt: skip
def test_clocks_that_differ_are_told(fakes, make_row, cpu, said):
    """Wall time and processor time are compared, as far as rows have both."""
    rows = [make_row(cpu_seconds=cpu), make_row(instance="b", cpu_seconds=cpu)]
    assert describe_clocks(rows) == said
    (summary,) = summaries(rows, fakes.make_set())
    assert summary.clocks_differ == bool(said)
    assert ("processor seconds" in to_markdown([summary])) == bool(said)


@pytest.mark.parametrize(
    ("seconds", "cpu", "differ"),
    [(10, 11, False), (10, 9, False), (10, 11.1, True), (0.01, 0.1, True)],
)
def test_clocks_that_differ_by_a_tenth_are_not_told(make_row, seconds, cpu, differ):
    """Only more than a tenth of the wall time counts, in runs of 0.01 s or more."""
    assert bool(describe_clocks([make_row(seconds=seconds, cpu_seconds=cpu)])) == differ


def test_a_reference_of_nothing_has_no_gap(fakes, make_row):
    """If all customers are at the depot, there is no percentage above the reference."""
    at_depot = fakes.make_set(1, reference={"a": 0.0})
    rows = [make_row(length=0.0, trace=((0.1, 0.0),)), make_row(length=1.0, seed=1)]
    (summary,) = summaries(rows, at_depot)
    assert (summary.gap, summary.primal_integral) == (None, None)


def test_without_reference_or_plan_there_is_no_gap(fakes, make_row):
    """Figures that are not defined are None, not zero and not infinite."""
    plain = fakes.make_set()
    assert summarise([make_row()], plain).gap is None
    nothing = make_row(length=None, cost_v=None, vehicles=None, served=False)
    found = summarise([nothing], plain)
    assert (found.length, found.cost_v, found.floor, found.cost_v_floor) == (None,) * 4
    assert found.excess == 0


def test_summaries_are_by_method_and_limit(letters, make_row):
    """Rows of other instances are left out, the others grouped and in order."""
    rows = [
        make_row(method="b", time_limit=2.0),
        make_row(method="b", time_limit=1.0),
        make_row(method="a", time_limit=None),
        make_row(method="a", time_limit=None, instance="b"),
        make_row(method="a", time_limit=None, instance="elsewhere"),
    ]
    found = summaries(rows, letters)
    kinds = [(s.method, s.time_limit, s.runs) for s in found]
    assert kinds == [("a", None, 2), ("b", 1.0, 1), ("b", 2.0, 1)]
    with pytest.raises(ff.InputError, match="one method with one limit"):
        summarise(rows, letters)


def test_summaries_are_in_order_of_the_limit_on_iterations(letters, make_row):
    """Fewer iterations come first, and rows of equal limits are one summary."""
    rows = [make_row(time_limit=None, iterations=n) for n in (300, 20, 1000, 300)]
    found = summaries(rows, letters)
    assert [(one.iterations, one.runs) for one in found] == [
        (20, 1),
        (300, 2),
        (1000, 1),
    ]


def test_integrals_are_taken_from_the_traces(letters, make_row):
    """Each summary with a limit has its primal integral, and WRAP against the base."""
    rows = [
        make_row(method="slow", time_limit=10.0, trace=((0.0, 8.8), (5.0, 8.0))),
        make_row(method="fast", time_limit=10.0, trace=((0.0, 8.0),)),
        make_row(method="box", time_limit=10.0, length=8.0, seconds=9.0),
        make_row(method="box", time_limit=4.0, length=8.4, seconds=4.0),
        make_row(method="start", time_limit=None),
    ]
    found = {(s.method, s.time_limit): s for s in summaries(rows, letters, base="slow")}
    assert found["slow", 10.0].primal_integral.value == pytest.approx(5.0)
    assert found["slow", 10.0].wrap.value == pytest.approx(1.0)
    assert found["fast", 10.0].primal_integral.value == pytest.approx(0.0, abs=1e-9)
    # From 5 s on the base cannot be beaten.
    assert found["fast", 10.0].wrap.value == pytest.approx(0.5)
    assert found["box", 10.0].primal_integral is None  # it reports nothing
    assert found["start", None].primal_integral is None
    assert found["box", 4.0].wrap is None  # the base has no run of that limit


@pytest.mark.parametrize(
    ("other", "integrals"),
    [
        ({"within": False}, [0.0, 10.0]),  # it reported nothing, so it found nothing
        ({"within": True}, [0.0]),  # when it found its plan is not known
        ({"within": True, "trace": ((5.0, 8.0),)}, [0.0, 5.0]),
        ({"within": False, "trace": ((5.0, 8.0),)}, [0.0, 10.0]),  # beyond the fleet
    ],
)
def test_a_run_without_a_report_counts_if_it_found_nothing(
    letters, make_row, other, integrals
):
    """A method that reports improvements has found nothing where it reports none."""
    rows = [
        make_row(time_limit=10.0, trace=((0.0, 8.0),)),
        make_row(time_limit=10.0, instance="b", **other),
    ]
    same = replace(letters, reference={"a": 8.0, "b": 8.0})
    (summary,) = summaries(rows, same)
    assert summary.primal_integral.count == len(integrals)
    assert summary.primal_integral.value == pytest.approx(
        sum(integrals) / len(integrals)
    )


def test_a_method_without_a_trace_has_no_integral(letters, make_row):
    """The end of a run does not say when its plan was found, nor do shorter runs."""
    silent = make_row(method="box", time_limit=10.0, length=8.0, seconds=10.0)
    base = make_row(method="base", time_limit=10.0, trace=((0.0, 8.8),))
    found = summaries([silent, base], letters, base="base")
    box = next(s for s in found if s.method == "box")
    assert (box.primal_integral, box.wrap) == (None, None)
    found = {s.method: s for s in summaries([silent, base], letters, base="box")}
    assert found["base"].wrap is None  # the base is silent
    shorter = make_row(method="box", time_limit=5.0, length=8.4, seconds=5.0)
    found = summaries([silent, shorter, base], letters, base="base")
    assert [(s.method, s.primal_integral) for s in found[1:]] == [("box", None)] * 2


def test_wrap_compares_what_is_minimised(letters, make_row):
    """A method for Cost_v has no WRAP against one for the length."""
    trace = ((0.0, 8.0),)
    rows = [
        make_row(method="base", trace=trace),
        make_row(method="other", trace=((0.0, 28.0),), objective="cost-v"),
    ]
    found = {s.method: s for s in summaries(rows, letters, base="base")}
    assert found["base"].wrap is not None
    assert found["other"].wrap is None


def test_runs_beyond_their_limit_are_counted(letters, make_row):
    """A run counts as late after 1.1 times its limit; one without limit never does."""
    rows = [
        make_row(instance=name, time_limit=1.0, seconds=seconds)
        for name, seconds in (("a", 1.0), ("b", 1.09), ("c", 1.2), ("d", 3.0))
    ]
    assert summarise(rows, letters).overrun == 0.5
    free = [make_row(time_limit=None, seconds=9.0)]
    assert summarise(free, letters).overrun is None


def test_wrap_needs_a_base_and_a_reference(letters, fakes, make_row):
    """A base without rows, and a set without references, are errors."""
    with pytest.raises(ff.InputError, match="no rows of the base 'other'"):
        summaries([make_row()], letters, base="other")
    with pytest.raises(ff.InputError, match="WRAP needs a reference"):
        summaries([make_row()], fakes.make_set(), base="fake")


def test_rows_without_a_plan_have_the_worst_integral(letters, make_row):
    """A run that finds nothing within the fleet counts, with 10 % all the time."""
    row = make_row(within=False, trace=((0.0, 8.0),))
    (found,) = summaries([row], letters)
    assert found.primal_integral.value == pytest.approx(10.0)
