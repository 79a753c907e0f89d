"""The plan is the dispatcher's: stops are moved, tours locked, changes undone."""

from __future__ import annotations

import pytest

from .conftest import PATIENCE

pytestmark = pytest.mark.slow

FOUR = """name,x,y,demand
Depot,0,0,
Mill,10,0,3
Farm,10,2,3
Inn,-10,0,4
Shop,-10,2,2
"""


def stops(reader, tour: int) -> list[str]:
    """Return the names of the stops of the open tour with this number."""
    names = reader.page.locator(f".tour:nth-child({tour}) .stop-name")
    return names.all_inner_texts()


def plan_again(reader) -> None:
    """Plan, and wait until the new plan is finished."""
    before = reader.page.url
    reader.page.click("#plan")
    reader.page.wait_for_url(lambda url: url != before)
    reader.see("#status").to_contain_text("Finished")


@pytest.fixture
def four(reader):
    """A user who sees a plan of two tours with two customers each; tour 1 is open."""
    reader.paste(FOUR)
    reader.set_fleet(3, 6)
    reader.plan()
    reader.see(".tour").to_have_count(2)
    reader.page.click(".tour:nth-child(1) .tour-head")
    reader.see(".tour:nth-child(1) .stop").to_have_count(2)
    return reader


def test_a_stop_is_dragged_to_another_tour_and_back(four):
    """Loads, lengths and overload are shown at once; undo, redo and a reload work."""
    first, second = stops(four, 1)
    row = four.page.locator(".tour:nth-child(1) .stops li").first
    row.hover()
    four.page.mouse.down()
    for _ in range(3):  # the browser takes the first moves for the beginning of a drag
        four.page.hover(".tour:nth-child(2) .tour-head")
    four.page.mouse.up()
    four.see(".tour:nth-child(2).over .tour-load").to_contain_text("too much")
    four.see("#edited").to_contain_text("Changed by you")
    four.see(".tour-length").not_to_have_text(["", ""])
    listed = four.page.locator(".earlier-length").first
    four.expect(listed).to_have_text(four.page.inner_text("#cost"))
    four.see(".tour.selected .stop-name").to_contain_text([first])
    four.page.reload()
    four.see(".tour:nth-child(2).over").to_have_count(1)
    four.see("#undo").to_be_disabled()
    # By the menu it gets a tour of its own, because a vehicle is free.
    four.page.click(".tour:nth-child(2) .tour-head")
    four.page.click(f'[aria-label="Move {first}"]')
    four.page.select_option("#move-tour", label="A new tour (1 vehicle unused)")
    four.page.click("#move .primary")
    four.see(".tour").to_have_count(3)
    four.see(".tour.over").to_have_count(0)
    four.page.keyboard.press("Control+z")
    four.see(".tour.over").to_have_count(1)
    four.page.keyboard.press("Control+y")
    four.see(".tour").to_have_count(3)
    # Left out, it is listed; from there it is added to its old tour again.
    four.page.click(".tour:nth-child(3) .tour-head")
    four.page.click(f'[aria-label="Move {first}"]')
    four.page.select_option("#move-tour", label="No tour: leave it out")
    four.page.click("#move .primary")
    four.see("#left-out-list").to_contain_text(first)
    four.page.click("#left-out-list .add")
    four.page.select_option("#move-tour", index=0)
    four.page.select_option("#move-place", label="stop 2")
    four.page.click("#move .primary")
    four.see("#left-out").to_be_hidden()
    four.page.click(".tour:nth-child(1) .tour-head")
    four.see(".tour.selected .stop-name").to_have_text([second, first])


def test_the_keyboard_moves_a_stop_and_the_files_have_it(four):
    """Alt and an arrow change the order; the focus stays, and the download has it."""
    first, second = stops(four, 1)
    four.page.locator(".tour:nth-child(1) .stop").first.focus()
    four.page.keyboard.press("Alt+ArrowDown")
    four.see(".tour.selected .stop-name").to_have_text([second, first])
    four.see(".stop:focus .stop-name").to_have_text(first)
    four.see("#edited").to_contain_text("Changed by you")
    with four.page.expect_download() as download:
        four.page.click("[data-download=csv]")
    lines = download.value.path().read_text(encoding="utf-8-sig").splitlines()
    assert second in lines[1] and first in lines[2]


def test_a_stop_is_dragged_on_the_map(reader):
    """The stop of a chosen tour goes to the place in the tour where it is dropped."""
    reader.paste(FOUR)
    reader.set_fleet(1, 12)
    reader.plan()
    reader.page.click(".tour:nth-child(1) .tour-head")
    name = stops(reader, 1)[1]
    customers = reader.page.locator(".tour:nth-child(1) .stop").evaluate_all(
        "stops => stops.map((stop) => Number(stop.dataset.customer))"
    )
    spots = reader.spots_of([0, *customers])
    box = reader.page.locator("#canvas").bounding_box()
    start, end = spots[2], spots[-1]  # the second stop goes between the last and home
    home = {axis: (spots[0][axis] + end[axis]) / 2 for axis in ("x", "y")}
    reader.page.mouse.move(box["x"] + start["x"], box["y"] + start["y"])
    reader.page.mouse.down()
    for share in (0.5, 1):
        x = start["x"] + share * (home["x"] - start["x"])
        y = start["y"] + share * (home["y"] - start["y"])
        reader.page.mouse.move(box["x"] + x, box["y"] + y)
    reader.page.mouse.up()
    names = reader.page.locator(".tour.selected .stop-name")
    reader.expect(names.last).to_have_text(name)
    reader.page.click("#undo")
    reader.expect(names.nth(1)).to_have_text(name)


def test_locked_tours_stay_when_the_rest_is_planned_again(four):
    """The locked tour keeps its number and its vehicle's name; others are planned."""
    four.name_vehicles("Anna", "Berta", "Clara")
    plan_again(four)
    four.see(".tour:nth-child(2) .tour-stops").to_have_text("Berta: 2 stops")
    four.page.click(".tour:nth-child(2) .lock")
    four.see(".tour:nth-child(2) .lock").to_have_attribute("aria-pressed", "true")
    four.page.click(".tour:nth-child(2) .tour-head")
    kept = stops(four, 2)
    four.see(".stop-menu:visible").to_have_count(0)
    four.see("#plan").to_have_text("Plan the other tours")
    plan_again(four)
    four.see(".tour:nth-child(2) .tour-stops").to_have_text("Berta: 2 stops")
    four.see(".tour:nth-child(1) .tour-stops").to_contain_text("Anna: ")
    four.see(".tour:nth-child(2).locked").to_have_count(1)
    four.see(".tour.locked").to_have_count(1)
    four.page.click(".tour:nth-child(2) .tour-head")
    assert stops(four, 2) == kept
    four.page.reload()
    four.see(".tour:nth-child(2) .tour-stops").to_have_text("Berta: 2 stops")
    four.see(".tour:nth-child(2).locked").to_have_count(1)


def move_out(reader, name: str) -> None:
    """Take a stop of the open tour out of all tours."""
    reader.page.click(f'[aria-label="Move {name}"]')
    reader.page.select_option("#move-tour", label="No tour: leave it out")
    reader.page.click("#move .primary")
    reader.see("#left-out-list").to_contain_text(name)


def test_two_who_change_one_plan_are_told(four, open_page):
    """The second change is not kept in silence: theirs is shown, or mine is kept."""
    fragment = four.page.evaluate("location.hash")
    first, second = stops(four, 1)
    other = open_page(fragment, locale="en-GB")
    other.page.click(".tour:nth-child(1) .tour-head")
    move_out(four, first)
    four.see("#edited").to_contain_text("Changed by you")
    move_out(other, second)
    other.see("#conflict").to_be_visible()
    other.page.click("#take-theirs")
    other.see("#conflict").to_be_hidden()
    other.see("#left-out-list").to_contain_text(first)
    other.see("#left-out-list").not_to_contain_text(second)
    # Now the other one changes first, and this one keeps what it has.
    other.page.click("#left-out-list .add")
    with other.page.expect_response(lambda answer: answer.request.method == "PUT"):
        other.page.click("#move .primary")
    other.see("#left-out").to_be_hidden()
    four.page.evaluate(
        "() => { window.print = () => document.body.classList.add('printed'); }"
    )
    four.page.click("#print")
    four.see("#conflict").to_be_visible()
    four.see("body.printed").to_have_count(0)
    with four.page.expect_response(lambda answer: answer.request.method == "PUT"):
        four.page.click("#keep-mine")
    four.see("#conflict").to_be_hidden()
    other.page.reload()
    other.see("#left-out-list").to_contain_text(first)
    four.page.click("#print")
    four.see("body.printed").to_have_count(1)


EDITOR = """
  const editor = await import("/static/editor.js");
  const plan = (name) => ({
    id: name, edited: null, request: {}, instance: {name, demands: [1, 1]},
    result: {tours: [{customers: [1, 2], load: 2, length: 2}]},
  });
  const open = (found) =>
    editor.open(found, [{slot: 0, stops: [1, 2], name: "", locked: false}], []);
  const change = (name) => {
    open(plan(name));
    editor.toggleLock(0);
  };
  // A promise that nobody keeps would let the test wait for ever.
  const soon = (begin) => new Promise((heard, failed) => {
    setTimeout(() => failed(new Error("nothing was heard")), PATIENCE);
    begin(heard);
  });
""".replace("PATIENCE", str(PATIENCE))
LATE = """async () => {
  EDITOR
  let answer;
  const asked = [];
  window.fetch = (path, {body}) => {
    asked.push(path, body ? JSON.parse(body).revision : null);
    return new Promise((arrived) => { answer = arrived; });
  };
  editor.listen({onChange() {}, onSaved() {}, onConflict() {}, onError() {}});
  open(plan("Monday"));
  const kept = editor.keepMine();
  open(plan("Tuesday"));
  answer(new Response('{"edited": {"revision": 5}}'));
  await kept;
  return [editor.wouldLose(), ...asked, editor.lockedTours().length];
}"""


def test_a_conflict_is_over_when_its_plan_is_left(four):
    """Its question is hidden. Tours to be kept are kept, and no other plan changes."""
    conflict = {"status": 409, "json": {"error": "changed", "where": "revision"}}
    four.page.route("**/plans/*/tours", lambda route: route.fulfill(**conflict))
    four.page.click(f'[aria-label="Move {stops(four, 1)[0]}"]')
    four.page.select_option("#move-tour", label="A new tour (1 vehicle unused)")
    four.page.click("#move .primary")
    four.see("#conflict").to_be_visible()
    four.choose(FOUR)
    four.see("#conflict[hidden]").to_have_count(1)
    late = four.page.evaluate(LATE.replace("EDITOR", EDITOR))
    assert late == [True, "plans/Monday", None, "plans/Monday/tours", 5, 0]


def test_a_change_is_sent_again_after_a_fault_of_the_server(four):
    """A busy server is told about; the change is not lost and is saved later."""
    busy = []

    def refuse_once(route):
        if busy:
            route.continue_()
            return
        busy.append(route)
        route.fulfill(status=503, json={"error": {"message": "the server is busy"}})

    four.page.route("**/plans/*/tours", refuse_once)
    first = stops(four, 1)[0]
    four.page.click(f'[aria-label="Move {first}"]')
    four.page.select_option("#move-tour", label="A new tour (1 vehicle unused)")
    with four.page.expect_response(
        lambda answer: answer.url.endswith("/tours") and answer.status == 200
    ):
        four.page.click("#move .primary")
    assert busy
    four.see("#edited").to_contain_text("Changed by you")
    four.page.reload()
    four.see(".tour").to_have_count(3)


def test_a_change_is_saved_although_another_file_is_opened(four):
    """What the server could not keep is sent again when other customers are shown."""
    answer = {"status": 503, "json": {"error": {"message": "the server is busy"}}}
    four.page.route("**/plans/*/tours", lambda route: route.fulfill(**answer))
    before = four.page.url
    first = stops(four, 1)[0]
    four.page.click(f'[aria-label="Move {first}"]')
    four.page.select_option("#move-tour", label="A new tour (1 vehicle unused)")
    with four.page.expect_response(lambda answer: answer.status == 503):
        four.page.click("#move .primary")
    four.choose(FOUR)
    with four.page.expect_response(
        lambda answer: answer.url.endswith("/tours") and answer.status == 200
    ):
        four.page.unroute("**/plans/*/tours")
    four.page.goto(before)
    four.see(".tour").to_have_count(3)


def test_leaving_the_page_asks_first_if_a_change_is_not_saved(four):
    """While the server cannot keep a change, the browser warns before it is lost."""
    answer = {"status": 503, "json": {"error": {"message": "the server is busy"}}}
    four.page.route("**/plans/*/tours", lambda route: route.fulfill(**answer))
    first = stops(four, 1)[0]
    four.page.click(f'[aria-label="Move {first}"]')
    four.page.select_option("#move-tour", label="A new tour (1 vehicle unused)")
    with four.page.expect_response(lambda answer: answer.status == 503):
        four.page.click("#move .primary")
    four.see("#edit-error").to_be_visible()
    with four.page.expect_event("dialog") as asked:
        four.page.evaluate("() => { location.hash = 'elsewhere'; }")
    assert asked.value.type == "beforeunload"
    asked.value.dismiss()
    with four.page.expect_response(lambda answer: answer.status == 200):
        four.page.unroute("**/plans/*/tours")  # the change is sent again
    four.see("#edited").to_contain_text("Changed by you")


PLANS = """async () => {
  EDITOR
  const answers = {Monday: [503, {error: "busy"}], Tuesday: [200, {revision: 1}]};
  window.fetch = async (path) => {
    const [status, body] = answers[path.split("/")[1]];
    return new Response(JSON.stringify(body), {status});
  };
  const seen = {};
  await soon((refused) => {
    const report = {onChange() {}, onSaved() {}, onConflict() {}, onError: refused};
    editor.listen(report);
    change("Monday");
  });
  await soon((saved) => {
    const onSaved = () => {
      seen.whileOneFails = editor.wouldLose();
      answers.Monday = [409, {error: "changed", where: "revision"}];
      saved();
    };
    editor.listen({onChange() {}, onSaved, onConflict() {}, onError() {}});
    change("Tuesday");
  });
  const told = document.getElementById("earlier-error");
  await soon((done) => {
    const look = () => (told.textContent ? done() : setTimeout(look, 10));
    look();
  });
  seen.whenRefused = editor.wouldLose();
  return seen;
}"""


def test_a_plan_that_cannot_be_saved_is_not_forgotten_for_another(reader):
    """Its change would be lost while another plan is saved; a refusal is told."""
    seen = reader.page.evaluate(PLANS.replace("EDITOR", EDITOR))
    assert seen == {"whileOneFails": True, "whenRefused": True}
    told = "Monday: Somebody else has changed this plan meanwhile."
    reader.see("#earlier-error").to_have_text(told)
    reader.see("#earlier-error").to_be_visible()


OPENED_AGAIN = """async () => {
  EDITOR
  const seen = [];
  const note = () => seen.push(editor.lockedTours().length, editor.wouldLose());
  const answers = [[503, {error: "busy"}], [200, {revision: 1}]];
  window.fetch = async () => {
    note();
    const [status, body] = answers.shift();
    return new Response(JSON.stringify(body), {status});
  };
  const monday = plan("Monday");
  const told = (name, act) => soon((heard) => {
    const report = {onSaved() {}, onConflict() {}, onError() {}, [name]: heard};
    editor.listen({onChange: () => seen.push("shown"), ...report});
    act();
  });
  await told("onError", () => {
    open(monday);
    editor.toggleLock(0);
  });
  open(plan("Tuesday"));
  note();
  await told("onSaved", () => open(monday));
  note();
  open(plan("Monday"));
  note();
  return seen;
}"""


def test_a_change_that_is_not_saved_yet_is_shown_when_its_plan_is_opened_again(reader):
    """The tours on the server are older: the next change of them would replace it."""
    seen = reader.page.evaluate(OPENED_AGAIN.replace("EDITOR", EDITOR))
    sent, saved, other = [1, True], [1, False], [0, True]
    assert seen == ["shown", *sent, *other, "shown", *sent, *saved, 0, False]


CONFLICT = """async () => {
  EDITOR
  const seen = [];
  const note = () => seen.push(editor.lockedTours().length, editor.wouldLose());
  const answers = [
    [409, {error: "changed", where: "revision"}],
    [200, {edited: {revision: 7}}],
    [200, {revision: 8}],
  ];
  window.fetch = async (_path, {body}) => {
    if (body) seen.push(JSON.parse(body).revision);
    const [status, answer] = answers.shift();
    return new Response(JSON.stringify(answer), {status});
  };
  const monday = plan("Monday");
  const told = (name, act) => soon((heard) => {
    const report = {onSaved() {}, onConflict() {}, onError() {}, [name]: heard};
    editor.listen({onChange() {}, ...report});
    act();
  });
  await told("onConflict", () => {
    open(monday);
    editor.toggleLock(0);
  });
  open(plan("Tuesday"));
  note();
  await told("onConflict", () => open(monday));
  note();
  seen.push(await editor.isOutdated());
  await told("onSaved", editor.keepMine);
  note();
  return seen;
}"""


def test_a_conflict_is_asked_about_again_when_its_plan_is_opened_again(reader):
    """The user's tours are kept, and the page is not left, until this is decided."""
    seen = reader.page.evaluate(CONFLICT.replace("EDITOR", EDITOR))
    refused, other, again, saved = [0], [0, True], [1, True], [7, 1, False]
    assert seen == [*refused, *other, *again, True, *saved]


LOST_ANSWER = """async () => {
  EDITOR
  const sent = [];
  window.fetch = async (_path, {body}) => {
    const {revision, locked} = JSON.parse(body);
    sent.push([revision, locked.length]);
    if (sent.length === 1) throw new TypeError("the answer is lost");
    return new Response(JSON.stringify({revision: revision + 1}));
  };
  const told = (name, act) => soon((heard) => {
    const report = {onSaved() {}, onConflict() {}, onError() {}, [name]: heard};
    editor.listen({onChange() {}, ...report});
    act();
  });
  await told("onError", () => change("Monday"));
  await told("onSaved", () => editor.toggleLock(0));
  return sent;
}"""


def test_a_change_without_an_answer_is_sent_again_before_a_newer_one(reader):
    """The server may have stored it; it would think that somebody else had done so."""
    sent = reader.page.evaluate(LOST_ANSWER.replace("EDITOR", EDITOR))
    assert sent == [[0, 1], [0, 1], [1, 0]]


def test_who_is_taken_out_stays_out_until_added(four):
    """A cancelled customer does not come back when the other tours are planned."""
    first, _ = stops(four, 1)
    move_out(four, first)
    four.page.click(".tour:nth-child(2) .lock")
    four.see("#plan").to_have_text("Plan the other tours")
    four.see("#filling-text").to_contain_text("of 18")
    plan_again(four)
    four.see("#left-out-list").to_contain_text(first)
    four.see("#left-out-list li").to_have_count(1)
    four.page.reload()
    four.see("#left-out-list").to_contain_text(first)
    plan_again(four)  # without a lock, too
    four.see("#left-out-list").to_contain_text(first)
    four.page.click("#left-out-list .add")
    four.page.click("#move .primary")
    four.see("#left-out").to_be_hidden()
    four.see("#undo").to_be_enabled()
    plan_again(four)
    four.see("#left-out").to_be_hidden()
    four.see(".tour-stops").to_have_text(["2 stops", "2 stops"])


def test_names_apply_at_once_and_are_swapped_by_a_click(four, open_page):
    """A driver is ill: names change on the plan that is shown, and travel with it."""
    four.name_vehicles("Anna", "Berta")
    four.see(".tour-stops").to_have_text(["Anna: 2 stops", "Berta: 2 stops"])
    four.page.select_option(".tour:nth-child(1) .driver select", "Berta")
    four.see(".tour-stops").to_have_text(["Berta: 2 stops", "Anna: 2 stops"])
    with four.page.expect_response(lambda answer: answer.request.method == "PUT"):
        four.page.click("#undo")
    four.see(".tour-stops").to_have_text(["Anna: 2 stops", "Berta: 2 stops"])
    # The browser of a colleague, whose form is empty, keeps the names of the plan.
    other = open_page(four.page.evaluate("location.hash"), locale="en-GB")
    other.see(".tour-stops").to_have_text(["Anna: 2 stops", "Berta: 2 stops"])
    other.see("[data-part=name] >> nth=1").to_have_value("Berta")
    assert other.vehicle_names() == ["Anna", "Berta"]
    plan_again(other)
    other.see(".tour-stops").to_have_text(["Anna: 2 stops", "Berta: 2 stops"])


def test_back_to_the_plan_found(four):
    """After a reload, a changed plan can still be what the search found."""
    before = stops(four, 1)
    four.see("#restore").to_be_hidden()
    with four.page.expect_response(lambda answer: answer.request.method == "PUT"):
        move_out(four, before[0])
    four.page.reload()
    four.see("#undo").to_be_disabled()
    four.page.click("#restore")
    four.see("#left-out").to_be_hidden()
    four.see("#edited").to_have_text("")
    four.see("#restore").to_be_hidden()
    four.page.click(".tour:nth-child(1) .tour-head")
    assert stops(four, 1) == before


def test_moves_are_sorted_by_the_extra_length(four):
    """The tour with room and the shortest detour comes first, with its figure."""
    name = stops(four, 1)[0]
    four.page.click(f'[aria-label="Move {name}"]')
    options = four.page.locator("#move-tour option").all_inner_texts()
    assert options[0].startswith("Tour 1 (+") and options[0].endswith(" left)")
    assert options[1].startswith("Tour 2 (+") and options[1].endswith("too full)")
    four.page.keyboard.press("Escape")


def test_a_customer_is_found_by_any_text(reader):
    """A part of the name, or of a telephone number, opens the tour of a customer."""
    rows = [f"{line},0341 47{i}" for i, line in enumerate(FOUR.splitlines()[1:])]
    reader.paste("name,x,y,demand,phone\n" + "\n".join(rows))
    reader.set_fleet(3, 6)
    reader.plan()
    reader.page.fill("#find", "FAR")
    reader.see("#found button").to_have_count(1)
    reader.page.click("#found button")
    reader.see(".stop:focus .stop-name").to_have_text("Farm")
    reader.see("#found").to_be_hidden()
    reader.page.fill("#find", "0341 473")
    reader.page.keyboard.press("Enter")
    reader.see(".stop:focus .stop-name").to_have_text("Inn")
    with reader.page.expect_response(lambda answer: answer.request.method == "PUT"):
        move_out(reader, "Inn")
        reader.page.focus("#left-out-list .add")
    reader.see("#left-out-list .add").to_be_focused()  # also after the answer
    reader.page.fill("#find", "inn")
    reader.see("#found").to_contain_text("left out")
    reader.page.keyboard.press("Enter")
    reader.see("#left-out-list .add").to_be_focused()


def test_a_driver_keeps_the_customers_of_the_last_plan(four):
    """Tomorrow, with other rows and one customer more, names follow the customers."""
    four.name_vehicles("Anna", "Berta")
    four.see(".tour:nth-child(1) .tour-stops").to_have_text("Anna: 2 stops")
    four.see(".tour:nth-child(2) .tour-stops").to_have_text("Berta: 2 stops")
    before = stops(four, 1)
    head, depot, *rows = FOUR.splitlines()
    # The customers of tour 2 come first, so the search numbers its tours otherwise.
    rows.sort(key=lambda row: row.split(",")[0] in before)
    for table in (rows, rows[::-1], [*rows, "Hut,-11,1,1"]):
        four.page.click("#change")
        four.page.fill("#table", "\n".join([head, depot, *table]))
        four.page.click("#use-table")
        four.see("#loaded-count").to_have_text(f"{len(table)} customers")
        four.set_fleet(3, 7)
        # On a busy machine, a tenth of a second is too short for more than a packing.
        four.page.fill("#time_limit", "1")
        plan_again(four)
        four.page.fill("#find", before[0])
        four.see("#found").to_contain_text("Tour 1")
        four.page.fill("#find", "")
        four.see(".tour:nth-child(1) .tour-stops").to_contain_text("Anna: ")
        four.see(".tour:nth-child(2) .tour-stops").to_contain_text("Berta: ")
