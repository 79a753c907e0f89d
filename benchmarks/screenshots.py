"""Makes the pictures of the page in docs/, with a server and a browser of its own.

    python benchmarks/screenshots.py [--folder docs]

It needs the extras `serve` and `browser`, Chromium, and Pillow, which comes with
matplotlib and makes the files small.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import expect, sync_playwright

if TYPE_CHECKING:
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
            draw(browser, address, folder)
            browser.close()
        finally:
            server.terminate()
            server.wait()


def draw(browser: Browser, address: str, folder: Path) -> None:
    """Take each picture and save it."""
    page = browser.new_page(viewport=DESK)
    plan(page, address, "leipzig_parcels")
    save(page, folder / "page.png")

    page = browser.new_page(viewport=DESK, color_scheme="dark")
    plan(page, address, "bakery_round")
    save(page, folder / "page_dark.png")

    page = browser.new_page(viewport=PHONE, device_scale_factor=2, has_touch=True)
    plan(page, address, "leipzig_parcels")
    page.locator("#map").evaluate("map => map.scrollIntoView({block: 'start'})")
    save(page, folder / "page_phone.png")


def plan(page: Page, address: str, example: str) -> None:
    """Plan an example, compare its fleet, and let all that moves come to rest."""
    page.emulate_media(reduced_motion="reduce")
    page.goto(address)
    page.click(f"[data-example={example}]")
    page.fill("#time_limit", "2")
    page.click("#plan")
    expect(page.locator("#status")).to_contain_text("Finished")
    expect(page.locator(".option")).to_have_count(4)
    expect(page.locator("#options")).not_to_contain_text("…")
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")


def save(page: Page, path: Path) -> None:
    """Save the screen in 256 colours, which is a third of the size."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
