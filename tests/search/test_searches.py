"""What is known about a search before it is loaded, and how it is loaded."""

from __future__ import annotations

import sys
from functools import partial

import pytest

import fixedfleet as ff
from fixedfleet.search import SEARCHES, Abilities, improve, load_search, name_of
from fixedfleet.search.ruin_recreate import ruin_recreate
from fixedfleet.search.searches import loaded_by


@pytest.mark.parametrize("name", SEARCHES.names())
def test_every_search_has_abilities(name):
    """No search by name is described by the defaults for searches of one's own."""
    assert SEARCHES.abilities(name) != Abilities()


def test_a_search_of_ones_own_reports_but_does_not_count():
    """Nothing else is known of it, whether it is a reference or a function."""
    for search in ("mine.py:turn", lambda task: iter(())):
        assert SEARCHES.abilities(search) == Abilities()
    assert SEARCHES.abilities("mine.py:turn").reports
    assert not SEARCHES.abilities("mine.py:turn").counts_iterations
    assert not SEARCHES.abilities("mine.py:turn").outside


def test_outside_solvers_say_what_they_cannot_do():
    """These are other programs, as any command is; ours are not."""
    outside = SEARCHES.outside()
    assert outside == ["hgs", "pyvrp", "ortools", "ortools_descent", "vroom"]
    for name in [*outside, "command:any {instance}"]:
        assert SEARCHES.abilities(name).outside
        assert SEARCHES.abilities(name).limitations


def test_abilities_load_no_code(monkeypatch):
    """A list of all searches is fast, and needs none of their packages."""
    monkeypatch.setitem(sys.modules, "pyvrp", None)
    monkeypatch.setattr(SEARCHES, "_parts", {})
    assert SEARCHES.abilities("pyvrp").package == "pyvrp"
    assert SEARCHES._parts == {}


def test_a_search_is_loaded_for_its_instance(square):
    """What ``loaded_by`` names is called, also of a search with other settings."""
    loaded = []

    @loaded_by(loaded.append)
    def mine(task, setting=1):
        yield from ()

    assert load_search(mine, square) is mine
    load_search(partial(mine, setting=2), square)
    assert loaded == [square, square]


def test_a_search_has_a_name():
    """A reference is its own name; a function and an object have theirs."""

    class Turning:
        def __call__(self, task):
            yield from ()

    assert name_of("mine.py:turn") == "mine.py:turn"
    assert name_of(ruin_recreate) == "ruin_recreate"
    assert name_of(Turning()) == "Turning"


def test_parameters_follow_the_name_of_a_search():
    """What follows the name reaches the search; its abilities stay the same."""
    found = SEARCHES.get("hgs:population=4,targetFeasible=0.3")
    assert found.keywords == {"population": 4, "targetFeasible": 0.3}
    assert SEARCHES.abilities("hgs:population=4") == SEARCHES.abilities("hgs")
    assert SEARCHES.parameters("auto") == {}


def test_a_search_of_one_s_own_has_parameters(tmp_path, square):
    """Keyword parameters with a default can be set behind "module.py:Name"."""
    file = tmp_path / "own_search.py"
    file.write_text(
        "from fixedfleet import Plan\n"
        "def one_by_one(task, *, backwards=False):\n"
        "    yield Plan([[4, 3], [2, 1]] if backwards else [[1, 2], [3, 4]])\n"
    )
    found = improve(square, search=f"{file}:one_by_one:backwards=yes", time_limit=1)
    assert found.plan.tours == ((4, 3), (2, 1))
    with pytest.raises(ff.InputError, match="does not take forwards="):
        improve(square, search=f"{file}:one_by_one:forwards=yes", time_limit=1)
