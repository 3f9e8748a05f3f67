"""What every call of the library has: threads, progress, messages."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _quadrant
from ._errors import QuadrantWarning

Progress = bool | Callable[[str, int, int], object]

_log = logging.getLogger("quadrant")
# Frames of the package, and of the context managers that it uses, are not the caller's.
_OURS = (str(Path(__file__).parent) + os.sep, contextlib.__file__)


@dataclass(frozen=True)
class Settings:
    """Of one call; `quantize` says what they mean."""

    threads: int = 0
    progress: Progress = False
    run_memory: int | None = None
    follow_links: bool = False
    convert_samples: bool = False
    allow_non_finite_samples: bool = False


class _Bar:
    """The task at hand as a bar of tqdm, if that is installed."""

    def __init__(self) -> None:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]

        self._make = tqdm
        self._bar: Any = None
        self._task = ""

    def __call__(self, task: str, done: int, total: int) -> None:
        if self._bar is None or task != self._task or total != self._bar.total:
            self.close()
            self._task = task
            self._bar = self._make(total=total, desc=task, leave=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _bar() -> _Bar | None:
    try:
        return _Bar()
    except ImportError:
        return None


def _emit(session: _quadrant.Session) -> None:
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and _is_ours(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    for is_warning, message in session.take_diagnostics():
        if is_warning:
            warnings.warn(message, QuadrantWarning, stacklevel=level)
        else:
            _log.info(message)


def _is_ours(file: str) -> bool:
    return file.startswith(_OURS)


@contextmanager
def session_of(settings: Settings) -> Iterator[_quadrant.Session]:
    """A session; at its end, warnings become Python's, and notes go to the logger ``quadrant``."""
    bar = _bar() if settings.progress is True else None
    callback = settings.progress if callable(settings.progress) else bar
    session = _quadrant.Session(
        threads=settings.threads,
        progress=callback,
        run_memory=settings.run_memory or 0,
        follow_links=settings.follow_links,
        convert_samples=settings.convert_samples,
        allow_non_finite_samples=settings.allow_non_finite_samples,
    )
    try:
        yield session
    finally:
        session.close()
        if bar is not None:
            bar.close()
        _emit(session)
