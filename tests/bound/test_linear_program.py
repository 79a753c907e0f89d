"""The linear program is solved again after every kind of change."""

from __future__ import annotations

import numpy as np
import pytest

from fixedfleet.bound.linear_program import Entries, LinearProgram, NoSolutionError


def entries(*triples):
    """Entries from (row, column, value)."""
    rows, columns, values = zip(*triples, strict=True)
    return Entries(np.array(rows), np.array(columns), np.array(values, float))


@pytest.fixture
def program():
    """Minimise 3x + 2y with x + y ≥ 4 and y ≤ 3: x = 1 and y = 3."""
    program = LinearProgram()
    program.add_rows(np.array([4.0, -np.inf]), np.array([np.inf, 3.0]))
    costs = np.array([3.0, 2.0])
    program.add_columns(costs, entries((0, 0, 1), (0, 1, 1), (1, 1, 1)))
    return program


def test_the_solution_has_value_variables_and_duals(program):
    """Value, variables and duals are those of the optimum."""
    solution = program.solve()
    assert solution.value == pytest.approx(9.0)
    assert solution.columns == pytest.approx([1.0, 3.0])
    assert solution.duals == pytest.approx([3.0, -1.0])


def test_changes_are_seen_in_any_order(program):
    """Rows and columns can be added, changed and deleted between solutions."""
    program.solve()
    program.add_columns(np.array([1.0]), entries((0, 2, 1)))
    assert program.solve().columns == pytest.approx([0.0, 0.0, 4.0])
    program.add_rows(np.array([-np.inf]), np.array([1.0]), entries((2, 2, 1)))
    assert program.solve().value == pytest.approx(7.0)
    program.change(entries((2, 2, 2)))  # 2z ≤ 1
    assert program.solve().columns == pytest.approx([0.5, 3.0, 0.5])
    program.delete_rows(np.array([False, True, False]))
    assert program.solve().columns == pytest.approx([0.0, 3.5, 0.5])
    program.delete_columns(np.array([False, True, False]))
    solution = program.solve()
    assert solution.columns == pytest.approx([3.5, 0.5])
    assert (program.num_rows, program.num_columns) == (2, 2)
    assert program.slack_rows().tolist() == [False, False]


def test_costs_of_the_first_columns_can_be_changed(program):
    """After x has become cheaper than y, all is x."""
    program.solve()
    program.change_costs(np.array([1.0]))
    assert program.solve().columns == pytest.approx([4.0, 0.0])
    program.add_columns(np.array([5.0]), entries((0, 2, 1)))  # does not undo it
    assert program.solve().value == pytest.approx(4.0)


def test_columns_can_be_required_to_be_zero(program, monkeypatch):
    """Without y, all is x; then y is allowed again. A new solver knows it, too."""
    basis = (program.solve(), program.basis)[1]
    program.set_to_zero(np.array([False, True]), basis)
    assert program.solve().columns == pytest.approx([4.0, 0.0])
    program.add_columns(np.array([2.5]), entries((0, 2, 1)))
    monkeypatch.setattr(program, "_solver", program._new_solver())
    assert program.solve().columns == pytest.approx([0.0, 0.0, 4.0])
    program.set_to_zero(np.array([False, False, True]), basis)
    assert program.solve().columns == pytest.approx([1.0, 3.0, 0.0])


def test_a_program_is_solved_from_its_basis(monkeypatch):
    """If nothing has changed, no iteration is needed, also if there are many rows."""
    size = 200
    program = LinearProgram()
    sums = np.arange(size, 0.0, -1)  # of all columns from the row's number on
    program.add_rows(sums, sums)
    rows, columns = np.triu_indices(size)
    program.add_columns(np.ones(size), Entries(rows, columns, np.ones(len(rows))))
    first = program.solve()
    program.set_to_zero(np.zeros(size, bool), program.basis)
    results = []
    inner = program._solver

    class Watched:
        def solve(self, *arguments):
            results.append(inner.solve(*arguments))
            return results[-1]

    monkeypatch.setattr(program, "_solver", Watched())
    assert program.solve().value == pytest.approx(first.value)
    assert results[0].solve_stats.simplex_iterations == 0


def test_a_solver_that_fails_is_replaced(program, monkeypatch):
    """If GLOP gives up, the same program is given to a new solver."""
    program.solve()
    program.add_columns(np.array([1.0]), entries((0, 2, 1)))
    program.change(entries((0, 2, 2)))

    class Broken:
        def solve(self, *_arguments):
            raise RuntimeError("numerical trouble")

    monkeypatch.setattr(program, "_solver", Broken())
    assert program.solve().columns == pytest.approx([0.0, 0.0, 2.0])


def test_a_new_solver_gets_nothing_that_was_deleted(program, monkeypatch):
    """If GLOP gives up after deletions, the new solver has what is left."""
    program.add_rows(np.array([5.0]), np.array([np.inf]), entries((2, 0, 1)))  # x ≥ 5
    program.add_columns(np.array([1.0]), entries((0, 2, 1)))
    assert program.solve().value == pytest.approx(15.0)
    program.delete_rows(np.array([False, False, True]))
    program.delete_columns(np.array([False, False, True]))

    class Broken:
        def solve(self, *_arguments):
            raise RuntimeError("numerical trouble")

    monkeypatch.setattr(program, "_solver", Broken())
    assert program.solve().columns == pytest.approx([1.0, 3.0])


def test_a_program_without_solution_is_an_error(program):
    """A program that no solver solves is an error, not a wrong bound."""
    program.add_rows(np.array([9.0]), np.array([9.0]), entries((2, 1, 1)))  # y = 9
    with pytest.raises(NoSolutionError, match="GLOP found no solution"):
        program.solve()
