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
    Context manager that opens a new file, which replaces ``path`` when the block ends.

    If the block raises an error, the new file is removed and ``path`` stays as it was.
    If ``path`` is a symbolic link, the file that it points to is replaced. An existing
    file keeps its permissions.
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
    """
    Write a text file in UTF-8, and replace an existing file only when all is written.

    The line ends of ``text`` are not changed.
    """
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
    Context manager whose block runs in only one process at a time per ``path``.

    So the block can read the file and replace it. Other processes wait. On Windows,
    nothing is locked: if two processes replace the file, the later one wins.
    """
    with open(path.with_name(f".{path.name}.lock"), "ab") as file:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield
