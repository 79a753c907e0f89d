"""The page: its files, by name and no other way."""

from __future__ import annotations

import hashlib
from pathlib import Path

from starlette.responses import Response

from fixedfleet.serve.errors import ApiError

__all__ = ["page_file", "start_page"]

_FOLDER = Path(__file__).parent / "page"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".webmanifest": "application/manifest+json",
}
_BARE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>fixedfleet</title>
<h1>fixedfleet</h1>
<p>The service runs, but its page is not installed. The API is described at
<a href="/openapi.json">/openapi.json</a>.</p>
</html>
"""


def page_file(name: str, if_none_match: str | None = None) -> Response:
    """
    Answer with a file of the page.

    Parameters
    ----------
    name
        The file's name, which is looked up among those there are.
    if_none_match
        The tags of the copies that the client has, if it has any.
    """
    known = {path.name: path for path in _FOLDER.glob("*") if path.suffix in _TYPES}
    if name not in known:
        raise ApiError(404, "the page has no file of this name")
    data = known[name].read_bytes()
    headers = {
        "etag": f'"{hashlib.sha256(data).hexdigest()[:32]}"',
        "cache-control": "no-cache",  # asks each time, and is told 304
        "content-type": _TYPES[known[name].suffix],
    }
    if _is_known(headers["etag"], if_none_match or ""):
        return Response(status_code=304, headers=headers)
    return Response(data, headers=headers)


def _is_known(tag: str, if_none_match: str) -> bool:
    """Whether a tag is among those listed, which proxies may have made weak."""
    listed = [entry.strip() for entry in if_none_match.split(",")]
    return "*" in listed or tag in (entry.removeprefix("W/") for entry in listed)


def start_page(if_none_match: str | None = None) -> Response:
    """Answer with the page, or say that there is none."""
    if (_FOLDER / "index.html").is_file():
        return page_file("index.html", if_none_match)
    return Response(_BARE, headers={"content-type": _TYPES[".html"]})
