"""The modules of the page one by one, in a browser."""

from __future__ import annotations

import math

import pytest

pytestmark = pytest.mark.slow


def places(page, points, geographic=True):
    """Return where the page draws points (x, y), the depot first."""
    stops = [{"x": x, "y": y} for x, y in points]
    return page.evaluate(
        """async (instance) => {
          const {placesOf} = await import("/static/projection.js");
          return placesOf(instance);
        }""",
        {"geographic": geographic, "depot": stops[0], "stops": stops[1:]},
    )


def test_degrees_become_kilometres(page):
    """Distances on the map differ from those on the globe by at most 0.5 %."""
    leipzig, halle = (12.3731, 51.3397), (11.9688, 51.4828)
    a, b = places(page, [leipzig, halle])
    (lon1, lat1), (lon2, lat2) = (map(math.radians, p) for p in (leipzig, halle))
    half = math.sin((lat2 - lat1) / 2) ** 2 + (
        math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    )
    truth = 2 * 6371 * math.asin(math.sqrt(half))
    drawn = math.hypot(a["x"] - b["x"], a["y"] - b["y"])
    assert drawn == pytest.approx(truth, rel=0.005)


def test_the_date_line_does_not_tear_the_map(page):
    """Points on both sides of the date line are close on the map."""
    a, b = places(page, [(179.9, -17), (-179.9, -17)])
    assert math.hypot(a["x"] - b["x"], a["y"] - b["y"]) < 25


def test_an_instance_without_coordinates_has_no_places(page):
    """A matrix of distances only is not drawn."""
    assert places(page, [(None, None), (None, None)], geographic=False) is None


def test_zooming_keeps_the_point_at_the_pointer(page):
    """The point at the pointer stays; after a visit to a tour, all points are shown."""
    before, zoomed, whole, back = page.evaluate(
        """async () => {
          const {Camera} = await import("/static/camera.js");
          const camera = new Camera(() => {});
          const [depot, shop] = [{x: 0, y: 0}, {x: 10, y: 5}];
          camera.setSize({width: 400, height: 300});
          camera.setPoints([depot, shop]);
          const before = camera.spotOf(shop);
          const whole = camera.view;
          camera.zoom(2, before);
          const zoomed = camera.spotOf(shop);
          camera.showOnly([{x: 3, y: 3}, {x: 4, y: 4}]);
          camera.showAll();
          return [before, zoomed, whole, camera.view];
        }"""
    )
    assert zoomed == pytest.approx(before)
    assert back == whole


@pytest.mark.parametrize(
    ("metric", "point", "x", "y"),
    [
        ("euclidean", [3, 4], 3, 4),
        ("great_circle", [51.5, 12.25], 12.25, 51.5),
        ("geo", [50.30, -8.15], -8.25, 50.5),
    ],
)
def test_coordinates_become_places(page, metric, point, x, y):
    """Latitude is upwards, and the degrees and minutes of TSPLIB become degrees."""
    document = {"metric": metric, "depot": point, "customers": [point], "demands": [1]}
    instance = page.evaluate(
        """async (document) => {
          const {instanceOf} = await import("/static/instance.js");
          return instanceOf(document);
        }""",
        document,
    )
    for place in (instance["depot"], instance["stops"][0]):
        assert (place["x"], place["y"]) == (pytest.approx(x), pytest.approx(y))
    assert instance["unit"] == ("" if metric == "euclidean" else "km")


def test_customers_with_the_same_name_are_told_apart(page):
    """Two customers with the same name have their numbers behind it."""
    names = page.evaluate(
        """async (document) => {
          const {instanceOf} = await import("/static/instance.js");
          return instanceOf(document).stops.map((stop) => stop.name);
        }""",
        {"demands": [1, 1, 1], "names": ["Shop", "Café", "Shop"]},
    )
    assert names == ["Shop (1)", "Café", "Shop (3)"]


@pytest.mark.parametrize(
    ("before", "tours", "slots"),
    [
        ([], [[1], [2]], [0, 1]),
        ([[1, 2], [3, 4]], [[4, 3], [2, 1]], [1, 0]),
        ([[1, 2], [3, 4]], [[5], [1, 2, 3], [4]], [2, 0, 1]),
        ([[1, 2, 3, 4]], [[3, 4, 1], [2]], [0, 1]),
    ],
)
def test_tours_keep_their_colours(page, before, tours, slots):
    """A tour has the slot of the earlier tour that shares most customers with it."""
    found = page.evaluate(
        """async ([before, tours]) => {
          const {keepSlots} = await import("/static/slots.js");
          return keepSlots(before.map((stops, slot) => ({slot, stops})), tours);
        }""",
        [before, tours],
    )
    assert found == slots


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("figures(172.789, 5)", "172.79"),
        ("figures(27591, 5)", "27,591"),
        ("figures(0.123456, 5)", "0.12346"),
        ("amount(0.1 + 0.2)", "0.3"),
        ("lengthOf(22.44, 'km', 3)", "22.4\u00a0km"),
        ("count(1, 'stop')", "1 stop"),
        ("count(1200, 'stop')", "1,200 stops"),
        ("sentence('all is well')", "All is well."),
        ("nameOf({name: '7', index: 7})", "Customer 7"),
    ],
)
def test_numbers_are_written_for_people(page, call, text):
    """Numbers have as many digits as matter."""
    name, arguments = call.split("(", 1)
    module = 'await import("/static/numbers.js")'
    assert page.evaluate(f"async () => ({module}).{name}({arguments}") == text


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("700,5", 700.5),
        ("700.5", 700.5),
        ("0,125", 0.125),
        ("1500", 1500),
        ("1.500", 1.5),
        ("1,500", "write 1500 or 1.500"),
        ("1,500.5", "not a number"),
        ("12 kg", "not a number"),
        ("", None),
    ],
)
def test_typed_numbers_are_read(page, typed, read):
    """In a browser with a decimal point, a comma that may group digits is refused."""
    found = page.evaluate(
        """async (typed) =>
          (await import("/static/numbers.js")).readNumber(typed)""",
        typed,
    )
    assert found.get("value") == read or read in found.get("error", "")


def test_tours_can_be_told_apart(page):
    """No two of 24 tours have the same colour."""
    looks = page.evaluate(
        """async () => {
          const {LIGHT, DARK, hue} = await import("/static/colours.js");
          const slots = [...Array(24).keys()];
          return [LIGHT, DARK].map((theme) => slots.map((slot) => hue(slot, theme)));
        }"""
    )
    for theme in looks:
        assert len(set(theme)) == 24


def test_the_numbers_of_stops_do_not_overlap(page):
    """Thirty stops within a few pixels get labels that do not touch."""
    smallest = page.evaluate(
        """async () => {
          const {placeLabels} = await import("/static/labels.js");
          const stops = [...Array(30).keys()].map((i) => ({x: i % 6, y: i / 6}));
          const labels = placeLabels(stops, 9);
          const gaps = labels.flatMap((a, i) => labels.slice(0, i).map((b) =>
            Math.hypot(a.x - b.x, a.y - b.y)));
          return Math.min(...gaps);
        }"""
    )
    assert smallest >= 18


def test_the_curve_begins_with_a_good_plan(page):
    """The packing that a search starts from is not a plan to compare with."""
    trace = [[0.01, 1000], [0.02, 400], [0.5, 105], [1, 100]]
    found = page.evaluate(
        """async (trace) => (await import("/static/summary.js")).goodPart(trace)""",
        trace,
    )
    assert found == trace[2:]


def test_a_gap_is_never_rounded_down(page):
    """What a plan does not exceed has two digits, of which the last is rounded up."""
    shares = [0.006, 0.00601, 0.0123, 0.1, 0.1201, 1e-9, 25]
    said = page.evaluate(
        """async (shares) => {
          const {atMost} = await import("/static/numbers.js");
          return shares.map((share) => atMost(share).replace("\u00a0", " "));
        }""",
        shares,
    )
    expected = ["0.60 %", "0.61 %", "1.3 %", "10 %", "13 %", "0.01 %", "2,500 %"]
    assert said == expected


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({}, "longer than the shortest possible plan"),
        (
            {"vehicle_cost": 5, "locked": [[1]]},
            "more expensive than the cheapest possible plan with the locked tours",
        ),
    ],
)
def test_the_gap_falls_while_a_plan_is_being_proven(page, request_, words):
    """The gap is said as soon as there is a bound, and until the plan is proven."""
    said = page.evaluate(
        """async (request) => {
          const summary = await import("/static/summary.js");
          const gap = document.getElementById("gap");
          const said = [];
          const tell = () => said.push(gap.textContent.replace("\u00a0", " "));
          summary.begin({unit: ""}, {time_limit: 5, ...request});
          for (const bound of [null, 98, 99.9]) {
            summary.improve(1, 100, 2, 3, bound);
            tell();
          }
          const result = {cost: 100, lower_bound: 100, is_optimal: true, proof: ""};
          said.push(summary.proofOf(result));
          const none = {cost: 9, lower_bound: null, proof: "no lower bound: too many"};
          said.push(summary.proofOf({...none, is_optimal: false}));
          summary.fail();
          return said;
        }""",
        request_,
    )
    better = "cheaper with the locked tours" if request_ else "shorter"
    assert said == [
        "",
        f"At most 2.1 % {words}",
        f"At most 0.11 % {words}",
        f"Cannot be {better}",
        "No lower bound: too many.",
    ]


def test_drivers_of_vehicles_that_are_alike_keep_their_areas(page):
    """Two vans of one size swap their tours; a van of another size keeps its tour."""
    found = page.evaluate(
        """async () => {
          const {likeLastTime} = await import("/static/drivers.js");
          const type = (name, capacity) => ({name, count: 1, capacity, shift: null});
          const types = [type("Anna", 9), type("Ben", 9), type("Cem", 5)];
          const stops = ["a", "b", "c", "d"].map((name) => ({name}));
          const tour = (type, ...stops) => ({type, stops, name: types[type].name});
          const before = [
            {name: "Ben", customers: ["a", "b"]},
            {name: "Cem", customers: ["c"]},
            {name: "Anna", customers: ["d"]},
          ];
          const tours = [tour(0, 1, 2), tour(1, 3), tour(2, 4)];
          return likeLastTime(tours, {stops, types}, [], before)
            .map(({name, type, stops}) => [name, type, stops]);
        }"""
    )
    assert found == [["Ben", 1, [1, 2]], ["Anna", 0, [3]], ["Cem", 2, [4]]]


def test_towns_are_named_above_their_customers(page):
    """The column of towns gives the map names; other columns do not."""
    find = """async ([columns, count]) => {
      const {townsOf} = await import("/static/towns.js");
      const stops = Array.from({length: count}, (_, i) => ({index: i + 1}));
      const points = Array.from({length: count + 1}, (_, i) => ({x: i, y: -i}));
      return townsOf({columns, stops}, points);
    }"""
    towns = ["", "Pirna", "Meißen", "Meißen", ""]
    found = page.evaluate(find, [{"Tel": ["1"] * 5, "Ort": towns}, 4])
    assert found == [
        {"name": "Meißen", "point": {"x": 2.5, "y": -2}},
        {"name": "Pirna", "point": {"x": 1, "y": -1}},
    ]
    assert page.evaluate(find, [{"Sorte": towns}, 4]) == []
    both = ["", "01796 Pirna", "01662 Meißen", "D-01665 Meißen", ""]
    assert page.evaluate(find, [{"PLZ/Ort": both}, 4]) == found
    many = ["", *(f"Ort {i}" for i in range(99))]
    assert page.evaluate(find, [{"Ort": many}, 99]) == []
