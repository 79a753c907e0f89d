"""Verdicts as dictionaries, until the service returns ``fixedfleet.documents``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fixedfleet import documents
from fixedfleet.documents import finite

if TYPE_CHECKING:
    from fixedfleet.fleet import FleetVerdict

__all__ = ["describe_verdict", "finite"]


def describe_verdict(verdict: FleetVerdict) -> dict[str, Any]:
    """Return the document of a verdict as a dictionary."""
    return vars(documents.describe_verdict(verdict))
