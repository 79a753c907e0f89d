"""Tests of the errors and the checks that raise them."""

from __future__ import annotations

import os
import pickle
import sys
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pytest

from fixedfleet.errors import (
    InputError,
    MissingPackageError,
    above,
    at_least,
    between,
    check_array,
    check_choice,
    check_number,
    check_seed,
    check_server_url,
    check_settings,
    check_vehicle_cost,
    check_whole,
    place_of,
    require,
)


@dataclass(frozen=True)
class Settings:
    """One field of each kind that check_settings understands."""

    rounds: Annotated[int, at_least(1)] = 2
    rate: Annotated[float, above(0)] = 0.5
    share: Annotated[float, between(0, 1)] | None = None
    mode: Literal["fast", "slow"] = "fast"
    quiet: bool = False
    label: str = ""

    def __post_init__(self) -> None:
        check_settings(self)


@pytest.mark.parametrize("number", [3, 3.0, np.int32(3), np.float64(3)])
def test_a_whole_number_of_any_type(number):
    """A whole number is one, whatever its type, and comes back as an int."""
    whole = check_whole("count", number, at_least(3))
    assert type(whole) is int
    assert whole == 3


@pytest.mark.parametrize("number", [2, 3.5, True, "3", None, np.nan, np.inf, [3]])
def test_what_is_no_whole_number(number):
    """Anything else is refused in one line that says what would be right."""
    with pytest.raises(InputError, match=r"count is .*, not a whole number of at leas"):
        check_whole("count", number, at_least(1 if number != 2 else 3))


@pytest.mark.parametrize("seed", [-1, 1.5, 2**32, None])
def test_a_seed_is_one_that_numpy_takes(seed):
    """Seeds are whole numbers from 0 and below 2^32."""
    assert check_seed(2**32 - 1) == 2**32 - 1
    with pytest.raises(InputError, match="seed is"):
        check_seed(seed)


@pytest.mark.parametrize("cost", [0, 0.5, 1e6])
def test_a_vehicle_may_cost_nothing_or_any_amount(cost):
    """The fixed cost of a vehicle is a number from 0; below it is refused."""
    assert check_vehicle_cost(cost) == cost
    with pytest.raises(InputError, match=r"vehicle cost is .*, not a number of at l"):
        check_vehicle_cost(-0.5 - cost)


@pytest.mark.parametrize(
    "url",
    ["http://a", "https://a.org:8443/osrm/", "http://[::1]:5000", "http://1.2.3.4"],
)
def test_the_address_of_a_server_is_kept_without_a_slash_at_its_end(url):
    """A server may have a port and a path."""
    assert check_server_url("roads", url, "a server") == url.rstrip("/")


@pytest.mark.parametrize(
    "url",
    ["", "localhost:5000", "//a", "ftp://a", "http://", "http:///a", "http://a/?b=c",
     "http://[::1", "http://a:b", "http://a:65536", "http://a:0"],
)  # fmt: skip
def test_what_is_no_address_of_a_server_is_refused(url):
    """The message repeats the text and says which server it should be."""
    with pytest.raises(InputError) as caught:
        check_server_url("roads", url, "a server, such as http://b")
    said = f"roads {url!r} is not the address of a server, such as http://b"
    assert str(caught.value) == said
    assert caught.value.field == "roads"


def test_arrays_have_the_shape_that_is_asked_for():
    """A letter stands for any size; text and gaps are no numbers."""
    assert check_array("points", [[1, 2], [3, 4]], ("B", 2)).dtype == np.float64
    assert check_array("ids", [1.0, 2], ("N",), at_least(1), whole=True).sum() == 3
    for values, message in [
        ([1, 2], r"points has shape \(2,\), not \(B, 2\)"),
        ([[1], [2]], r"points has shape \(2, 1\), not \(B, 2\)"),
        ([[1, 2], [3]], "points must be a rectangular array of numbers"),
        ([["1", "2"]], "points must be a rectangular array"),
    ]:
        with pytest.raises(InputError, match=message):
            check_array("points", values, ("B", 2))
    for ids, message in [
        ([1, 0], r"ids\[1\] is 0, not a whole number of at least 1"),
        ([1, 1.5], r"ids\[1\] is 1.5, not a whole number"),
        ([1, np.nan], r"ids\[1\] is nan, not a whole number"),
    ]:
        with pytest.raises(InputError, match=message):
            check_array("ids", ids, ("N",), at_least(1), whole=True)


def test_a_missing_package_is_named_with_its_extra():
    """The error says what needs the package and how to install it."""
    with pytest.raises(MissingPackageError, match=r"x needs .*'no_such'.*\[extra\]"):
        require("no_such.module", "extra", "x")


def test_a_package_that_is_broken_is_not_called_missing(tmp_path, monkeypatch):
    """What an installed package lacks itself is said as it is."""
    (tmp_path / "broken_here.py").write_text("import broken")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken_here", raising=False)
    with pytest.raises(ModuleNotFoundError, match="'broken'") as caught:
        require("broken_here", "extra", "x")
    assert not isinstance(caught.value, MissingPackageError)


def test_settings_within_their_bounds_are_accepted():
    """Bounds are included, None stands for an optional setting that is not given."""
    assert Settings(rounds=1, rate=0.1, share=1, mode="slow", quiet=True).share == 1
    assert Settings(rounds=np.int64(3)).share is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "rounds is 0, not a whole number of at least 1"),
        ({"rounds": 1.5}, "rounds is 1.5, not a whole number of at least 1"),
        ({"rounds": 2.0}, "rounds is 2.0, not a whole number of at least 1"),
        ({"rate": 0}, "rate is 0, not a number above 0"),
        ({"rate": float("nan")}, "rate is nan, not a number above 0"),
        ({"rate": "0.5"}, "rate is '0.5', not a number above 0"),
        ({"share": 1.1}, "share is 1.1, not a number from 0 to 1"),
        ({"mode": "idle"}, "unknown mode 'idle': choose from fast, slow"),
        ({"quiet": 1}, "quiet is 1, not true or false"),
        ({"label": 7}, "label is 7, not text"),
    ],
)
def test_a_wrong_setting_is_named_with_what_it_must_be(changes, message):
    """The error names the setting, its value and the values that are allowed."""
    with pytest.raises(InputError) as caught:
        Settings(**changes)
    assert str(caught.value) == message


def test_a_prefix_says_which_settings_are_meant():
    """Where several groups of settings meet, the message names the group."""
    settings = Settings()
    object.__setattr__(settings, "rounds", 0)
    with pytest.raises(InputError, match=r"^training\.rounds is 0, "):
        check_settings(settings, "training.")


def test_numbers_and_choices_outside_a_dataclass():
    """The same checks serve arguments of functions."""
    assert check_number("time limit", np.float32(0.5), above(0)) == 0.5
    with pytest.raises(InputError, match=r"time limit is inf, not a number above 0"):
        check_number("time limit", float("inf"), above(0))
    with pytest.raises(InputError, match=r"unknown colour 'red': choose from blue"):
        check_choice("colour", "red", ["blue"])


def test_the_place_of_an_error_is_in_the_users_code(tmp_path):
    """An error in a library is placed at the line of the user's file that called it."""
    file = tmp_path / "nearest.py"
    file.write_text("import json\n\n\ndef read():\n    return json.loads('{')\n")
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    with pytest.raises(ValueError) as caught:
        names["read"]()
    # This test is the user's code, too; the last line of it counts.
    assert place_of(caught.value) == "nearest.py, line 5"
    assert place_of(ValueError("never raised")) == ""


def test_the_place_of_an_error_is_the_innermost_of_the_users_code(tmp_path):
    """Of several own functions that call each other, the last one is named."""
    file = tmp_path / "calls.py"
    file.write_text("def one():\n    two()\n\ndef two():\n    int('x')\n")
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    with pytest.raises(ValueError) as caught:
        names["one"]()
    assert place_of(caught.value) == "calls.py, line 5"
    exec(compile("def three():\n    two()", "<stdin>", "exec"), names)
    names["two"] = names["no_such"] = lambda: int("x")
    with pytest.raises(ValueError) as caught:
        names["three"]()
    assert place_of(caught.value).startswith("test_errors.py, line ")


def test_typed_code_has_no_file():
    """An error in what was typed into Python or a notebook is in "your code"."""
    for place in ("<stdin>", "/tmp/ipykernel_12/3456.py"):
        names = {}
        exec(compile("def typed():\n    int('x')\n", place, "exec"), names)
        with pytest.raises(ValueError) as caught:
            names["typed"]()
        assert place_of(caught.value) == "your code, line 2"


def test_threads_of_torch_sleep_while_they_wait(monkeypatch):
    """OpenMP is told before torch is loaded, unless the user has told it already."""
    monkeypatch.setattr("importlib.import_module", lambda name: name)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    require("torch", "network", "a network")
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
    monkeypatch.delenv("OMP_WAIT_POLICY")
    require("numpy", "", "an array")
    assert "OMP_WAIT_POLICY" not in os.environ
    require("torch", "network", "a network")
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"


def test_an_error_names_its_field_as_each_interface_does():
    """The name of the argument is not searched for in the message."""
    error = InputError("no fleet: give {field}", "vehicles").within("a.pkl")
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert one.field == "vehicles"
        assert str(one) == "a.pkl: no fleet: give vehicles="
        assert one.naming_fields("--{}".format) == "a.pkl: no fleet: give --vehicles"
    assert str(InputError("no column '{field}'")) == "no column '{field}'"


def test_an_error_names_several_fields():
    """Each is written as the interface writes it."""
    error = InputError("leave {field} out, or give {field:capacity}", "vehicles")
    assert str(error) == "leave vehicles= out, or give capacity="
    assert error.naming_fields("'{}'".format) == (
        "leave 'vehicles' out, or give 'capacity'"
    )


def test_checks_say_which_argument_is_wrong():
    """The service names it in its answer."""
    wrong = [
        (lambda: check_seed(-1), "seed"),
        (lambda: check_vehicle_cost(-1), "vehicle_cost"),
        (lambda: check_choice("metric", "x", ["y"]), "metric"),
        (lambda: check_array("demands", [[1]], ("N",)), "demands"),
        (lambda: check_number("row 3: demand", "a"), None),
        (lambda: check_number("minutes", -1, at_least(0), field="service"), "service"),
        (lambda: check_choice("column", "x", ["y"], field="columns"), "columns"),
    ]
    for check, field in wrong:
        with pytest.raises(InputError) as caught:
            check()
        assert caught.value.field == field
