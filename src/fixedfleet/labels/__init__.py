"""Labels: a teacher's plans for many instances, in shards."""

from fixedfleet.labels.job import LabellingError
from fixedfleet.labels.load import load_labels
from fixedfleet.labels.run import Engine, LabelSummary, label
from fixedfleet.labels.teacher import (
    GpuTeacher,
    SearchTeacher,
    SolverTeacher,
    Teacher,
    get_teacher,
)
from fixedfleet.progress import Progress, ProgressCallback, ProgressPrinter

__all__ = [
    "Engine",
    "GpuTeacher",
    "LabelSummary",
    "LabellingError",
    "Progress",
    "ProgressCallback",
    "ProgressPrinter",
    "SearchTeacher",
    "SolverTeacher",
    "Teacher",
    "get_teacher",
    "label",
    "load_labels",
]
