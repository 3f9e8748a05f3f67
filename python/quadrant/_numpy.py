"""numpy, loaded when it is first asked for something: that takes longer than reading and quantizing a small model."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _OnFirstUse:
        def __getattr__(self, name: str) -> Any:
            found = getattr(import_module("numpy"), name)
            setattr(self, name, found)
            return found

    np = _OnFirstUse()


def is_bool(given: object) -> bool:
    """Whether it is Python's or numpy's; of one who has not loaded numpy it is not numpy's."""
    return isinstance(given, bool) or ("numpy" in sys.modules and isinstance(given, np.bool_))


__all__ = ["is_bool", "np"]
