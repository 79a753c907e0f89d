"""Plans that nobody waits for any more, and plans of other tabs."""

from __future__ import annotations

import pytest

from .conftest import make_plan

pytestmark = pytest.mark.slow

MATRIX = {
    "demands": [2, 2, 2],
    "matrix": [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]],
    "capacity": 2,
    "vehicles": 2,
}


def test_a_stopped_pause_ends(page):
    """A pause that begins after the stop does not wait; one that is stopped ends."""
    found = page.evaluate(
        """async () => {
          const {sleep} = await import("/static/watch.js");
          const over = new AbortController();
          over.abort();
          const later = new AbortController();
          setTimeout(() => later.abort(), 10);
          const name = (error) => error.name;
          const pauses = [sleep(1, over.signal), sleep(600, later.signal), sleep(0.01)];
          return Promise.all(pauses.map((pause) => pause.then(() => "slept", name)));
        }"""
    )
    assert found == ["AbortError", "AbortError", "slept"]


COMPARE = """async (answer) => {
  const {Comparison} = await import("/static/compare.js");
  const asked = [];
  const real = window.fetch;
  let sent;
  const arrived = new Promise((resolve) => (sent = resolve));
  let reply;
  const later = new Promise((resolve) => (reply = resolve));
  window.fetch = async (path, {method = "GET"}) => {
    asked.push(`${method} ${path}`);
    if (method !== "POST") return new Response("{}");
    sent();
    await later;
    const body = JSON.stringify({id: "7", error: "full"});
    return new Response(body, {status: answer, headers: {"Retry-After": "0.01"}});
  };
  try {
    const comparison = new Comparison(() => {});
    const plan = {
      instance: {metric: "euclidean"},
      request: {time_limit: 1},
      result: {tours: [], vehicles_planned_for: 3, cost: 1},
      verdict: {upper_bound: 3},
    };
    comparison.begin(plan);
    await arrived;
    comparison.clear();
    reply();
    await new Promise((done) => setTimeout(done, 300));
    return asked;
  } finally {
    window.fetch = real;
  }
}"""


def test_a_request_under_way_is_cancelled_with_its_comparison(page):
    """A plan whose id arrives after the comparison ended is cancelled."""
    assert page.evaluate(COMPARE, 202) == ["POST plans", "DELETE plans/7"]


def test_a_refused_request_is_not_repeated_after_the_end(page):
    """A full server is not asked again once the comparison has ended."""
    assert page.evaluate(COMPARE, 503) == ["POST plans"]


WORDS = """async ([costs, twin]) => {
  const {Comparison} = await import("/static/compare.js");
  const [fetched, opened] = [window.fetch, window.EventSource];
  const asked = [];
  const planOf = ({vehicles, seed}) => ({
    instance: {metric: "great_circle"},
    status: "done",
    request: {time_limit: 3, seed},
    result: {
      tours: [],
      vehicles_planned_for: vehicles,
      cost: seed ? twin : costs[vehicles],
    },
    verdict: {upper_bound: 3},
  });
  window.fetch = async (path, {body}) => {
    asked.push(JSON.parse(body));
    return new Response(JSON.stringify({id: `${asked.length - 1}`}));
  };
  window.EventSource = class extends EventTarget {
    constructor(path) {
      super();
      const data = JSON.stringify(planOf(asked[path.match(/\\d+/)]));
      setTimeout(() => this.dispatchEvent(new MessageEvent("done", {data})));
    }
    close() {}
  };
  try {
    new Comparison(() => {}).begin(planOf({vehicles: 7, seed: 0}));
    while (document.getElementById("options").textContent.includes("…")) {
      await new Promise((done) => setTimeout(done, 5));
    }
    const changes = [...document.querySelectorAll(".option-change")];
    return [asked, changes.map((change) => change.textContent)];
  } finally {
    [window.fetch, window.EventSource] = [fetched, opened];
  }
}"""


def test_only_real_savings_are_shown(page):
    """All plans have the same time; what another seed changes, too, is no saving."""
    costs = {6: 120, 7: 100, 8: 99.5, 9: 95}
    asked, changes = page.evaluate(WORDS, [costs, 100.4])
    assert {plan["time_limit"] for plan in asked} == {3}
    assert changes == ["+20\u00a0km", "", "no change", "−5\u00a0km"]


def test_a_plan_of_another_tab_can_be_planned_again(open_page, address):
    """A plan of another tab can be planned with more vehicles, even without a map."""
    id = make_plan(address, instance=MATRIX, time_limit=0.1)["id"]
    reader = open_page(f"#plan={id}")
    reader.see("#form-verdict").to_contain_text("2 vehicles are not enough.")
    reader.see("#form-verdict").to_contain_text("The smallest fleet that suffices: 3.")
    reader.page.fill("#time_limit", "0.1")
    reader.page.click("#form-verdict .accept")
    reader.see("#status").to_contain_text("Finished")
    reader.see("#cost-of").to_have_text("3 of 3 vehicles")
