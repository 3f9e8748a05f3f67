"""Files, whose errors are the package's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ._errors import Error

PathLike = str | os.PathLike[str]


@contextmanager
def in_file(path: PathLike) -> Iterator[None]:
    """Errors inside are of this file."""
    try:
        yield
    except Error as error:
        error.file = os.fspath(path)
        raise


def read_file(path: PathLike) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise Error(f"cannot be read: {error.strerror}", code="io", file=os.fspath(path)) from error


def read_text(path: PathLike) -> str:
    try:
        return read_file(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Error("is no text in UTF-8", code="invalid_model", file=os.fspath(path), offset=error.start) from error


def write_file(path: PathLike, contents: bytes) -> None:
    try:
        Path(path).write_bytes(contents)
    except OSError as error:
        raise Error(f"cannot be written: {error.strerror}", code="io", file=os.fspath(path)) from error
