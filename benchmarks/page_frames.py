"""Measure the frames per second of the page while the map is moved.

    python benchmarks/page_frames.py [--customers 2000] [--seconds 3]

The script starts its own server and Chromium, and plans random customers. Then it
hovers, zooms, pans and drags a stop, with one event per frame. Each row has the frames
per second, and the duration that 95 % of the frames do not exceed. A screen shows 60
frames per second. Chromium draws on the CPU here; with a graphics card it is faster.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from urllib.request import Request, urlopen

from screenshots import DESK, browser_and_server

# Makes a gesture with one event per frame, and returns how long each frame took.
GESTURE = """async ([name, seconds]) => {
  const canvas = document.getElementById("canvas");
  const {left, top, width, height} = canvas.getBoundingClientRect();
  const [x, y] = [left + width / 2, top + height / 2];
  canvas.setPointerCapture = () => {};  // no real pointer is pressed
  const send = (type, dx, dy, more = {}) => {
    const at = {clientX: x + dx, clientY: y + dy, pointerId: 1, pointerType: "mouse"};
    const kind = type === "wheel" ? WheelEvent : PointerEvent;
    canvas.dispatchEvent(new kind(type, {...at, bubbles: true, ...more}));
  };
  const wave = (i) => [0.3 * width * Math.sin(i / 20), 0.3 * height * Math.cos(i / 23)];
  const steps = {
    zoom: (i) => send("wheel", 0, 0, {deltaY: Math.sin(i / 15) > 0 ? -20 : 20}),
    pan: (i) => send("pointermove", ...wave(i)),
    hover: (i) => send("pointermove", ...wave(i)),
    drag: (i) => send("pointermove", ...wave(i)),
  };
  const pressed = name === "pan" || name === "drag";
  if (pressed) send("pointerdown", ...(name === "drag" ? window.grip : wave(0)));
  const times = [];
  const end = performance.now() + 1000 * seconds;
  for (let i = 0; performance.now() < end; i += 1) {
    steps[name](i);
    times.push(await new Promise((done) => requestAnimationFrame(done)));
  }
  if (pressed) send("pointerup", 0, 0);
  return times.slice(1).map((time, i) => time - times[i]);
}"""
# Selects the first tour, and finds the spot of one of its stops on the map, to drag it.
GRIP = """async () => {
  document.querySelector(".tour-head").click();
  await new Promise((done) => setTimeout(done, 1500));
  const canvas = document.getElementById("canvas");
  const {width, height} = canvas.getBoundingClientRect();
  const stop = Number(document.querySelector("[data-customer]").dataset.customer);
  const {instanceOf} = await import("/static/instance.js");
  const {fit, placesOf, toScreen} = await import("/static/projection.js");
  const id = new URLSearchParams(location.hash.slice(1)).get("plan");
  const {instance, result} = await (await fetch(`/plans/${id}`)).json();
  const places = placesOf(instanceOf(instance));
  const points = [0, ...result.tours[0].customers].map((one) => places[one]);
  const spot = toScreen(places[stop], fit(points, width, height, 44), width, height);
  window.grip = [spot.x - width / 2, spot.y - height / 2];
}"""


def main() -> None:
    """Measure each gesture and print a row for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--customers", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=3.0)
    arguments = parser.parse_args()
    with browser_and_server() as (browser, address):
        page = browser.new_page(viewport=DESK)
        page.goto(f"{address}#plan={plan(address, arguments.customers)}")
        page.wait_for_selector(".tour")
        page.wait_for_timeout(3000)  # until the animation of the tours has ended
        print("gesture  frames/s  95 % (ms)")
        for name in ("hover", "zoom", "pan", "drag"):
            if name == "drag":
                page.evaluate(GRIP)
            lengths = sorted(page.evaluate(GESTURE, [name, arguments.seconds]))
            late = lengths[int(0.95 * len(lengths))]
            print(f"{name:7}  {1000 * len(lengths) / sum(lengths):8.1f}  {late:9.1f}")


def plan(address: str, customers: int) -> str:
    """Plan random customers, with 40 stops per tour, and return the id of the plan."""
    rng = random.Random(1)
    rows = ["name,lat,lon,demand", "Depot,51.34,12.37,"]
    for i in range(1, customers + 1):
        lat, lon = rng.gauss(51.34, 0.2), rng.gauss(12.37, 0.3)
        rows.append(f"Shop {i},{lat:.5f},{lon:.5f},1")
    body = {
        "text": "\n".join(rows),
        "vehicles": customers // 40 + 2,
        "capacity": 40,
        "time_limit": 5,
        "wait": 30,
    }
    headers = {"Content-Type": "application/json"}
    request = Request(f"{address}plans", json.dumps(body).encode(), headers)
    with urlopen(request) as answer:
        document = json.load(answer)
    while document["status"] in ("queued", "running"):
        with urlopen(f"{address}plans/{document['id']}") as answer:
            document = json.load(answer)
        time.sleep(0.5)
    if document["status"] != "done":
        raise SystemExit(f"no plan: {document['error']}")
    return str(document["id"])


if __name__ == "__main__":
    main()
