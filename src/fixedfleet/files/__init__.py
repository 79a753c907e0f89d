"""Files: instances, batches, plans and labels, in and out."""

from fixedfleet.files.dispatch import (
    read,
    read_batch,
    read_labels,
    read_plan,
    read_reference,
    read_solution_cost,
    read_with_notes,
    write_batch,
    write_instance,
    write_plan,
)
from fixedfleet.files.npz_format import LabelFile, ReferenceFile

__all__ = [
    "LabelFile",
    "ReferenceFile",
    "read",
    "read_batch",
    "read_labels",
    "read_plan",
    "read_reference",
    "read_solution_cost",
    "read_with_notes",
    "write_batch",
    "write_instance",
    "write_plan",
]
