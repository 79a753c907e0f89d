"""Triton kernels of leave-one-out max pooling, and of its gradients."""
# mypy: ignore-errors

import torch
import triton
import triton.language as tl

__all__ = ["pool_primed"]

# A tile has fewer rows and fewer channels than a program has threads: see edge_scores.
_WARPS = 4
_ROWS = 16
_CHANNELS = 64


@triton.jit
def _primed(d, q, gain, fall, demand, offset):
    """
    Return exp(−τ_d · d) and the weights w of a tile, per channel.

    ``d`` holds the distances d_ij, and ``q`` the sums of demands q_i + q_j. ``gain`` is
    γ_d, ``fall`` is −τ_d · log2 e, ``demand`` is γ_q · τ_q, and ``offset`` is β. The
    formula of w is that of ``Priming`` in the module ``pooling``.
    """
    near = tl.exp2(fall[None, :] * d)
    return near, gain[None, :] * near + demand[None, :] * q + offset[None, :]


@triton.jit
def find_maxima(
    h_ptr,
    d_ptr,
    q_ptr,
    real_ptr,
    gain_ptr,
    rate_ptr,
    demand_ptr,
    offset_ptr,
    out_ptr,
    winner_ptr,
    n: tl.constexpr,
    width: tl.constexpr,
    ROWS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    """
    Find the maximum of h_j ⊙ w_ij over all customers j except i and padding, and its j.

    h_j is the message of location j, and w_ij is its weight (see ``Priming`` in the
    module ``pooling``). The j with the maximum is called the winner, for each i and
    channel. Of equal values the first wins, as with argmax. If there is no j, the
    maximum is 0 and the winner is −1.
    """
    blocks = tl.cdiv(width, CHANNELS)
    tiles = tl.cdiv(n, ROWS)
    program = tl.program_id(0)
    channel = (program % blocks) * CHANNELS + tl.arange(0, CHANNELS)
    row = (program // blocks % tiles) * ROWS + tl.arange(0, ROWS)
    instance = (program // (blocks * tiles)).to(tl.int64)
    known = channel < width
    inside = (row < n)[:, None] & known[None, :]
    h_ptr += instance * n * width
    real_ptr += instance * n
    place = instance * n * width + row[:, None] * width + channel[None, :]
    d_ptr += instance * n * n
    q_ptr += instance * n * n
    gain = tl.load(gain_ptr + channel, mask=known, other=0.0)
    # e^x is computed as 2^(x · log2 e); the factor is the same for all pairs.
    fall = tl.load(rate_ptr + channel, mask=known, other=0.0) * -1.4426950408889634
    demand = tl.load(demand_ptr + channel, mask=known, other=0.0)
    offset = tl.load(offset_ptr + channel, mask=known, other=0.0)
    best = tl.full((ROWS, CHANNELS), float("-inf"), tl.float32)
    winner = tl.full((ROWS, CHANNELS), -1, tl.int32)
    for j in range(1, n):
        h = tl.load(h_ptr + j * width + channel, mask=known, other=0.0).to(tl.float32)
        # A padded j is treated as if it were i itself, so that it cannot win.
        own = tl.where(tl.load(real_ptr + j) > 0, row, j)
        pair = tl.minimum(row, n - 1) * n + j
        d = tl.load(d_ptr + pair).to(tl.float32)
        q = tl.load(q_ptr + pair).to(tl.float32)
        _, w = _primed(d[:, None], q[:, None], gain, fall, demand, offset)
        message = h[None, :] * w
        better = (own != j)[:, None] & (message > best)
        best = tl.where(better, message, best)
        winner = tl.where(better, j, winner)
    best = tl.where(winner < 0, 0.0, best)
    tl.store(out_ptr + place, best, mask=inside)
    tl.store(winner_ptr + place, winner, mask=inside)


@triton.jit
def slope_of_priming(
    g_ptr,
    winner_ptr,
    h_ptr,
    d_ptr,
    q_ptr,
    gain_ptr,
    rate_ptr,
    demand_ptr,
    offset_ptr,
    pulled_ptr,
    sums_ptr,
    n: tl.constexpr,
    width: tl.constexpr,
    ROWS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    """
    Compute the gradients of the winning messages and of the four priming vectors.

    The winner at each i and channel is the j with the largest h_j ⊙ w_ij (see
    :func:`find_maxima`), and ``g`` is the gradient of this maximum. ``pulled`` receives
    g ⊙ w_ij, the gradient of the winning message. ``sums`` receives the gradients of
    γ_d, τ_d, γ_q · τ_q and β, per instance.
    """
    blocks = tl.cdiv(width, CHANNELS)
    program = tl.program_id(0)
    channel = (program % blocks) * CHANNELS + tl.arange(0, CHANNELS)
    instance = (program // blocks).to(tl.int64)
    known = channel < width
    h_ptr += instance * n * width
    d_ptr += instance * n * n
    q_ptr += instance * n * n
    gain = tl.load(gain_ptr + channel, mask=known, other=0.0)
    fall = tl.load(rate_ptr + channel, mask=known, other=0.0) * -1.4426950408889634
    demand = tl.load(demand_ptr + channel, mask=known, other=0.0)
    offset = tl.load(offset_ptr + channel, mask=known, other=0.0)
    of_gain = tl.zeros((ROWS, CHANNELS), tl.float32)
    of_rate = tl.zeros((ROWS, CHANNELS), tl.float32)
    of_demand = tl.zeros((ROWS, CHANNELS), tl.float32)
    of_offset = tl.zeros((ROWS, CHANNELS), tl.float32)
    for start in range(0, n, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < n)[:, None] & known[None, :]
        place = instance * n * width + row[:, None] * width + channel[None, :]
        winner = tl.load(winner_ptr + place, mask=inside, other=-1)
        won = winner >= 0
        g = tl.load(g_ptr + place, mask=won, other=0.0).to(tl.float32)
        pair = row[:, None] * n + winner
        d = tl.load(d_ptr + pair, mask=won, other=0.0).to(tl.float32)
        q = tl.load(q_ptr + pair, mask=won, other=0.0).to(tl.float32)
        h = tl.load(h_ptr + winner * width + channel[None, :], mask=won, other=0.0)
        near, w = _primed(d, q, gain, fall, demand, offset)
        tl.store(pulled_ptr + place, g * w, mask=inside)
        slope = g * h.to(tl.float32)
        of_gain += slope * near
        of_rate -= slope * near * d * gain[None, :]
        of_demand += slope * q
        of_offset += slope
    sums_ptr += instance * 4 * width + channel
    tl.store(sums_ptr, tl.sum(of_gain, axis=0), mask=known)
    tl.store(sums_ptr + width, tl.sum(of_rate, axis=0), mask=known)
    tl.store(sums_ptr + 2 * width, tl.sum(of_demand, axis=0), mask=known)
    tl.store(sums_ptr + 3 * width, tl.sum(of_offset, axis=0), mask=known)


@triton.jit
def collect_by_winner(
    pulled_ptr,
    winner_ptr,
    h_grad_ptr,
    n: tl.constexpr,
    width: tl.constexpr,
    ROWS: tl.constexpr,
    CHANNELS: tl.constexpr,
):
    """
    Compute the gradient of each message h_j from those of the winning messages.

    It is the sum of ``pulled`` (see :func:`slope_of_priming`) over all i whose winner
    is j. The sum uses no atomic operations, so its result is deterministic.
    """
    blocks = tl.cdiv(width, CHANNELS)
    tiles = tl.cdiv(n, ROWS)
    program = tl.program_id(0)
    channel = (program % blocks) * CHANNELS + tl.arange(0, CHANNELS)
    row = (program // blocks % tiles) * ROWS + tl.arange(0, ROWS)
    instance = (program // (blocks * tiles)).to(tl.int64)
    known = channel < width
    pulled_ptr += instance * n * width
    winner_ptr += instance * n * width
    total = tl.zeros((ROWS, CHANNELS), tl.float32)
    for i in range(n):
        winner = tl.load(winner_ptr + i * width + channel, mask=known, other=-1)
        pulled = tl.load(pulled_ptr + i * width + channel, mask=known, other=0.0)
        mine = winner[None, :] == row[:, None]
        total += tl.where(mine, pulled.to(tl.float32)[None, :], 0.0)
    place = instance * n * width + row[:, None] * width + channel[None, :]
    tl.store(h_grad_ptr + place, total, mask=(row < n)[:, None] & known[None, :])


def _tiles(n, width):
    """
    Return three numbers: channels per tile, tiles per ``width``, and tiles per ``n``.

    ``n`` is the number of locations, and ``width`` the number of channels.
    """
    channels = min(_CHANNELS, triton.next_power_of_2(width))
    return channels, triton.cdiv(width, channels), triton.cdiv(n, _ROWS)


@torch.library.custom_op(
    "fixedfleet::pool_primed",
    mutates_args=(),
    schema="(Tensor h, Tensor d, Tensor q, Tensor real, Tensor gain, Tensor rate, "
    "Tensor demand, Tensor offset) -> (Tensor, Tensor)",
)
def pool_primed(h, d, q, real, gain, rate, demand, offset):
    """
    Return max_j h_j ⊙ w_ij over all customers j except i, and the winning j.

    Both results have shape (B, N', d): a maximum and its j for each location i and
    channel. ``h`` holds the messages, (B, N', d); ``d`` and ``q`` are the distances and
    summed demands of pairs, (B, N', N'); ``real`` is false for padding, (B, N').
    ``gain``, ``rate``, ``demand`` and ``offset`` are the vectors γ_d, τ_d, γ_q · τ_q
    and β, each (d,), from which ``Priming`` in the module ``pooling`` computes the
    weights w_ij.
    """
    size, n, width = h.shape
    channels, blocks, tiles = _tiles(n, width)
    out = h.new_empty(h.shape, dtype=torch.float32)
    winner = h.new_empty(h.shape, dtype=torch.int32)
    if h.numel():
        find_maxima[(size * tiles * blocks,)](
            *(x.contiguous() for x in (h, d, q)),
            real.contiguous().view(torch.uint8),
            gain,
            rate,
            demand,
            offset,
            out,
            winner,
            n=n,
            width=width,
            ROWS=_ROWS,
            CHANNELS=channels,
            num_warps=_WARPS,
            num_stages=1,
        )
    return out, winner


@pool_primed.register_fake
def _(h, d, q, real, gain, rate, demand, offset):
    return (
        h.new_empty(h.shape, dtype=torch.float32),
        h.new_empty(h.shape, dtype=torch.int32),
    )


@torch.library.custom_op(
    "fixedfleet::pool_primed_backward",
    mutates_args=(),
    schema="(Tensor g, Tensor winner, Tensor h, Tensor d, Tensor q, Tensor gain, "
    "Tensor rate, Tensor demand, Tensor offset) -> (Tensor, Tensor)",
)
def pool_primed_backward(g, winner, h, d, q, gain, rate, demand, offset):
    """
    Return the gradients of the winning messages and of the priming, in float32.

    ``g`` is the gradient of the maxima that :func:`pool_primed` returns, and ``winner``
    holds the winning j, both (B, N', d). The other arguments are those of
    :func:`pool_primed`.

    The first result is g ⊙ w_ij for each i and its winning j, shape (B, N', d). The
    second holds, for each instance, the gradients of ``gain``, ``rate``, ``demand`` and
    ``offset``, shape (B, 4, d).
    """
    size, n, width = h.shape
    channels, blocks, _ = _tiles(n, width)
    pulled = h.new_empty(h.shape, dtype=torch.float32)
    sums = h.new_empty((size, 4, width), dtype=torch.float32)
    if h.numel():
        slope_of_priming[(size * blocks,)](
            *(x.contiguous() for x in (g, winner, h, d, q)),
            gain,
            rate,
            demand,
            offset,
            pulled,
            sums,
            n=n,
            width=width,
            ROWS=_ROWS,
            CHANNELS=channels,
            num_warps=_WARPS,
            num_stages=1,
        )
    return pulled, sums


@pool_primed_backward.register_fake
def _(g, winner, h, d, q, gain, rate, demand, offset):
    return (
        h.new_empty(h.shape, dtype=torch.float32),
        h.new_empty((h.shape[0], 4, h.shape[2]), dtype=torch.float32),
    )


@torch.library.custom_op(
    "fixedfleet::pool_collect",
    mutates_args=(),
    schema="(Tensor pulled, Tensor winner) -> Tensor",
)
def pool_collect(pulled, winner):
    """
    Return the gradient of each message h_j, shape (B, N', d), in float32.

    The arguments are the first result of :func:`pool_primed_backward` and the winners.
    """
    size, n, width = pulled.shape
    channels, blocks, tiles = _tiles(n, width)
    total = pulled.new_empty(pulled.shape, dtype=torch.float32)
    if pulled.numel():
        collect_by_winner[(size * tiles * blocks,)](
            pulled.contiguous(),
            winner.contiguous(),
            total,
            n=n,
            width=width,
            ROWS=_ROWS,
            CHANNELS=channels,
            num_warps=_WARPS,
            num_stages=1,
        )
    return total


@pool_collect.register_fake
def _(pulled, winner):
    return pulled.new_empty(pulled.shape, dtype=torch.float32)


def _keep_primed(ctx, inputs, output):
    h, d, q, _, *values = inputs
    ctx.save_for_backward(output[1], h, d, q, *values)


def _differentiate_primed(ctx, g, _):
    winner, h, *rest = ctx.saved_tensors
    pulled, sums = torch.ops.fixedfleet.pool_primed_backward(g, winner, h, *rest)
    h_grad = torch.ops.fixedfleet.pool_collect(pulled, winner).to(h.dtype)
    return h_grad, None, None, None, *sums.sum(0).unbind(0)


pool_primed.register_autograd(_differentiate_primed, setup_context=_keep_primed)
