"""Instances: one instance, a batch of instances as padded arrays, vehicle types."""

from fixedfleet.instance.instance import Instance
from fixedfleet.instance.instance_batch import InstanceBatch
from fixedfleet.instance.vehicle_type import VehicleType

__all__ = ["Instance", "InstanceBatch", "VehicleType"]
