"""Make the pictures of the page in docs/, with its own server and browser.

    python benchmarks/screenshots.py [--folder docs]

The script needs the extras `serve` and `browser`, Chromium, and Pillow, which comes
with matplotlib and makes the files small.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import expect, sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parent.parent
DESK = {"width": 1440, "height": 900}
PHONE = {"width": 360, "height": 780}


def main() -> None:
    """Make all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "docs")
    folder = parser.parse_args().folder
    expect.set_options(timeout=180_000)  # the first worker may have to compile
    with browser_and_server() as (browser, address):
        draw(browser, address, folder)


@contextmanager
def browser_and_server() -> Iterator[tuple[Browser, str]]:
    """
    Start Chromium, and a server with an empty data folder.

    Yield the browser and the address of the server.
    """
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        command = [sys.executable, "-m", "fixedfleet", "serve", "--port", "0"]
        server = subprocess.Popen(
            [*command, "--no-token", "--data", data], stdout=subprocess.PIPE, text=True
        )
        try:
            address = next(w for w in server.stdout.readline().split() if "//" in w)
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=arguments
            )
            yield browser, address
            browser.close()
        finally:
            server.terminate()
            server.wait()


def draw(browser: Browser, address: str, folder: Path) -> None:
    """Take each picture and save it."""
    page = browser.new_page(viewport=DESK, locale="en-GB")
    page.goto(address)
    page.set_input_files("#file", ROOT / "examples" / "getraenke_koeln.csv")
    page.fill("#vehicles", "4")
    page.fill("#capacity", "950")
    page.click("#vehicle-table summary")
    for place, name in enumerate(("Anna", "Ben", "Cem", "Dora")):
        page.locator("[data-part=name]").nth(place).fill(name)
    page.click("#vehicle-table summary")
    plan(page)
    save(page, folder / "page.png")
    change(page)
    save(page, folder / "page_editing.png")
    save_sheet(page, folder / "sheet.png")

    page = browser.new_page(viewport=DESK, color_scheme="dark")
    take(page, address, "bakery_round")
    plan(page)
    save(page, folder / "page_dark.png")

    page = browser.new_page(viewport=PHONE, device_scale_factor=2, has_touch=True)
    take(page, address, "leipzig_parcels")
    plan(page)
    page.locator("#map").evaluate("map => map.scrollIntoView({block: 'start'})")
    save(page, folder / "page_phone.png")


def take(page: Page, address: str, example: str) -> None:
    """Open the page and choose an example."""
    page.goto(address)
    page.click(f"[data-example={example}]")


def change(page: Page) -> None:
    """Lock a tour, and move a stop from one tour to another."""
    page.click(".tour:nth-child(1) .lock")
    page.click(".tour:nth-child(2) .tour-head")
    stop = page.locator(".tour:nth-child(2) .stops li").nth(1)
    page.locator("#results").evaluate("side => side.scrollTo(0, side.scrollHeight)")
    stop.hover()
    page.mouse.down()
    for _ in range(2):  # the first move only begins the drag
        page.locator(".tour:nth-child(4) .tour-head").hover()
    page.mouse.up()
    expect(page.locator("#edited")).to_contain_text("km more than the plan found")


def save_sheet(page: Page, path: Path) -> None:
    """Save the first driver's sheet as it is printed."""
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    save(page, path, page.locator(".sheet").first.screenshot())


def plan(page: Page) -> None:
    """Make a plan, and wait until the comparison with other fleets is complete."""
    page.fill("#time_limit", "2")
    page.click("#plan")
    expect(page.locator("#status")).to_contain_text("Finished")
    expect(page.locator(".option")).to_have_count(4)
    expect(page.locator("#options")).not_to_contain_text("…")
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")


def save(page: Page, path: Path, taken: bytes | None = None) -> None:
    """
    Save a picture with few colours, so that the file is small.

    ``taken`` is the picture. Default: a screenshot of the page.
    """
    picture = Image.open(io.BytesIO(taken or page.screenshot())).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
