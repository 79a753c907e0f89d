"""Distances, travel times and lines by road, from an OSRM server."""

from fixedfleet.roads.osrm import RoadsError
from fixedfleet.roads.road_distances import with_kept_roads, with_roads
from fixedfleet.roads.tour_lines import road_lines

__all__ = ["RoadsError", "road_lines", "with_kept_roads", "with_roads"]
