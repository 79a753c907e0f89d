"""A linear program whose rows and columns change, solved by OR-Tools' GLOP."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fixedfleet.errors import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Basis = tuple[NDArray[np.int64], NDArray[np.int64]]  # GLOP's ids: rows, columns

__all__ = ["Entries", "LinearProgram", "NoSolutionError", "Solution"]


class NoSolutionError(RuntimeError):
    """GLOP has not solved a linear program, which happens for numerical reasons."""


class Entries(NamedTuple):
    """
    Coefficients of a sparse matrix: the row, column and value of each.

    The three arrays have the same length.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]


NO_ENTRIES = Entries(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


class Solution(NamedTuple):
    """
    An optimal solution: its cost, the value of each column, and the dual of each row.
    """

    value: float
    columns: NDArray[np.float64]
    duals: NDArray[np.float64]


class LinearProgram:
    """
    The linear program: minimise costs · x with lower ≤ A x ≤ upper and x ≥ 0.

    Rows and columns have the numbers 0, 1, … in the order in which they were added.
    After a deletion, the remaining ones are numbered again without gaps. Each run of
    GLOP starts from the basis of the previous solution.

    GLOP is called through MathOpt's protocol-buffer messages. MathOpt's Python layer is
    not used, because it makes a Python object of each value. For 2,000 variables, that
    takes about 6 ms per solution, as long as GLOP itself.
    """

    def __init__(self) -> None:
        purpose = "a lower bound"
        self._models = require("ortools.math_opt.model_pb2", "", purpose)
        self._updates = require("ortools.math_opt.model_update_pb2", "", purpose)
        self._parameters = require("ortools.math_opt.parameters_pb2", "", purpose)
        self._solvers = require("ortools.math_opt.core.python.solver", "", purpose)
        statuses = require("pybind11_abseil.status", "", purpose)
        self._failure: type[Exception] = statuses.StatusNotOk
        callbacks = require("ortools.math_opt.callback_pb2", "", purpose)
        self._starts = require("ortools.math_opt.model_parameters_pb2", "", purpose)
        self._results = require("ortools.math_opt.result_pb2", "", purpose)
        self._solutions = require("ortools.math_opt.solution_pb2", "", purpose)
        self._no_callback = callbacks.CallbackRegistrationProto()
        # The ids of rows and columns in GLOP. Ids of deleted ones are not used again.
        self._rows = self._columns = np.zeros(0, np.int64)
        self._lower, self._upper, self._costs = (np.zeros(0) for _ in range(3))
        self._zero = np.zeros(0, bool)  # whether a column must be 0
        self._entries: list[Entries] = []  # all entries ever added, by GLOP's ids
        # The basis of the last solution, by GLOP's ids. GLOP continues from it by
        # itself if only columns have been added.
        self._basic_rows = self._basic_columns = np.zeros(0, np.int64)
        self._basis_needed = False
        self._solver = self._new_solver()

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return len(self._rows)

    @property
    def num_columns(self) -> int:
        """The number of columns."""
        return len(self._columns)

    def add_rows(
        self,
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        entries: Entries = NO_ENTRIES,
    ) -> None:
        """
        Add rows with lower and upper bounds.

        ``entries`` has their coefficients. Its row numbers are those that the new rows
        will have: the first is the present number of rows.
        """
        born = len(self._lower) + np.arange(len(lower))
        self._rows = np.append(self._rows, born)
        self._lower = np.append(self._lower, lower)
        self._upper = np.append(self._upper, upper)
        self._basic_rows = np.append(self._basic_rows, born)
        self._basis_needed = True
        update = self._updates.ModelUpdateProto()
        self._fill_rows(update.new_linear_constraints, born)
        self._apply(update, entries)

    def add_columns(self, costs: NDArray[np.float64], entries: Entries) -> None:
        """
        Add columns with costs.

        ``entries`` has their coefficients. Its column numbers are those that the new
        columns will have: the first is the present number of columns.
        """
        born = len(self._costs) + np.arange(len(costs))
        self._columns = np.append(self._columns, born)
        self._costs = np.append(self._costs, costs)
        self._zero = np.append(self._zero, np.zeros(len(costs), bool))
        update = self._updates.ModelUpdateProto()
        objective = update.objective_updates.linear_coefficients
        self._fill_columns(update.new_variables, objective, born)
        self._apply(update, entries)

    def change_costs(self, costs: NDArray[np.float64]) -> None:
        """Set the costs of the first ``len(costs)`` columns."""
        self._costs[self._columns[: len(costs)]] = costs
        update = self._updates.ModelUpdateProto()
        objective = update.objective_updates.linear_coefficients
        objective.ids.extend(self._columns[: len(costs)])
        objective.values.extend(costs)
        self._apply(update)

    @property
    def basis(self) -> Basis:
        """The basis of the last solution."""
        return self._basic_rows, self._basic_columns

    def set_to_zero(self, which: NDArray[np.bool_], basis: Basis) -> None:
        """
        Require that the columns of a mask are 0, and no longer that others are.

        The next run of GLOP starts from ``basis``, an earlier one of this program.
        """
        self._basic_rows, self._basic_columns = basis
        changed = self._columns[which != self._zero[self._columns]]
        self._zero[self._columns] = which
        update = self._updates.ModelUpdateProto()
        update.variable_updates.upper_bounds.ids.extend(changed)
        update.variable_updates.upper_bounds.values.extend(self._most(changed))
        self._basis_needed = True
        self._apply(update)

    def _most(self, columns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the upper bounds of columns, by GLOP's ids."""
        return np.where(self._zero[columns], 0.0, np.inf)

    def change(self, entries: Entries) -> None:
        """Set coefficients in rows and columns that exist already."""
        self._apply(self._updates.ModelUpdateProto(), entries)

    def delete_rows(self, which: NDArray[np.bool_]) -> None:
        """Delete the rows for which the mask is true."""
        update = self._updates.ModelUpdateProto()
        update.deleted_linear_constraint_ids.extend(self._rows[which])
        self._rows = self._rows[~which]
        self._basis_needed = True
        self._apply(update)

    def delete_columns(self, which: NDArray[np.bool_]) -> None:
        """Delete the columns for which the mask is true."""
        update = self._updates.ModelUpdateProto()
        update.deleted_variable_ids.extend(self._columns[which])
        self._columns = self._columns[~which]
        self._basis_needed = True
        self._apply(update)

    def solve(self) -> Solution:
        """Return an optimal solution; raise NoSolutionError if GLOP finds none."""
        failure = ""
        for presolve in ("OFF", "LOW", "HIGH"):
            try:
                return self._solve(f"EMPHASIS_{presolve}")
            except (RuntimeError, self._failure) as error:
                failure = str(error)
            # A solver that has failed cannot be used again, so a new one is made.
            self._solver = self._new_solver()
        raise NoSolutionError(f"GLOP found no solution: {failure}")

    def _solve(self, presolve: str) -> Solution:
        # With scaling, each new column would change the scale, and GLOP could not
        # continue from its basis. The coefficients are small whole numbers, which need
        # no scaling.
        settings = self._parameters.SolveParametersProto(
            presolve=presolve, scaling="EMPHASIS_OFF", threads=1
        )
        # GLOP rejects a basis if an upper bound on its condition number exceeds this
        # threshold. This bound is far too large for the bases of hundreds of rows.
        settings.glop.initial_condition_number_threshold = sys.float_info.max
        start = self._starts.ModelSolveParametersProto()
        if self._basis_needed and presolve == "EMPHASIS_OFF" and self._has_basis():
            settings.lp_algorithm = self._parameters.LP_ALGORITHM_DUAL_SIMPLEX
            self._fill_basis(start.initial_basis)
        result = self._solver.solve(
            settings, start, None, self._no_callback, None, None
        )
        if result.termination.reason != self._results.TERMINATION_REASON_OPTIMAL:
            raise RuntimeError(result.termination.detail or "no optimal solution")
        found = result.solutions[0]
        self._read_basis(found.basis)
        return Solution(
            found.primal_solution.objective_value,
            np.array(found.primal_solution.variable_values.values),
            np.array(found.dual_solution.dual_values.values),
        )

    # Messages to GLOP

    def _new_solver(self) -> Any:
        """Return a new solver that holds the present program."""
        model = self._models.ModelProto()
        self._fill_rows(model.linear_constraints, self._rows)
        objective = model.objective.linear_coefficients
        self._fill_columns(model.variables, objective, self._columns)
        if self._entries:
            rows, columns, values = map(
                np.concatenate, zip(*self._entries, strict=True)
            )
            there = np.isin(rows, self._rows) & np.isin(columns, self._columns)
            # If several entries have the same row and column, the last one counts.
            order = np.lexsort((np.arange(len(rows)), columns, rows))
            order = order[there[order]]
            last = np.append(
                (np.diff(rows[order]) != 0) | (np.diff(columns[order]) != 0), True
            )
            order = order[last[: len(order)]]
            kept = Entries(rows[order], columns[order], values[order])
            _fill_matrix(model.linear_constraint_matrix, kept)
            self._entries = [kept]
        return self._solvers.new(
            self._parameters.SOLVER_TYPE_GLOP,
            model,
            self._parameters.SolverInitializerProto(),
        )

    def _fill_rows(self, message: Any, rows: NDArray[np.int64]) -> None:
        message.ids.extend(rows)
        message.lower_bounds.extend(self._lower[rows])
        message.upper_bounds.extend(self._upper[rows])

    def _fill_columns(
        self, message: Any, objective: Any, columns: NDArray[np.int64]
    ) -> None:
        message.ids.extend(columns)
        message.lower_bounds.extend(np.zeros(len(columns)))
        message.upper_bounds.extend(self._most(columns))
        message.integers.extend([False] * len(columns))
        objective.ids.extend(columns)
        objective.values.extend(self._costs[columns])

    def slack_rows(self) -> NDArray[np.bool_]:
        """
        Return a mask of the rows that have slack in the last solution.

        The duals of these rows are zero.
        """
        return np.isin(self._rows, self._basic_rows)

    def _has_basis(self) -> bool:
        """
        Return whether deletions have left the basis of the last solution complete.
        """
        columns = np.isin(self._columns, self._basic_columns).sum()
        return bool(columns + self.slack_rows().sum() == len(self._rows))

    def _read_basis(self, basis: Any) -> None:
        basic = self._solutions.BASIS_STATUS_BASIC
        rows, columns = basis.constraint_status, basis.variable_status
        self._basic_rows = np.array(rows.ids)[np.array(rows.values) == basic]
        self._basic_columns = np.array(columns.ids)[np.array(columns.values) == basic]
        self._basis_needed = False

    def _fill_basis(self, basis: Any) -> None:
        upper = self._solutions.BASIS_STATUS_AT_UPPER_BOUND
        lower = self._solutions.BASIS_STATUS_AT_LOWER_BOUND
        basic = self._solutions.BASIS_STATUS_BASIC
        at_bound = np.where(np.isfinite(self._lower[self._rows]), lower, upper)
        basis.constraint_status.ids.extend(self._rows)
        statuses = np.where(self.slack_rows(), basic, at_bound)
        basis.constraint_status.values.extend(statuses)
        is_basic = np.isin(self._columns, self._basic_columns)
        basis.variable_status.ids.extend(self._columns)
        basis.variable_status.values.extend(np.where(is_basic, basic, lower))

    def _apply(self, update: Any, entries: Entries = NO_ENTRIES) -> None:
        rows, columns = self._rows[entries.rows], self._columns[entries.columns]
        order = np.lexsort((columns, rows))
        entries = Entries(rows[order], columns[order], entries.values[order])
        self._entries.append(entries)
        _fill_matrix(update.linear_constraint_matrix_updates, entries)
        if not self._solver.update(update):
            self._solver = self._new_solver()


def _fill_matrix(message: Any, entries: Entries) -> None:
    message.row_ids.extend(entries.rows)
    message.column_ids.extend(entries.columns)
    message.coefficients.extend(entries.values)
