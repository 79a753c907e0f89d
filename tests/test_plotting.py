"""Pictures of instances, plans and searches."""

from __future__ import annotations

import math
from importlib.util import find_spec

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.plotting import (
    check_drawable,
    plot_instance,
    plot_plan,
    save_plan_picture,
)

pytestmark = pytest.mark.skipif(
    find_spec("matplotlib") is None, reason="matplotlib is not installed"
)

PNG = b"\x89PNG\r\n\x1a\n"
PLAN = ff.Plan([[1, 2], [3, 4]])


@pytest.fixture
def ax():
    """Axes of a figure that no window belongs to."""
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture
def city():
    """Three stops in a city, with degrees and decimal kilograms."""
    return ff.Instance(
        depot=(51.4, 12.3),
        customers=[[51.34, 12.37], [51.31, 12.42], [51.36, 12.45]],
        demands=[1.5, 2, 0.5],
        capacity=4,
        vehicles=2,
        name="city",
        depot_name="freight centre",
        metric="great_circle",
    )


def texts(ax):
    """The lines of the legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_plan_is_drawn_on_the_given_axes(square, ax):
    """The Axes given come back, with title, depot and a legend line for each tour."""
    assert plot_plan(PLAN, square, ax) is ax
    assert texts(ax) == [
        "depot",
        "tour 1: 2 of 2, 2 stops, 4.83",
        "tour 2: 2 of 2, 2 stops, 4.83",
    ]
    assert "2 of 2 vehicles" in ax.get_title()


def test_degrees_are_drawn_as_a_map(city, ax):
    """Longitude runs to the right and latitude up, in true proportions, with a bar."""
    plot_plan(ff.Plan([[1, 2], [3]]), city, ax)
    depot = ax.collections[0].get_offsets()[0]
    assert depot.tolist() == [12.3, 51.4]
    mean = np.mean([51.4, 51.34, 51.31, 51.36])
    assert ax.get_aspect() == pytest.approx(1 / math.cos(math.radians(mean)))
    bars = [a for a in ax.artists if type(a).__name__ == "AnchoredSizeBar"]
    assert [bar.txt_label.get_text() for bar in bars] == ["1 km"]
    assert texts(ax)[0] == "depot: freight centre"
    assert texts(ax)[1].endswith(" km")


def test_tsplib_degrees_and_the_date_line(ax):
    """Minutes of TSPLIB become degrees, and the Pacific is not torn apart."""
    fiji = ff.Instance(
        depot=(-17.30, 179.30),
        customers=[[-17.30, -179.30]],
        demands=[1],
        capacity=1,
        vehicles=1,
        metric="geo",
    )
    plot_instance(fiji, ax)
    places = np.vstack([dots.get_offsets() for dots in ax.collections])
    assert sorted(places[:, 0]) == pytest.approx([179.5, 180.5])
    assert places[:, 1].tolist() == pytest.approx([-17.5, -17.5])


def test_many_tours_stay_apart(make_instance, ax):
    """No two of 28 tours have both the same colour and the same line."""
    instance = make_instance(n=28, vehicles=28, capacity=100)
    plot_plan(ff.Plan([[c] for c in range(1, 29)]), instance, ax)
    looks = {
        (line.get_color(), line.get_linestyle(), line.get_marker())
        for line in ax.lines
        if line.get_label().startswith("tour")
    }
    assert len(looks) == 28


def test_larger_demands_are_drawn_larger(ax):
    """A customer's mark grows with its demand."""
    fields = {"depot": (0, 0), "customers": [[0, 1], [1, 0]], "vehicles": 1}
    plot_instance(ff.Instance(**fields, demands=[1, 9], capacity=10), ax)
    small, large = ax.collections[1].get_sizes()
    assert large > 2 * small


def test_customers_left_out_are_crossed(square, ax):
    """A plan that leaves customers out shows how many."""
    plot_plan(ff.Plan([[1, 2], [3]]), square, ax)
    assert "not served: 1" in texts(ax)


def test_a_plan_of_another_instance_is_refused(square, ax):
    """A plan with a customer the instance has not is named as such."""
    with pytest.raises(ff.InputError, match="customer 9, but the instance has 4 "):
        plot_plan(ff.Plan([[9]]), square, ax)


def test_a_matrix_has_no_picture(ax):
    """An instance without coordinates is refused in words."""
    instance = ff.Instance(matrix=[[0, 1], [1, 0]], demands=[1], capacity=1, vehicles=1)
    for draw in (check_drawable, lambda i: plot_instance(i, ax)):
        with pytest.raises(ff.InputError, match="no coordinates"):
            draw(instance)


def test_names_are_no_formulas(tmp_path):
    """A dollar sign in a name is a dollar sign."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[[1, 1]],
        demands=[1],
        capacity=1,
        vehicles=1,
        name="$\\frac$",
        depot_name="US$ and A$",
    )
    save_plan_picture(tmp_path / "p.png", instance, ff.Plan([[1]]))
    assert (tmp_path / "p.png").read_bytes().startswith(PNG)


def test_a_picture_is_whole_or_not_there(square, tmp_path, monkeypatch):
    """Where drawing fails, what stood there stays and nothing lies beside it."""
    path = tmp_path / "p.png"
    path.write_text("before")

    def fail(*args, **kwargs):
        raise RuntimeError

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    with pytest.raises(RuntimeError):
        save_plan_picture(path, square, PLAN)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "head"), [("p.png", PNG), ("p.SVG", b"<?xml"), ("p.pdf", b"%PDF")]
)
def test_the_extension_says_the_format(square, tmp_path, name, head):
    """Pictures are written as PNG, SVG or PDF."""
    save_plan_picture(tmp_path / name, square, PLAN)
    assert (tmp_path / name).read_bytes().startswith(head)
    with pytest.raises(ff.InputError, match=r"not a picture \.png"):
        save_plan_picture(tmp_path / "p.bmp", square)


def test_without_matplotlib_the_extra_is_named(square, monkeypatch):
    """Who lacks matplotlib is told what to install."""

    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("fixedfleet.errors.importlib.import_module", missing)
    with pytest.raises(ff.MissingPackageError, match=r"fixedfleet\[plot\]"):
        check_drawable(square)
