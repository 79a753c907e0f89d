"""Files are written whole or not at all."""

from __future__ import annotations

import os

import pytest

from fixedfleet import InputError
from fixedfleet.files import atomic


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    """Where writing fails half way, the old file stays and no scrap is left."""
    path = tmp_path / "x.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic.replacing(path) as file:
        file.write(b"ne")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_a_file_is_replaced_and_keeps_its_permissions(tmp_path):
    """The new file takes the old one's place with the old one's permissions."""
    path = tmp_path / "x.txt"
    path.write_text("old")
    path.chmod(0o640)
    atomic.write_text(path, "new\r\n")
    assert path.read_bytes() == b"new\r\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["x.txt"]


def test_a_new_file_is_not_private(tmp_path):
    """A new file has the permissions that any new file has."""
    atomic.write_text(tmp_path / "x.txt", "new")
    (tmp_path / "y.txt").write_text("any")
    modes = [(tmp_path / name).stat().st_mode for name in ("x.txt", "y.txt")]
    assert modes[0] == modes[1]


def test_a_link_is_followed(tmp_path):
    """Writing through a link changes the file it points to and keeps the link."""
    (tmp_path / "real.txt").write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "real.txt")
    atomic.write_text(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_long_name_of_wide_letters(tmp_path):
    """A name as long as the system takes can be written."""
    path = tmp_path / ("\N{GRINNING FACE}" * 60 + ".txt")
    atomic.write_text(path, "new")
    assert path.read_text() == "new"


def test_a_folder_is_not_replaced(tmp_path):
    """A folder where the file should go is refused."""
    with pytest.raises(InputError, match="not a regular file"):
        atomic.write_text(tmp_path, "new")


def test_a_folder_that_is_missing(tmp_path):
    """A missing folder is said to be missing."""
    with pytest.raises(FileNotFoundError):
        atomic.write_text(tmp_path / "none" / "x.txt", "new")


def test_text_that_is_no_text(tmp_path):
    """Half a character is refused, and no file is left."""
    with pytest.raises(InputError, match="half a character"):
        atomic.write_text(tmp_path / "x.txt", "a\ud800b")
    assert os.listdir(tmp_path) == []


def test_a_block_that_is_exclusive_holds_a_lock_until_it_ends(tmp_path):
    """Meanwhile nobody else gets the lock beside the file."""
    pytest.importorskip("fcntl", reason="Windows locks nothing")
    path = tmp_path / "x.json"
    with open(tmp_path / ".x.json.lock", "ab") as other:
        with (
            atomic.exclusive(path),
            pytest.raises(InputError, match="it is in use"),
        ):
            atomic.lock(other, "it is in use")
        atomic.lock(other, "it is in use")
