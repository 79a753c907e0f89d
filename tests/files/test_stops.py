"""Stops of a plan's file are found among customers that have other numbers now."""

from __future__ import annotations

import pytest

from fixedfleet import InputError, Instance, Plan, VehicleType
from fixedfleet.files import read, read_plan, write_plan
from fixedfleet.files.stops import vehicle_names

HEAD = "name,Kd.-Nr.,x,y,demand,Straße\n"
DEPOT = "Hub,,0,0,,\n"
ADA = "Ada,K1,3,4,1,Hauptstraße 1\n"
BOB = "Bob,K2,6,8,2,Hauptstraße 2\n"
NEW = "Neu,K9,9,9,1,Hauptstraße 9\n"
REWE = "Rewe,K3,1,5,1,Am Markt\nRewe,K4,5,1,1,Am Bahnhof\n"


@pytest.fixture
def load(tmp_path):
    """Return how to read customers from the text of a table."""

    def load(text):
        path = tmp_path / "customers.csv"
        path.write_text(text, encoding="utf-8")
        return read(path, 3, capacity=9)

    return load


@pytest.fixture(params=[".csv", ".xlsx", ".json"])
def keep(request, tmp_path):
    """Return how to write a plan, and how to read it for other customers."""
    path = tmp_path / f"plan{request.param}"

    def keep(plan, instance):
        write_plan(Plan(plan), instance, path)
        return lambda today=None: read_plan(path, today)

    return keep


def test_an_inserted_row_does_not_change_who_is_served(load, keep):
    """Stops are found by name and customer number, not by their old numbers."""
    again = keep([[2, 1], [4, 3]], load(HEAD + DEPOT + ADA + BOB + REWE))
    today = load(HEAD + DEPOT + NEW + ADA + BOB + REWE)
    assert again(today).tours == ((3, 2), (5, 4))
    assert again().tours == ((2, 1), (4, 3))


def test_customers_of_one_name_are_told_apart_by_place(load, tmp_path):
    """Without customer numbers, two shops of one name are where they are."""
    table = "name,x,y,demand\nHub,0,0,\nRewe,1,5,1\nRewe,5,1,1\n"
    path = tmp_path / "plan.csv"
    write_plan(Plan([[2, 1]]), load(table), path)
    other_order = "name,x,y,demand\nHub,0,0,\nRewe,5,1,1\nNeu,9,9,1\nRewe,1,5,1\n"
    assert read_plan(path, load(other_order)).tours == ((1, 3),)
    moved = other_order.replace("1,5", "1,6").replace("5,1", "5,2")
    with pytest.raises(InputError, match=r"row 2: 2 customers are named 'Rewe'"):
        read_plan(path, load(moved))


def test_parts_of_an_order_are_served_once_each(load, tmp_path):
    """Customers with one name and one place are all served, by their demands."""
    table = "name,x,y,demand\nHub,0,0,\nMill,1,5,1\nMill,1,5,3\n"
    path = tmp_path / "plan.csv"
    write_plan(Plan([[2], [1]]), load(table), path)
    today = load("name,x,y,demand\nHub,0,0,\nNeu,9,9,1\nMill,1,5,1\nMill,1,5,3\n")
    assert read_plan(path, today).tours == ((3,), (2,))


def test_nameless_customers_are_found_by_place(load, tmp_path):
    """Without names, the coordinates say who is meant; the depot's rows may shift."""
    path = tmp_path / "plan.csv"
    write_plan(Plan([[1, 2]]), load("x,y,demand\n0,0,\n3,4,1\n6,8,1\n"), path)
    today = load("x,y,demand\n0,0,\n9,9,1\n3,4,1\n6,8,1\n")
    assert read_plan(path, today).tours == ((2, 3),)
    with pytest.raises(InputError, match="row 3: no customer is at the place"):
        read_plan(path, load("x,y,demand\n0,0,\n3,4,1\n6,9,1\n"))


def test_places_that_differ_by_a_rounding_error_are_the_same(load, tmp_path):
    """A file may round coordinates to nine decimals; more than that is elsewhere."""
    table = "x,y,demand\n0,0,\n3,4,1\n6,8,1\n"
    path = tmp_path / "plan.csv"
    write_plan(Plan([[1, 2]]), load(table), path)
    near = table.replace("3,4", "3.0000000008,4").replace("6,8", "6,7.9999999992")
    assert read_plan(path, load(near)).tours == ((1, 2),)
    with pytest.raises(InputError, match="no customer is at the place of customer 1"):
        read_plan(path, load(table.replace("3,4", "3.0000000012,4")))


def test_a_stop_at_the_depot_is_nobody(load, tmp_path):
    """The depot is not among the customers, also if a stop is at its place."""
    path = tmp_path / "plan.csv"
    write_plan(Plan([[1, 2]]), load("x,y,demand\n0,0,\n3,4,1\n6,8,1\n"), path)
    with pytest.raises(InputError, match="row 2: no customer is at the place"):
        read_plan(path, load("x,y,demand\n3,4,\n6,8,1\n9,9,1\n"))


def test_of_equal_customers_the_one_with_the_same_texts_is_meant(load, tmp_path):
    """Demand and further columns decide between orders of one name and place."""
    table = "name,x,y,demand,gate\nHub,0,0,,\nMill,1,5,1,A\nMill,1,5,1,B\n"
    path = tmp_path / "plan.csv"
    write_plan(Plan([[2], [1]]), load(table), path)
    turned = "name,x,y,demand,gate\nHub,0,0,,\nMill,1,5,1,B\nMill,1,5,1,A\n"
    assert read_plan(path, load(turned)).tours == ((1,), (2,))
    # If they say the same, the number decides.
    alike = table.replace(",B\n", ",A\n")
    write_plan(Plan([[2], [1]]), load(alike), path)
    assert read_plan(path, load(alike)).tours == ((2,), (1,))


def test_vehicles_of_one_name_or_of_none_are_told_apart_by_number():
    """A name that no other type has is shown as it is."""
    types = [VehicleType(capacity=1, name=name) for name in ("van", "car", "van", "")]
    fleet = {"customers": [(1, 1)] * 4, "demands": [1] * 4, "vehicle_types": types}
    plan = Plan([[1], [2], [3], [4]], [3, 2, 1, 0])
    names = vehicle_names(plan, Instance(depot=(0, 0), **fleet))
    assert names == ["4", "van 3", "car", "van 1"]


def test_a_plan_of_bare_numbers_is_taken_by_number(load, tmp_path):
    """Where a file says nothing but numbers, they are the customers' numbers."""
    today = load(HEAD + DEPOT + NEW + ADA + BOB)
    (tmp_path / "plan.csv").write_text("tour,stop,customer\n1,1,3\n1,2,1\n")
    (tmp_path / "plan.sol").write_text("Route #1: 3 1\n")
    for name in ("plan.csv", "plan.sol"):
        assert read_plan(tmp_path / name, today).tours == ((3, 1),)


def test_name_and_customer_number_must_agree(load, keep):
    """A stop whose name and number are those of two customers is refused."""
    again = keep([[1, 2]], load(HEAD + DEPOT + ADA + BOB))
    swapped = HEAD + DEPOT + ADA.replace("K1", "K2") + BOB.replace("K2", "K1")
    with pytest.raises(InputError, match=r"Kd.-Nr. K1 is 'Ada', .* Bob has this numb"):
        again(load(swapped))
    other = HEAD + DEPOT + ADA.replace("K1", "K7") + BOB
    with pytest.raises(InputError, match="nobody has this number"):
        again(load(other))


def test_a_customer_who_is_gone_is_named(load, keep):
    """A stop that is not among today's customers is refused by name."""
    again = keep([[1, 2]], load(HEAD + DEPOT + ADA + BOB))
    with pytest.raises(InputError, match="'Bob' is not among the customers"):
        again(load(HEAD + DEPOT + ADA + NEW))


def test_texts_of_a_json_tour_must_be_as_many_as_its_customers(load, tmp_path):
    """Names beside the wrong customers are refused, not shifted."""
    path = tmp_path / "plan.json"
    path.write_text('{"tours": [{"customers": [1, 2], "names": ["Ada"]}]}')
    with pytest.raises(InputError, match="2 customers, but 1 texts of 'name'"):
        read_plan(path, load(HEAD + DEPOT + ADA + BOB))
