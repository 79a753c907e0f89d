"""Metrics, which turn coordinates into distances, and the rounding of distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "KM_PER_MILE",
    "LengthUnit",
    "Metric",
    "Rounding",
    "measure",
    "on_map",
    "points_in_space",
    "round_distances",
]

Metric = Literal["euclidean", "great_circle", "geo", "road", "explicit"]
Rounding = Literal["none", "round", "ceil", "trunc"]
LengthUnit = Literal["", "km", "mi"]  # "" if it is not known

_EARTH_RADIUS_KM = 6371.0088
KM_PER_MILE = 1.609344
_TSPLIB_RADIUS_KM = 6378.388


def round_distances(
    distances: NDArray[np.float64], rounding: Rounding
) -> NDArray[np.float64]:
    """
    Return a rounded copy of the distances.

    The parameter ``rounding`` of :class:`Instance` describes the kinds of rounding.
    """
    if rounding == "round":
        return np.floor(distances + 0.5)  # TSPLIB's nint, not NumPy's half to even
    if rounding == "ceil":
        return np.ceil(distances)
    if rounding == "trunc":
        return np.floor(distances)
    return np.array(distances, dtype=np.float64)


def measure(
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    metric: Metric,
    rounding: Rounding,
    unit: LengthUnit = "",
) -> NDArray[np.float64]:
    """
    Return the distance from each start to its end, both of shape (…, 2).

    Distances on the globe are in kilometres, or in miles if ``unit`` is "mi". For the
    metric ``road``, they are great-circle distances as well, because distances by road
    cannot be computed from coordinates.
    """
    if unit == "mi" and metric in ("great_circle", "geo", "road"):
        kilometres = measure(start, end, metric, "none")
        return round_distances(kilometres / KM_PER_MILE, rounding)
    if metric in ("great_circle", "road"):
        lat1, lon1, lat2, lon2 = map(
            np.radians, (start[..., 0], start[..., 1], end[..., 0], end[..., 1])
        )
        half = (
            np.sin((lat2 - lat1) / 2) ** 2
            + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
        )
        return round_distances(
            2 * _EARTH_RADIUS_KM * np.arcsin(np.sqrt(half)), rounding
        )
    if metric == "geo":
        distances = _tsplib_geo(start, end)
        # TSPLIB defines GEO with a rounding of its own: int(d + 1.0).
        return (
            np.floor(distances + 1.0)
            if rounding == "round"
            else round_distances(distances, rounding)
        )
    return round_distances(np.hypot(*np.moveaxis(start - end, -1, 0)), rounding)


def on_map(
    points: NDArray[np.float64], metric: Metric
) -> tuple[NDArray[np.float64], float]:
    """
    Return (points, scale) for drawing locations on a map.

    The points have shape (n, 2), with x to the right and y up. The scale is a factor
    for x. On the globe it is below 1, because a degree of longitude is shorter than a
    degree of latitude.
    """
    if metric not in ("great_circle", "geo", "road"):
        return points, 1.0
    if metric == "geo":
        points = _tsplib_degrees(points)
    points = points[:, ::-1].copy()  # longitude to the right, latitude up
    if np.ptp(points[:, 0]) > 180:  # across the date line
        points[:, 0] %= 360
    return points, max(0.05, float(np.cos(np.radians(points[:, 1].mean()))))


def points_in_space(
    points: NDArray[np.float64], metric: Metric, unit: LengthUnit = ""
) -> tuple[NDArray[np.float64], float]:
    """
    Return points, shape (N, 2), as points in space, (N, 3), and the sphere's radius.

    The chord is the straight line between two points in space. On the globe, the points
    lie on a sphere of radius 1, and the distance between two of them is
    2·radius·arcsin(chord/2). In the plane, the returned radius is 0, and the distance
    is the chord.
    """
    if metric == "euclidean":
        return np.column_stack((points, np.zeros(len(points)))), 0.0
    radians = _tsplib_radians if metric == "geo" else np.radians
    latitude, longitude = radians(points.T)
    across = np.cos(latitude)
    space = np.column_stack(
        (across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude))
    )
    radius = _TSPLIB_RADIUS_KM if metric == "geo" else _EARTH_RADIUS_KM
    return space, radius / KM_PER_MILE if unit == "mi" else radius


def _tsplib_geo(
    start: NDArray[np.float64], end: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return TSPLIB's geographical distances, with its own π and radius."""
    lat1, lon1 = _tsplib_radians(start[..., 0]), _tsplib_radians(start[..., 1])
    lat2, lon2 = _tsplib_radians(end[..., 0]), _tsplib_radians(end[..., 1])
    q1 = np.cos(lon1 - lon2)
    q2 = np.cos(lat1 - lat2)
    q3 = np.cos(lat1 + lat2)
    inner = 0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)
    return _TSPLIB_RADIUS_KM * np.arccos(np.clip(inner, -1.0, 1.0))


def _tsplib_radians(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return 3.141592 * _tsplib_degrees(values) / 180.0


def _tsplib_degrees(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return decimal degrees; TSPLIB writes degrees and minutes as DDD.MM."""
    whole = np.trunc(values)
    return np.asarray(whole + 5.0 * (values - whole) / 3.0)
