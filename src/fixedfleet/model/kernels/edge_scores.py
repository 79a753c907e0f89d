"""Triton kernels of the decoder: scores of edges, and their gradients."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl

__all__ = ["edge_scores", "edge_scores_backward"]

# A tile has fewer rows and fewer columns than a program has threads. Then Triton loads
# vectors along either axis without shared memory.
_WARPS = 4
_ROWS = 16
_COLUMNS = 64
_VEHICLES = 4  # the number of accumulators written out in `score_edges`


@triton.jit
def score_edges(
    a_ptr,
    b_ptr,
    c_ptr,
    v_ptr,
    out_ptr,
    n: tl.constexpr,
    m: tl.constexpr,
    width: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """
    Compute Σ_c ReLU(a_ic + b_jc + c_kc) · v_kc for a tile of edges and four vehicles.

    The names are those of :func:`fixedfleet.model.decoder.edge_scores`, but a and b
    have shape (B, width, n), so that neighbouring threads read neighbouring addresses.
    An index beyond the end is replaced by the last index; its results are not stored.
    """
    across = tl.cdiv(n, COLUMNS)
    down = tl.cdiv(n, ROWS)
    groups = tl.cdiv(m, 4)
    program = tl.program_id(0)
    j = (program % across) * COLUMNS + tl.arange(0, COLUMNS)
    i = (program // across % down) * ROWS + tl.arange(0, ROWS)
    first = program // (across * down) % groups * 4
    instance = (program // (across * down * groups)).to(tl.int64)
    row = tl.minimum(i, n - 1)
    column = tl.minimum(j, n - 1)
    a_ptr += instance * width * n
    b_ptr += instance * width * n
    second = tl.minimum(first + 1, m - 1)
    third = tl.minimum(first + 2, m - 1)
    fourth = tl.minimum(first + 3, m - 1)
    vehicle = instance * m
    c0 = c_ptr + (vehicle + first) * width
    c1 = c_ptr + (vehicle + second) * width
    c2 = c_ptr + (vehicle + third) * width
    c3 = c_ptr + (vehicle + fourth) * width
    v0 = v_ptr + (vehicle + first) * width
    v1 = v_ptr + (vehicle + second) * width
    v2 = v_ptr + (vehicle + third) * width
    v3 = v_ptr + (vehicle + fourth) * width
    s0 = tl.zeros((ROWS, COLUMNS), tl.float32)
    s1 = tl.zeros((ROWS, COLUMNS), tl.float32)
    s2 = tl.zeros((ROWS, COLUMNS), tl.float32)
    s3 = tl.zeros((ROWS, COLUMNS), tl.float32)
    for c in range(width):
        start = tl.load(a_ptr + c * n + row)
        end = tl.load(b_ptr + c * n + column)
        edge = start[:, None] + end[None, :]
        s0 += tl.maximum(edge + tl.load(c0 + c).to(tl.float32), 0.0) * tl.load(
            v0 + c
        ).to(tl.float32)
        s1 += tl.maximum(edge + tl.load(c1 + c).to(tl.float32), 0.0) * tl.load(
            v1 + c
        ).to(tl.float32)
        s2 += tl.maximum(edge + tl.load(c2 + c).to(tl.float32), 0.0) * tl.load(
            v2 + c
        ).to(tl.float32)
        s3 += tl.maximum(edge + tl.load(c3 + c).to(tl.float32), 0.0) * tl.load(
            v3 + c
        ).to(tl.float32)
    inside = (i < n)[:, None] & (j < n)[None, :]
    out_ptr += (vehicle + first) * n * n
    place = i[:, None] * n + j[None, :]
    tl.store(out_ptr + place, s0, mask=inside)
    if first + 1 < m:
        tl.store(out_ptr + n * n + place, s1, mask=inside)
    if first + 2 < m:
        tl.store(out_ptr + 2 * n * n + place, s2, mask=inside)
    if first + 3 < m:
        tl.store(out_ptr + 3 * n * n + place, s3, mask=inside)


@triton.jit
def slope_of_ends(
    own_ptr,
    other_ptr,
    c_ptr,
    v_ptr,
    g_ptr,
    own_grad_ptr,
    c_grad_ptr,
    v_grad_ptr,
    n: tl.constexpr,
    m: tl.constexpr,
    width: tl.constexpr,
    OWN_STEP: tl.constexpr,
    OTHER_STEP: tl.constexpr,
    VEHICLES: tl.constexpr,
    ROWS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    """
    Compute the gradient of a or of b, and with VEHICLES also the gradients of c and v.

    a, b, c and v are the arguments of :func:`edge_scores`. ``own`` is the one of a and
    b whose gradient is computed, and ``other`` is the other one. A thread computes a
    few pairs of location and channel: it loops over the vehicles and over the locations
    at the other end of the edge. The gradients of c and v are sums over all locations;
    each tile stores the partial sum of its locations.
    """
    blocks = tl.cdiv(width, CHANNELS)
    tiles = tl.cdiv(n, ROWS)
    program = tl.program_id(0)
    channel = (program % blocks) * CHANNELS + tl.arange(0, CHANNELS)
    tile = program // blocks  # counted over all instances
    row = (tile % tiles) * ROWS + tl.arange(0, ROWS)
    instance = (tile // tiles).to(tl.int64)
    tile = tile.to(tl.int64)
    real = row < n
    known = channel < width
    place = (instance * n + row)[:, None] * width + channel[None, :]
    inside = real[:, None] & known[None, :]
    own = tl.load(own_ptr + place, mask=inside, other=0.0).to(tl.float32)
    other_ptr += instance * n * width
    g_ptr += instance * m * n * n
    own_grad = tl.zeros((ROWS, CHANNELS), tl.float32)
    for k in range(m):
        vehicle = (instance * m + k) * width + channel
        c = tl.load(c_ptr + vehicle, mask=known, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + vehicle, mask=known, other=0.0).to(tl.float32)
        base = own + c[None, :]
        passed = tl.zeros((ROWS, CHANNELS), tl.float32)
        value = tl.zeros((ROWS, CHANNELS), tl.float32)
        for t in range(n):
            end = tl.load(other_ptr + t * width + channel, mask=known, other=0.0)
            edge = row * OWN_STEP + t * OTHER_STEP
            g = tl.load(g_ptr + k * n * n + edge, mask=real, other=0.0)
            x = base + end.to(tl.float32)[None, :]
            through = tl.where(x > 0, g[:, None], 0.0)
            passed += through
            if VEHICLES:
                value += through * x
        own_grad += passed * v[None, :]
        if VEHICLES:
            partial = (tile * m + k) * width + channel
            tl.store(c_grad_ptr + partial, tl.sum(passed, axis=0) * v, mask=known)
            tl.store(v_grad_ptr + partial, tl.sum(value, axis=0), mask=known)
    tl.store(own_grad_ptr + place, own_grad, mask=inside)


@torch.library.custom_op(
    "fixedfleet::edge_scores",
    mutates_args=(),
    schema="(Tensor a, Tensor b, Tensor c, Tensor v) -> Tensor",
)
def edge_scores(a, b, c, v):
    """
    Return Σ_c ReLU(a_ic + b_jc + c_kc) · v_kc, shape (B, M, N', N').

    The arguments are those of :func:`fixedfleet.model.decoder.edge_scores`.
    """
    size, n, width = a.shape
    m = c.shape[1]
    scores = a.new_empty((size, m, n, n), dtype=torch.float32)
    rows, columns = _ROWS, min(_COLUMNS, triton.next_power_of_2(n))
    tiles = triton.cdiv(n, rows) * triton.cdiv(n, columns)
    if size and m:
        score_edges[(size * triton.cdiv(m, _VEHICLES) * tiles,)](
            _transposed(a),
            _transposed(b),
            c.contiguous(),
            v.contiguous(),
            scores,
            n=n,
            m=m,
            width=width,
            ROWS=rows,
            COLUMNS=columns,
            num_warps=_WARPS,
            num_stages=1,
        )
    return scores


def _transposed(x):
    """Return a copy of x in float32 with its last two axes exchanged."""
    size, n, width = x.shape
    return x.new_empty((size, width, n), dtype=torch.float32).copy_(x.mT)


@edge_scores.register_fake
def _(a, b, c, v):
    size, n, _ = a.shape
    return a.new_empty((size, c.shape[1], n, n), dtype=torch.float32)


@torch.library.custom_op(
    "fixedfleet::edge_scores_backward",
    mutates_args=(),
    schema="(Tensor g, Tensor a, Tensor b, Tensor c, Tensor v)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
)
def edge_scores_backward(g, a, b, c, v):
    """
    Return the gradients of a, b, c and v, in float32.

    ``g`` is the gradient of the scores, shape (B, M, N', N'). The gradients of a and b
    have shape (B, N', D). Those of c and v are partial sums, shape (B, tiles, M, D),
    which the caller must sum over the tiles.
    """
    size, n, width = a.shape
    m = c.shape[1]
    tiles = triton.cdiv(n, _ROWS)
    channels = min(_COLUMNS, triton.next_power_of_2(width))
    floats = {"dtype": torch.float32}
    a_grad, b_grad = a.new_empty(a.shape, **floats), a.new_empty(a.shape, **floats)
    c_grad = a.new_empty((size, tiles, m, width), **floats)
    v_grad = torch.empty_like(c_grad)
    a, b, c, v, g = (x.contiguous() for x in (a, b, c, v, g))
    for own, other, own_grad, steps, vehicles in (
        (a, b, a_grad, (n, 1), True),
        (b, a, b_grad, (1, n), False),
    ):
        slope_of_ends[(size * tiles * triton.cdiv(width, channels),)](
            own,
            other,
            c,
            v,
            g,
            own_grad,
            c_grad,
            v_grad,
            n=n,
            m=m,
            width=width,
            OWN_STEP=steps[0],
            OTHER_STEP=steps[1],
            VEHICLES=vehicles,
            ROWS=_ROWS,
            CHANNELS=channels,
            num_warps=_WARPS,
            num_stages=1,
        )
    return a_grad, b_grad, c_grad, v_grad


@edge_scores_backward.register_fake
def _(g, a, b, c, v):
    size, n, width = a.shape
    tiles = triton.cdiv(n, _ROWS)
    floats = {"dtype": torch.float32}
    ends, sums = (size, n, width), (size, tiles, c.shape[1], width)
    return (
        a.new_empty(ends, **floats),
        a.new_empty(ends, **floats),
        a.new_empty(sums, **floats),
        a.new_empty(sums, **floats),
    )


def _keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _differentiate(ctx, g):
    a, b, c, v = inputs = ctx.saved_tensors
    grads = torch.ops.fixedfleet.edge_scores_backward(g, *inputs)
    return (
        grads[0].to(a.dtype),
        grads[1].to(b.dtype),
        grads[2].sum(1).to(c.dtype),
        grads[3].sum(1).to(v.dtype),
    )


edge_scores.register_autograd(_differentiate, setup_context=_keep)
