"""
Labels: plans that a teacher makes for many instances, to train networks on.

:func:`label` has a teacher plan all instances and writes the plans to a folder of
shards; :func:`load_labels` is the one reader of labels, from such a folder or from a
single npz file. Training reads its labels with it too.

A run goes: ``label_run`` (what is missing) → ``label_files`` → ``workers`` (the
processes) → ``teacher`` (the plans) → ``label_files``.
"""

from fixedfleet.labels.label_files import (
    check_labels,
    fingerprint,
    has_labels,
    load_labels,
)
from fixedfleet.labels.label_run import LabellingError, LabelSummary, label
from fixedfleet.labels.teacher import (
    TEACHERS,
    GpuTeacher,
    SearchTeacher,
    Teacher,
    get_teacher,
)

__all__ = [
    "TEACHERS",
    "GpuTeacher",
    "LabelSummary",
    "LabellingError",
    "SearchTeacher",
    "Teacher",
    "check_labels",
    "fingerprint",
    "get_teacher",
    "has_labels",
    "label",
    "load_labels",
]
