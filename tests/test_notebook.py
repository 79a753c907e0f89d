"""What a notebook shows of instances and results."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.notebook import COLOURS, draw_map


def parsed(html: str) -> ElementTree.Element:
    """Parse HTML; an unclosed tag or an unescaped character is an error."""
    return ElementTree.fromstring(f"<div>{html}</div>")


def texts(html: str) -> list[str]:
    """Return the texts of the cells of a table."""
    return [cell.text or "" for cell in parsed(html).iter("td")]


@pytest.fixture
def result(square):
    """A plan for the square, found without a search."""
    return ff.solve(square, 0.1, search="none")


def test_a_result_is_a_map_and_a_table(square, result):
    """The map has a line for each tour, and the table its load and length."""
    html = result._repr_html_()
    lines = list(parsed(html).iter("polyline"))
    assert [line[0].text for line in lines] == ["tour 1", "tour 2"]
    assert f"{result.plan.loads(square)[0]} of {square.capacity}" in texts(html)
    assert str(result.verdict.reason) in html


def test_a_result_without_a_plan_shows_what_can_be_done(square):
    """The partial plan is drawn, and the customers it leaves out stay grey."""
    result = ff.solve(square.with_vehicles(1), 0.1)
    html = result._repr_html_()
    assert "no plan found" in html
    assert len(list(parsed(html).iter("polyline"))) == 1
    assert "#999999" in html


def test_names_of_a_file_cannot_break_the_page(square):
    """A name with markup is shown as text."""
    named = ff.Instance(
        depot=(0, 0),
        customers=[[1, 1]],
        demands=[1],
        capacity=1,
        vehicles=1,
        name="<b>&",
    )
    assert "&lt;b&gt;&amp;" in named._repr_html_()
    assert len(list(parsed(named._repr_html_()).iter("path"))) == 1


def test_an_instance_without_coordinates_has_no_map():
    """A distance matrix is shown as a table alone."""
    matrix = ff.Instance(
        matrix=[[0, 1], [1, 0]], demands=[1], capacity=1, vehicles=1, name="m"
    )
    assert "<svg" not in matrix._repr_html_()
    assert "<path" not in ff.solve(matrix, 0.1, search="none")._repr_html_()


def test_north_is_up_and_east_is_right():
    """A map of degrees has longitude to the right and latitude upwards."""
    points = np.array([[50.0, 10.0], [51.0, 10.0], [50.0, 12.0]])
    (line,) = parsed(draw_map(points, "great_circle", [[1, 2]])).iter("polyline")
    depot, north, east, _ = (
        tuple(map(float, place.split(","))) for place in line.get("points").split()
    )
    assert north[1] < depot[1] == east[1]
    assert depot[0] == north[0] < east[0]
    assert line.get("stroke") == COLOURS[0]


@pytest.mark.parametrize("count", [3, 40])
def test_reprs_fit_on_a_line(square, result, count):
    """What a notebook or a debugger prints is short, however many instances."""
    from fixedfleet.evaluate import get_set

    batch = ff.generate.uniform(20, count, seed=1)
    many = ff.solve_batch(batch, search="none", cores=1)
    shown = [
        repr(batch),
        repr(many),
        repr(many.plans),
        repr(ff.fleet.assess_batch(batch)),
        repr(result),
        repr(ff.solve(square.with_vehicles(1), 0.1)),
        repr(result.verdict),
        repr(get_set("uniform20:1", count)),
    ]
    assert max(map(len, shown)) < 130
    assert not any("\n" in text for text in shown)
    assert shown[1].startswith(f"BatchResult({count} instances, {count} plans, ")
    assert shown[4].startswith("Result(2 of 2 vehicles, length ")


def test_reprs_of_a_training_fit_on_a_line():
    """A training does not print its network."""
    pytest.importorskip("torch")
    from fixedfleet.model import ModelConfig, Network
    from fixedfleet.training import TrainResult

    network = Network(ModelConfig(width=8, hidden=8, layers=1))
    done = TrainResult(network, 12, 3, 4.5, None, False)
    assert repr(done) == "TrainResult(12 steps, 3 epochs, 4.5 s, can be resumed)"
