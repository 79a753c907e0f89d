"""Safe writing: files that are replaced as a whole, and locks between processes."""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["exclusive", "lock", "replacing", "write_text"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """
    Open a new file that replaces ``path`` at the end of the block.

    If the block raises an error, the new file is removed and ``path`` stays as it was.
    A link is followed, and an existing file keeps its permissions.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise InputError(f"{os.fspath(path)} is not a regular file to be replaced")
    # The module tempfile is not used, because only the user could read its files,
    # whatever the umask is.
    temporary = target.with_name(f".{target.name[:32]}.{secrets.token_hex(6)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        temporary.replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole text file in UTF-8. The line ends of ``text`` are not changed."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"cannot write {text[error.start]!r} as UTF-8: it is half a character"
        ) from None
    with replacing(path) as file:
        file.write(data)


def lock(file: IO[Any], busy: str) -> None:
    """
    Lock an open file until it is closed.

    If another process has locked it, raise InputError with the message ``busy``.
    The system releases the lock of a process that is killed. On Windows, nothing is
    locked.
    """
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(busy) from None


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """
    Run the block in one process at a time, so that it can read and replace ``path``.

    Other processes wait. Windows has no such lock: there, the file of the process that
    writes last remains.
    """
    with open(path.with_name(f".{path.name}.lock"), "ab") as file:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield
