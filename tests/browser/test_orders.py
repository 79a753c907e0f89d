"""Orders that nobody waits for any more, tokens, and customers that are not at hand."""

from __future__ import annotations

import json
from urllib.request import Request, urlopen

import pytest

MATRIX = {
    "demands": [2, 2, 2],
    "matrix": [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]],
    "capacity": 2,
    "vehicles": 2,
}


@pytest.fixture(scope="module")
def page(chromium, address):
    """One page for all: these tests leave it as it was."""
    page = chromium.new_page()
    page.goto(address)
    page.wait_for_selector("html.ready")
    yield page
    page.close()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("plain-token", "plain-token"),
        ("a+b+c", "a+b+c"),
        ("a%2Bb%26c%25d%3De", "a+b&c%d=e"),
        ("100%", "100%"),
    ],
)
def test_tokens_are_taken_as_they_are_meant(page, written, meant):
    """A plus is a plus; what an address cannot hold is written as in addresses."""
    found = page.evaluate(
        """async (written) => {
          const {takeToken, token} = await import("/static/address.js");
          history.replaceState(null, "", `#token=${written}`);
          takeToken();
          const found = [token(), location.hash];
          sessionStorage.clear();
          return found;
        }""",
        written,
    )
    assert found == [meant, ""]


def test_who_was_stopped_does_not_sleep(page):
    """A pause that begins after the end is none; one that is ended ends."""
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
      instance: {unit: ""},
      request: {time_limit: 1},
      result: {feasible: true, fleet: 3, cost: 1},
      verdict: {upper_bound: 3},
    };
    comparison.begin(plan, () => ({}));
    await arrived;
    comparison.clear();
    reply();
    await new Promise((done) => setTimeout(done, 300));
    return asked;
  } finally {
    window.fetch = real;
  }
}"""


def test_an_order_under_way_is_cancelled_with_its_comparison(page):
    """A plan whose id arrives after the comparison ended is cancelled, not followed."""
    assert page.evaluate(COMPARE, 202) == ["POST plans", "DELETE plans/7"]


def test_an_order_refused_is_not_sent_again_for_nobody(page):
    """A full server is not asked again once the comparison has ended."""
    assert page.evaluate(COMPARE, 503) == ["POST plans"]


def test_no_fleet_is_offered_for_customers_that_are_not_at_hand(open_page, address):
    """A plan of distances alone, opened in a fresh tab, is shown and not replanned."""
    body = {"instance": MATRIX, "time_limit": 0.2, "wait": 30}
    request = Request(
        f"{address}plans",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
        method="POST",
    )
    with urlopen(request) as answer:
        id = json.load(answer)["id"]
    reader = open_page(f"#plan={id}")
    reader.see("#result-verdict").to_contain_text("2 vehicles are not enough.")
    reader.see("#form-verdict").to_contain_text("The smallest fleet that suffices: 3.")
    reader.see(".accept").to_have_count(0)
    reader.see("#plan").to_be_disabled()
