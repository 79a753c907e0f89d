// Moves and zooms the map when the user drags it, turns the wheel or uses two fingers.

const SLACK = 4; // pixels that a pointer may move during a click

/*
 * Turn pointer and wheel events of a canvas into calls of the map's methods: pan(dx, dy),
 * zoom(factor, spot), point(spot, touch), leave(), click(spot, touch). If the user drags a stop,
 * these are grab(spot), drag(spot) and drop(given). touch says whether the pointer is a finger
 * or a pen, and given whether the stop was really moved.
 */
export function followGestures(canvas, map) {
  const fingers = new Map();
  let moved = 0;
  let dragging = false;
  const spotOf = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const touch = (event) => event.pointerType !== "mouse";

  canvas.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, spotOf(event));
    if (fingers.size === 1) moved = 0;
    dragging = fingers.size === 1 && !touch(event) && map.grab(spotOf(event));
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const spot = spotOf(event);
    const before = fingers.get(event.pointerId);
    if (!before) {
      map.point(spot, touch(event));
      return;
    }
    moved += Math.hypot(spot.x - before.x, spot.y - before.y);
    if (dragging && moved > SLACK) map.drag(spot);
    else if (fingers.size === 2) pinch(fingers, event.pointerId, spot, map);
    // One finger scrolls the page, unless the map is zoomed in.
    else if (moved > SLACK && (map.moved || !touch(event))) {
      map.pan(spot.x - before.x, spot.y - before.y);
    }
    fingers.set(event.pointerId, spot);
  });
  canvas.addEventListener("pointerup", (event) => {
    fingers.delete(event.pointerId);
    if (dragging) map.drop(moved > SLACK);
    dragging = false;
    if (moved <= SLACK && fingers.size === 0) map.click(spotOf(event), touch(event));
  });
  canvas.addEventListener("pointercancel", (event) => {
    fingers.delete(event.pointerId);
    if (dragging) map.drop(false);
    dragging = false;
  });
  canvas.addEventListener("pointerleave", (event) => {
    if (!touch(event)) map.leave();
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      // If the page can scroll, the wheel scrolls it unless Ctrl is held.
      const { scrollHeight, clientHeight } = document.documentElement;
      if (scrollHeight > clientHeight && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE;
      const pixels = event.deltaY * (lines ? 16 : 1);
      map.zoom(Math.exp(-pixels / 400), spotOf(event));
    },
    { passive: false },
  );
}

function pinch(fingers, moving, spot, map) {
  const [other] = [...fingers].filter(([id]) => id !== moving).map(([, at]) => at);
  const before = fingers.get(moving);
  const apart = (a) => Math.max(1, Math.hypot(a.x - other.x, a.y - other.y));
  const middle = { x: (spot.x + other.x) / 2, y: (spot.y + other.y) / 2 };
  map.zoom(apart(spot) / apart(before), middle);
  map.pan((spot.x - before.x) / 2, (spot.y - before.y) / 2);
}
