// Turns coordinates into points of a plane, and these into points of the screen.

const KM_PER_DEGREE = (6371.0088 * Math.PI) / 180;

/*
 * Return the points of the depot (index 0) and the customers in a plane, y upwards; null
 * if the instance has no coordinates.
 *
 * Degrees are projected equirectangularly about their mean latitude. In a city or a region
 * this changes distances by a fraction of a per cent.
 */
export function placesOf(instance) {
  const places = [instance.depot, ...instance.stops];
  if (places.some((place) => place === null || place.x === null || place.y === null)) {
    return null;
  }
  const points = places.map(({ x, y }) => ({ x, y }));
  return instance.geographic ? toKilometres(points) : points;
}

function toKilometres(degrees) {
  const [west, east] = range(degrees.map((point) => point.x));
  const across = east - west > 180; // the date line is between them
  const [south, north] = range(degrees.map((point) => point.y));
  const middle = ((south + north) / 2) * (Math.PI / 180);
  const shrink = Math.max(0.05, Math.cos(middle));
  return degrees.map(({ x, y }) => ({
    x: (across ? (x + 360) % 360 : x) * KM_PER_DEGREE * shrink,
    y: y * KM_PER_DEGREE,
  }));
}

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

/* Return a round length (1, 2 or 5 times a power of ten) of at most so many pixels. */
export function roundLength(scale, pixels) {
  const most = pixels / scale;
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [5, 2, 1].find((factor) => factor * power <= most) ?? 1;
  return step * power;
}
