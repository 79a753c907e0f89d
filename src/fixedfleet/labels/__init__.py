"""
Labels: plans that a method makes for many instances, to train networks on.

:func:`label` lets a method plan all instances and writes the plans to a folder. The
folder holds shards: files that each hold the plans of some instances.
:func:`load_labels` reads this folder, or a single npz file; training uses it too.
"""

from fixedfleet.labels.label_files import (
    check_labels,
    fingerprint,
    has_labels,
    load_bounds,
    load_labels,
)
from fixedfleet.labels.label_run import LabellingError, LabelSummary, Planner, label

__all__ = [
    "LabelSummary",
    "LabellingError",
    "Planner",
    "check_labels",
    "fingerprint",
    "has_labels",
    "label",
    "load_bounds",
    "load_labels",
]
