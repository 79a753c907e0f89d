"""Instances: one by one, and many as padded arrays."""

from fixedfleet.instance.instance import Instance
from fixedfleet.instance.instance_batch import InstanceBatch

__all__ = ["Instance", "InstanceBatch"]
