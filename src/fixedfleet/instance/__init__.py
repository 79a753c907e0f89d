"""Instances: one by one, and many as padded arrays."""

from fixedfleet.instance.instance_batch import InstanceBatch
from fixedfleet.instance.one_instance import Instance

__all__ = ["Instance", "InstanceBatch"]
