"""Triton kernel: solve linear assignments by shortest augmenting paths."""
# mypy: ignore-errors

import triton
import triton.language as tl

__all__ = ["solve_assignments"]


@triton.jit
def _pick(values, offsets, index):
    """
    Return the element of a vector at an index that is known only at run time.

    ``offsets`` are the numbers 0, 1, 2, … of the vector's elements.
    """
    return tl.sum(tl.where(offsets == index, values, tl.zeros_like(values)), axis=0)


@triton.jit
def solve_assignments(cost_ptr, column_ptr, m: tl.constexpr, BLOCK: tl.constexpr):
    """
    Match rows to columns at the least total cost; write the column of each row.

    This is Jonker and Volgenant's algorithm. Each program solves one assignment of m
    rows and m columns. Each lane of a program is a column: it holds the row matched to
    the column, the dual variable ``u`` of this row, the dual variable ``v`` of the
    column, and the previous column on the augmenting path. Rows are added one after
    another. A path has at most m columns, so the loops end for any costs.
    """
    cost_ptr += tl.program_id(0).to(tl.int64) * m * m
    column_ptr += tl.program_id(0).to(tl.int64) * m
    lane = tl.arange(0, BLOCK)
    inside = lane < m
    far = 1e30
    row = tl.full((BLOCK,), -1, tl.int32)
    u = tl.zeros((BLOCK,), tl.float32)
    v = tl.zeros((BLOCK,), tl.float32)
    for new_row in range(m):
        shortest = tl.full((BLOCK,), far, tl.float32)
        before = tl.full((BLOCK,), -1, tl.int32)
        done = tl.zeros((BLOCK,), tl.int32)
        reached = 0.0  # length of the shortest path so far
        current = new_row  # the last row of the path
        dual = 0.0  # the dual variable of this row; 0 for the new row
        last = -1  # the last column of the path
        steps = 0
        sink = -1
        while (sink < 0) & (steps < m):
            costs = tl.load(cost_ptr + current * m + lane, mask=inside, other=far)
            path = reached + costs - dual - v
            better = inside & (done == 0) & (path < shortest)
            shortest = tl.where(better, path, shortest)
            before = tl.where(better, last, before)
            open_paths = tl.where(inside & (done == 0), shortest, far * 2)
            reached = tl.min(open_paths, axis=0)
            last = tl.argmin(open_paths, axis=0).to(tl.int32)
            done = tl.where(lane == last, 1, done)
            current = _pick(row, lane, last)
            dual = _pick(u, lane, last)
            sink = tl.where(current < 0, last, -1)
            current = tl.where(current < 0, new_row, current)
            steps += 1
        # Update the duals of all scanned columns but the sink.
        change = tl.where((done == 1) & (lane != sink), reached - shortest, 0.0)
        u += change
        v -= change
        # Shift the matches along the path, from the sink to the new row.
        column = sink
        steps = 0
        while (column >= 0) & (steps < m):
            previous = _pick(before, lane, column)
            moved = tl.where(previous < 0, new_row, _pick(row, lane, previous))
            moved_u = tl.where(previous < 0, reached, _pick(u, lane, previous))
            row = tl.where(lane == column, moved, row)
            u = tl.where(lane == column, moved_u, u)
            column = previous
            steps += 1
    tl.store(column_ptr + row, lane.to(tl.int64), mask=inside & (row >= 0))
