"""Chance that depends on numbers alone, and so neither on batch, padding nor device."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["gumbel", "mix"]


def mix(state: Tensor) -> Tensor:
    """Scramble 64-bit numbers (the finaliser of SplitMix64, signed)."""
    state = state + _signed(0x9E3779B97F4A7C15)
    state = (state ^ _shift(state, 30)) * _signed(0xBF58476D1CE4E5B9)
    state = (state ^ _shift(state, 27)) * _signed(0x94D049BB133111EB)
    return state ^ _shift(state, 31)


def _shift(state: Tensor, bits: int) -> Tensor:
    """Shift right without carrying the sign along."""
    kept: int = 2 ** (64 - bits) - 1
    return (state >> bits) & kept


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def gumbel(state: Tensor) -> Tensor:
    """Turn scrambled numbers into standard Gumbel noise."""
    uniform = (_shift(state, 12).double() + 0.5) / 2.0**52
    return uniform.log().neg().log().neg()
