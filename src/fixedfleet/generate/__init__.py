"""Random instances: the uniform test and training sets, and those of Uchoa et al."""

from fixedfleet.generate.set_x import (
    CustomerPosition,
    Demand,
    DepotPosition,
    uchoa,
    uchoa_batch,
)
from fixedfleet.generate.unit_square import (
    PRESETS,
    Preset,
    labelled_stream,
    test_set,
    uniform,
)

__all__ = [
    "PRESETS",
    "CustomerPosition",
    "Demand",
    "DepotPosition",
    "Preset",
    "labelled_stream",
    "test_set",
    "uchoa",
    "uchoa_batch",
    "uniform",
]
