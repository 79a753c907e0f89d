"""Instances of the capacitated vehicle routing problem with a bounded fleet."""

from fixedfleet.instance.batch import InstanceBatch
from fixedfleet.instance.single import Instance

__all__ = ["Instance", "InstanceBatch"]
