"""Whatever is written reads back the same, in every format that can hold it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fixedfleet import InputError, Instance, InstanceBatch, Plan
from fixedfleet.files import (
    read,
    read_batch,
    read_plan,
    read_solution_cost,
    write_batch,
    write_instance,
    write_plan,
)

# The folder is the same for all examples, each of which writes its file anew.
again = settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

awkward = st.sampled_from(
    ["=1+1", "+49 30", "-k5", "@home", "'=", "''+", "'quoted'", 'a "b"', "a,b;c\td",
     " lead", "trail ", "Ærø", "東京", "#5", "two\nlines", "a\r\nb", "\rc", "\t=x", "1"]
)  # fmt: skip
words = awkward | st.text(
    st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=8
)
titles = words | st.just("")
amounts = st.integers(0, 10**5) | st.floats(0, 1e5)
floats = st.floats(-1e6, 1e6) | st.integers(-1000, 1000).map(float)


@st.composite
def instances(draw, *, metrics, names=None, title=titles):
    """Instances with coordinates; decimals, zero demand, awkward names and all."""
    n = draw(st.integers(1, 5))
    metric = draw(st.sampled_from(metrics))
    degrees = st.tuples(st.floats(-90, 90), st.floats(-180, 180))
    points = degrees if metric == "great_circle" else st.tuples(floats, floats)
    fields = {
        "depot": draw(points),
        "customers": draw(st.lists(points, min_size=n, max_size=n)),
        "demands": draw(st.lists(amounts, min_size=n, max_size=n)),
        "capacity": draw(st.integers(1, 10**6) | st.floats(1, 1e6)),
        "vehicles": draw(st.integers(1, 10**6)),
        "metric": metric,
        "rounding": draw(st.sampled_from(["none", "round", "ceil", "trunc"])),
        "name": draw(title),
    }
    if names is not None:
        fields["depot_name"] = draw(names | st.just("depot"))
        fields["names"] = draw(st.none() | st.lists(names, min_size=n, max_size=n))
        fields["unit"] = draw(st.sampled_from(["", "kg", "m³"]))
        fields["length_unit"] = draw(st.sampled_from(["", "km", "mi"]))
        headings = st.sampled_from(
            ["Telefon", "=1", "Menge", "Gewicht (t)", "a,b", "#"]
        )
        texts = st.lists(names | st.just(""), min_size=n + 1, max_size=n + 1)
        fields["columns"] = draw(st.dictionaries(headings, texts, max_size=3))
    return Instance(**fields)


@st.composite
def with_matrix(draw, base):
    """The same with an asymmetric matrix, and perhaps without coordinates."""
    instance = draw(base)
    size = instance.num_customers + 1
    row = st.lists(st.floats(0, 1e9), min_size=size, max_size=size)
    matrix = draw(st.lists(row, min_size=size, max_size=size))
    changes = {"matrix": matrix}
    if draw(st.booleans()):
        changes |= {"depot": None, "customers": None}
    return replace(instance, **changes)


plain = instances(metrics=["euclidean", "geo"], title=st.sampled_from(["", "A-k3"]))
named = instances(metrics=["euclidean", "geo", "great_circle"], names=words)


def there_and_back(instance, path):
    write_instance(instance, path)
    return read(path)


@again
@given(instance=named | with_matrix(named))
def test_an_instance_survives_json(instance, tmp_path):
    """A JSON file holds the whole instance."""
    assert there_and_back(instance, tmp_path / "i.json") == instance


@again
@given(instance=named)
def test_an_instance_survives_csv(instance, tmp_path):
    """A CSV file holds everything of an instance but a matrix."""
    assert there_and_back(instance, tmp_path / "i.csv") == instance


def as_excel_holds_it(instance):
    """The same with numbers of 16 digits, and line ends that are line feeds."""
    unix = lambda text: text.replace("\r\n", "\n").replace("\r", "\n")  # noqa: E731
    short = np.vectorize(lambda number: float(f"{number:.16g}"))
    return replace(
        instance,
        depot=short(instance.depot),
        customers=short(instance.customers),
        demands=short(instance.demands),
        name=unix(instance.name),
        depot_name=unix(instance.depot_name),
        names=instance.names and [unix(name) for name in instance.names],
        columns={h: [unix(t) for t in texts] for h, texts in instance.columns.items()},
    )


@settings(again, max_examples=15)
@given(instance=named)
def test_an_instance_survives_excel(instance, tmp_path):
    """An Excel file holds what a CSV file holds, within Excel's own limits."""
    found = there_and_back(instance, tmp_path / "i.xlsx")
    assert found == as_excel_holds_it(instance)


@again
@given(instance=plain | with_matrix(plain))
def test_an_instance_survives_vrplib(instance, tmp_path):
    """A VRPLIB file holds an instance, its fleet and its rounding."""
    assert there_and_back(instance, tmp_path / "i.vrp") == instance


@st.composite
def plans(draw):
    """A plan for all or some of six customers."""
    customers = draw(st.permutations(range(1, 7)))[: draw(st.integers(0, 6))]
    cuts = sorted(draw(st.lists(st.integers(0, 6), max_size=3)))
    bounds = [0, *cuts, len(customers)]
    return Plan(customers[a:b] for a, b in itertools.pairwise(bounds))


six = Instance(
    depot=(0, 0),
    customers=[[1, 0.5], [2, 1], [3, -4], [0, 7], [5, 5], [1e-3, 2]],
    demands=[1, 0, 2.5, 0.1, 3, 4],
    capacity=9.5,
    vehicles=3,
    names=["=A1", "b,c", '"', "Ærø", "-", "two\nlines"],
)


@pytest.mark.parametrize("extension", ["sol", "json", "csv", "xlsx"])
@again
@given(plan=plans())
def test_a_plan_survives(extension, plan, tmp_path):
    """A plan reads back as it was written, whatever the customers' names."""
    path = tmp_path / f"p.{extension}"
    write_plan(plan, six, path)
    assert read_plan(path) == plan


@again
@given(plan=plans())
def test_a_solution_states_the_exact_length(plan, tmp_path):
    """The cost of a solution file is the plan's length to the last digit."""
    write_plan(plan, six, tmp_path / "p.sol")
    assert read_solution_cost(tmp_path / "p.sol") == plan.length(six)


@st.composite
def batches(draw):
    """Small batches of equal-sized instances."""
    size, n = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    top = draw(st.sampled_from([2, 200, 70_000, 2**40]))
    return InstanceBatch(
        depots=rng.normal(size=(size, 2)),
        customers=rng.normal(size=(size, n, 2)),
        demands=rng.integers(0, top, size=(size, n)),
        capacity=rng.integers(1, top, size=size),
        vehicles=rng.integers(1, 9, size=size),
    )


@again
@given(batch=batches())
def test_a_batch_survives_npz(batch, tmp_path):
    """An npz file holds a whole batch."""
    write_batch(tmp_path / "b.npz", batch)
    assert read_batch(tmp_path / "b.npz") == batch


@again
@given(batch=batches())
def test_a_batch_survives_pickle_but_for_its_fleet(batch, tmp_path):
    """A pickled test set holds a batch but for the fleet, which is given again."""
    write_batch(tmp_path / "b.pkl", batch)
    assert read_batch(tmp_path / "b.pkl", 3) == batch.with_vehicles(3)
    with pytest.raises(InputError, match="holds no fleet: give vehicles="):
        read_batch(tmp_path / "b.pkl")
