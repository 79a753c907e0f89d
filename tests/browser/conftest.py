"""A real server and a real browser for the tests of the page."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

PATIENCE = 40_000  # milliseconds to wait for what must come, on a busy machine too
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")
TOKEN = "token-100%+&=#"  # an address must quote these characters
TILES = "https://tiles.example.org/{z}/{x}/{y}.png"


def wait_for_workers(url):
    """Wait until the server can plan: its first worker may have to compile."""
    end = time.monotonic() + 180
    while time.monotonic() < end:
        with urlopen(f"{url}health") as answer:
            if json.load(answer)["workers"]:
                return
        time.sleep(0.1)
    raise TimeoutError("no worker is ready")


@contextmanager
def serving(**settings):
    """Start a server in this process, with an empty data folder; give its address."""
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    from fixedfleet.serve import jobs, security
    from fixedfleet.serve.server import Server
    from fixedfleet.serve.settings import Settings

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # All tests are one client, and each leaves short plans behind.
        patch.setattr(jobs, "JOBS_PER_CLIENT", 64)
        # The browser need not ask for all files again whenever a test opens the page.
        patch.setattr(security, "FILE_CACHE", "max-age=3600")
        # The tests have compiled everything before.
        server = Server(Settings(data=Path(folder), port=0, **settings), ahead=None)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            wait_for_workers(server.url)
            yield server.address()
        finally:
            server.should_exit = True
            thread.join()


# For the package, not for the session: while Playwright runs, no other test could run
# an event loop of its own, and workers need memory.
@pytest.fixture(scope="package")
def address():
    """The address of a server without a token."""
    with serving(workers=2) as address:
        yield address


@pytest.fixture(scope="module")
def guarded():
    """The address, with the token, of a server that needs one and has street tiles."""
    with serving(token=TOKEN, tiles=TILES, workers=1) as address:
        yield address


@pytest.fixture(scope="package")
def chromium():
    """A browser."""
    sync_api = pytest.importorskip("playwright.sync_api")
    path = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if path is None:
        pytest.skip("no Chromium: `make test-browser` installs one")
    sync_api.expect.set_options(timeout=PATIENCE)
    # Without suggestions in its address bar, Chromium opens a window in half the time.
    # This replaces the list of Playwright, of which only HttpsUpgrades matters here.
    without = "WebUIOmniboxPopup,WebUIOmniboxAimPopup,HttpsUpgrades"
    arguments = ["--disable-dev-shm-usage", f"--disable-features={without}"]
    # All pages are of one server: one process for them, instead of one a page opened.
    arguments += ["--disable-site-isolation-trials", "--renderer-process-limit=1"]
    if os.geteuid() == 0:  # it refuses to start as root otherwise, as in containers
        arguments.append("--no-sandbox")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


class Reader:
    """
    A user of the page.

    Parameters
    ----------
    page
        Playwright's page.
    expect
        Playwright's assertions, which wait for what they assert.
    """

    def __init__(self, page, expect):
        self.page, self.expect = page, expect

    def see(self, selector: str):
        """Return the assertions about an element."""
        return self.expect(self.page.locator(selector))

    def take_example(self, name: str = "leipzig_parcels") -> None:
        """Load an example."""
        self.page.click(f"[data-example={name}]")
        self.see("#plan").to_be_enabled()

    def paste(self, text: str) -> None:
        """Paste a table into the field for one, and use it."""
        self.page.click(".paste summary")
        self.page.fill("#table", text)
        self.page.click("#use-table")
        self.see("#plan").to_be_enabled()

    def choose(self, text: str) -> None:
        """Choose a file with this table; to paste a large table takes seconds."""
        file = {"name": "shops.csv", "mimeType": "text/csv", "buffer": text.encode()}
        self.page.set_input_files("#file", file)
        self.see("#plan").to_be_enabled()

    def set_fleet(self, vehicles: int, capacity: float) -> None:
        """Fill in the fleet."""
        self.page.fill("#vehicles", str(vehicles))
        self.page.fill("#capacity", str(capacity))

    def name_vehicles(self, *names: str) -> None:
        """Write names into the table of vehicles, one per row."""
        if not self.page.locator("#vehicle-rows").is_visible():
            self.page.click("#vehicle-table summary")
        for place, name in enumerate(names):
            field = self.page.locator("[data-part=name]").nth(place)
            field.fill(name)
            field.blur()

    def vehicle_names(self) -> list[str]:
        """Return the names in the table of vehicles."""
        fields = self.page.locator("[data-part=name]").all()
        return [name for field in fields if (name := field.input_value())]

    def plan(self, seconds: float | str = 0.1) -> None:
        """Plan, and wait until the plan is finished."""
        self.begin(seconds)
        self.see("#status").to_contain_text(re.compile("Finished|Fertig"))

    def begin(self, seconds: float | str) -> None:
        """Plan, and wait until there are tours."""
        self.page.fill("#time_limit", str(seconds))
        self.page.click("#plan")
        self.see(".tour").not_to_have_count(0)

    def text(self, selector: str) -> str:
        """Return what an element says."""
        return self.page.inner_text(selector)

    def spot_of(self, customer: int) -> dict[str, float]:
        """Return where a customer is on the canvas, if the whole plan is shown."""
        return self.spots_of([customer], everything=True)[0]

    def spots_of(self, customers: list[int], *, everything: bool = False):
        """Return where customers are on the canvas when it shows just them, or all."""
        return self.page.evaluate(
            """async ([customers, everything]) => {
              const {instanceOf} = await import("/static/instance.js");
              const {fit, placesOf, toScreen} = await import("/static/projection.js");
              const id = new URLSearchParams(location.hash.slice(1)).get("plan");
              const {instance} = await (await fetch(`/plans/${id}`)).json();
              const places = placesOf(instanceOf(instance));
              const canvas = document.getElementById("canvas");
              const {width, height} = canvas.getBoundingClientRect();
              const sought = customers.map((customer) => places[customer]);
              const view = fit(everything ? places : sought, width, height, 44);
              return sought.map((place) => toScreen(place, view, width, height));
            }""",
            [customers, everything],
        )


class Tab:
    """A tab of the browser that notes the errors of its page."""

    def __init__(self, chromium, **options):
        options.setdefault("viewport", {"width": 1280, "height": 800})
        self.context = chromium.new_context(**options)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.faults: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", self._listen)

    def _listen(self, message):
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.faults.append(message.text)

    def clear(self):
        """Forget all that a test has left behind, as a new browser would."""
        address = urlsplit(self.page.url)
        self.page.goto("about:blank")
        self.page.unroute_all()
        self.page.mouse.move(0, 0)
        self.context.clear_cookies()
        storage = {"origin": f"{address.scheme}://{address.netloc}"}
        session = self.context.new_cdp_session(self.page)
        session.send("Storage.clearDataForOrigin", {**storage, "storageTypes": "all"})
        session.detach()
        self.faults.clear()


@pytest.fixture(scope="package")
def tab(chromium):
    """A tab for one test after the other: opening a new one takes a second."""
    return Tab(chromium)


@pytest.fixture
def open_page(chromium, address, tab):
    """Return how to open the page; neither its scripts nor its CSP may raise errors.

    The first page with the usual options is opened in the tab that tests share. All
    others are opened in browsers of their own.
    """
    from playwright.sync_api import expect

    tabs = []

    def open_page(fragment="", at=address, **options):
        shared = not options and tab not in tabs
        tabs.append(tab if shared else Tab(chromium, **options))
        page = tabs[-1].page
        page.goto(at + fragment)
        page.wait_for_selector("html.ready")
        return Reader(page, expect)

    yield open_page
    faults = [fault for each in tabs for fault in each.faults]
    for each in tabs:
        if each is tab:
            each.clear()
        else:
            each.context.close()
    assert faults == []


@pytest.fixture
def reader(open_page):
    """A user who has just opened the page."""
    return open_page()


@pytest.fixture(scope="package")
def page(chromium, address):
    """One page for all tests of single modules, which do not change it."""
    page = chromium.new_page()
    page.goto(address)
    page.wait_for_selector("html.ready")
    return page


def make_plan(address: str, **wishes):
    """Ask the server for a plan, and return its document when it is finished."""
    body = json.dumps({"wait": 30, **wishes}).encode()
    headers = {"Content-Type": "application/json"}
    request = Request(f"{address}plans", body, headers, method="POST")
    with urlopen(request) as answer:
        return json.load(answer)


@pytest.fixture(scope="package")
def finished(address) -> str:
    """The fragment of the address of a finished plan of the Leipzig example."""
    table = Path(__file__).parents[2] / "examples" / "leipzig_parcels.csv"
    text = table.read_text(encoding="utf-8")
    return f"#plan={make_plan(address, text=text, time_limit=0.3)['id']}"


@pytest.fixture
def planned(open_page, finished):
    """A user who sees a finished plan of seven tours."""
    return open_page(finished)


def table(customers: int, *, seed: int = 1, largest: int = 9) -> str:
    """A table of customers with a depot in the middle, without a fleet."""
    rng = random.Random(seed)
    rows = ["name,x,y,demand", "Depot,500,500,"]
    for i in range(1, customers + 1):
        x, y = rng.uniform(0, 1000), rng.uniform(0, 1000)
        rows.append(f"Shop {i},{x:.1f},{y:.1f},{rng.randint(1, largest)}")
    return "\n".join(rows)


@pytest.fixture(scope="session")
def two_hundred() -> str:
    """A table of 200 customers."""
    return table(200)


@pytest.fixture(scope="session")
def thousand() -> str:
    """A table of 1,000 customers."""
    return table(1000)
