"""Devices and their memory."""

from __future__ import annotations

import pytest
import torch

import fixedfleet as ff
from fixedfleet.model import ModelConfig
from fixedfleet.model.devices import check_memory


def test_too_large_for_memory_is_said_before():
    """A prediction that cannot fit is refused with its size, not begun."""
    with pytest.raises(ff.InputError, match="100000 customers and 1000 vehicles need"):
        check_memory(ModelConfig(), 1, 100_001, 1000, torch.device("cpu"))
