// Turns coordinates into points of a plane, and points of the plane into spots of the screen.

const RADIUS = 6371.0088; // of the earth, in kilometres
const POLE = 85; // degrees; Mercator's projection does not show the poles
const toRadians = (degrees) => (degrees * Math.PI) / 180;

/*
 * Return the points of the depot (index 0) and the customers in a plane, y upwards; null
 * if the instance has no coordinates.
 *
 * Degrees are projected by Mercator, as street tiles are, and become kilometres at their
 * mean latitude. In a city or a region this changes distances by a fraction of a per cent.
 */
export function placesOf(instance) {
  const places = [instance.depot, ...instance.stops];
  if (places.some((place) => place === null || place.x === null || place.y === null)) {
    return null;
  }
  const points = places.map(({ x, y }) => ({ x, y }));
  return instance.geographic ? toKilometres(points) : points;
}

/* Return the number of kilometres per radian of longitude on the map of these places. */
export function kilometresPerRadian(places) {
  const [south, north] = range(places.map((place) => place.y));
  return RADIUS * Math.max(0.05, Math.cos(toRadians((south + north) / 2)));
}

function toKilometres(degrees) {
  const [west, east] = range(degrees.map((point) => point.x));
  const across = east - west > 180; // the date line is between the points
  const scale = kilometresPerRadian(degrees);
  return degrees.map(({ x, y }) => ({
    x: toRadians(across ? (x + 360) % 360 : x) * scale,
    y: mercator(Math.min(POLE, Math.max(-POLE, y))) * scale,
  }));
}

/* Return the point of a place on a map that also has the point near; the reverse of placeOf. */
export function pointOf({ x, y }, scale, near) {
  const turn = 2 * Math.PI * scale; // the date line may be between the place and near
  const across = toRadians(x) * scale;
  const point = across + turn * Math.round((near.x - across) / turn);
  return { x: point, y: mercator(Math.min(POLE, Math.max(-POLE, y))) * scale };
}

/*
 * Return the place of a point on the map: x is the longitude and y the latitude. The scale is
 * that of kilometresPerRadian. If it is null, the point is the place.
 */
export function placeOf({ x, y }, scale) {
  if (scale === null) return { x, y };
  const toDegrees = (radians) => (radians * 180) / Math.PI;
  return { x: toDegrees(x / scale), y: toDegrees(Math.atan(Math.sinh(y / scale))) };
}

const mercator = (latitude) => Math.asinh(Math.tan(toRadians(latitude)));

// Math.min(...values) would overflow the stack for very long lists.
function range(values) {
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return [least, most];
}

/* Return the view that shows all points: its centre in the plane, and the scale. */
export function fit(points, width, height, margin) {
  const [left, right] = range(points.map((point) => point.x));
  const [low, high] = range(points.map((point) => point.y));
  const across = Math.max(1, width - 2 * margin) / (right - left);
  const upwards = Math.max(1, height - 2 * margin) / (high - low);
  const scale = Math.min(across, upwards);
  return {
    x: (left + right) / 2,
    y: (low + high) / 2,
    scale: Number.isFinite(scale) ? scale : 1, // all points in one place
  };
}

export function toScreen(point, view, width, height) {
  return {
    x: (point.x - view.x) * view.scale + width / 2,
    y: (view.y - point.y) * view.scale + height / 2,
  };
}

export function toPlane(spot, view, width, height) {
  return {
    x: (spot.x - width / 2) / view.scale + view.x,
    y: view.y - (spot.y - height / 2) / view.scale,
  };
}

/* Return a round length (1, 2 or 5 times a power of ten) that has at most this many pixels. */
export function roundLength(scale, pixels) {
  const most = pixels / scale;
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [5, 2, 1].find((factor) => factor * power <= most) ?? 1;
  return step * power;
}
