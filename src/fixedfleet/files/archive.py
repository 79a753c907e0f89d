"""npz archives read with care: nothing is unpacked before its size is known."""

from __future__ import annotations

import os
import struct
import tokenize
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from numpy.lib import format as npy

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Archive", "check_inflation"]

_MOST_BYTES = 4 * 2**30
# Numbers of plans and places shrink less than this; zeros by the gigabyte do not.
_MOST_INFLATION = 100
_SMALL = 64 * 2**20
_MOST_MEMBERS = 64
# All that zipfile and numpy raise on bytes that are not what they should be.
_BROKEN = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, EOFError, SyntaxError,
    OverflowError, MemoryError, RecursionError, NotImplementedError, RuntimeError,
    OSError, zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError,
)  # fmt: skip


def check_inflation(what: str, size: int, stored: int) -> None:
    """
    Refuse what would take far more memory than its file suggests.

    Parameters
    ----------
    what
        What it is, for the message.
    size
        Bytes it would take.
    stored
        Bytes it takes in the file.
    """
    if size > _MOST_BYTES:
        raise InputError(f"{what} would take {size} bytes, not at most {_MOST_BYTES}")
    if size > _SMALL and size > _MOST_INFLATION * stored:
        raise InputError(
            f"{what} would take {size} bytes of memory and {stored} in the file: no "
            f"honest one grows more than {_MOST_INFLATION}-fold"
        )


@dataclass(frozen=True)
class _Header:
    """What an array says of itself before its data."""

    shape: tuple[int, ...]
    kind: str


class Archive:
    """
    An npz file: headers of all arrays first, the data of one when asked for.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    InputError
        If it is not an npz file, holds an array that is not of plain numbers, or
        would take too much memory.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self.headers: dict[str, _Header] = {}
        with self._opened() as archive:
            members = archive.infolist()
            if len(members) > _MOST_MEMBERS:
                raise InputError(f"{len(members)} arrays in an npz file of few")
            total, on_disk = 0, os.path.getsize(path)
            for member in members:
                name = member.filename.removesuffix(".npy")
                if name in self.headers:
                    raise InputError(f"array {name!r} twice in the file")
                self.headers[name] = self._header(archive, member, name)
                total += member.file_size
            check_inflation("the file", total, on_disk)

    @contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        with open(self._path, "rb") as file:
            try:
                archive = zipfile.ZipFile(file)
            except _BROKEN as error:
                raise InputError(f"not an npz file: {_reason(error)}") from None
            with archive:
                yield archive

    def _header(
        self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str
    ) -> _Header:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(f"array {name!r} is packed in a way that numpy never does")
        try:
            with archive.open(member) as file:
                shape, dtype, start = _read_header(file)
        except _BROKEN as error:
            raise InputError(
                f"array {name!r} cannot be read: {_reason(error)}"
            ) from None
        if dtype.kind not in "biuf":
            raise InputError(f"array {name!r} holds {dtype}, not plain numbers")
        size = dtype.itemsize * _product(shape)
        if start + size != member.file_size:
            raise InputError(
                f"array {name!r} of shape {shape} takes {size} bytes, but the file "
                f"holds {member.file_size - start} for it"
            )
        check_inflation(f"array {name!r}", size, member.compress_size)
        return _Header(shape, dtype.kind)

    def require(self, name: str, kinds: str, ndim: int) -> tuple[int, ...]:
        """
        Check that an array is there and is what it should be; return its shape.

        Parameters
        ----------
        name
            Name of the array.
        kinds
            Letters of the kinds of numbers allowed, as in ``dtype.kind``.
        ndim
            Number of dimensions.
        """
        if name not in self.headers:
            raise InputError(
                f"no array {name!r} in the file, only {', '.join(self.headers)}"
            )
        header = self.headers[name]
        if header.kind not in kinds or len(header.shape) != ndim:
            raise InputError(
                f"array {name!r} has {len(header.shape)} dimensions of kind "
                f"{header.kind!r}, not {ndim} of one of {', '.join(kinds)}"
            )
        return header.shape

    def array(self, name: str) -> NDArray[Any]:
        """Return an array of the file."""
        with self._opened() as archive:
            try:
                with archive.open(f"{name}.npy") as file:
                    data: NDArray[Any] = npy.read_array(file, allow_pickle=False)
            except _BROKEN as error:
                raise InputError(
                    f"array {name!r} cannot be read: {_reason(error)}"
                ) from None
        return data

    def whole(self, name: str, least: int) -> int:
        """Return a single whole number of the file."""
        self.require(name, "iu", 0)
        value = int(self.array(name))
        if value < least:
            raise InputError(f"{name} is {value}, not at least {least}")
        return value


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape and type of an array, and where its data begins."""
    version = npy.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = npy.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = npy.read_array_header_2_0(file)
    else:
        raise ValueError(f"npy version {version}, not (1, 0) or (2, 0)")
    if any(not isinstance(length, int) or length < 0 for length in shape):
        raise ValueError(f"shape {shape}")
    return shape, dtype, file.tell()


def _product(shape: tuple[int, ...]) -> int:
    product = 1
    for length in shape:
        product *= length
    return product


def _reason(error: BaseException) -> str:
    """First line of an error that was not written for our user."""
    lines = str(error).splitlines()
    return lines[0][:200] if lines else type(error).__name__
