"""What goes wrong, and what is worth knowing."""

from __future__ import annotations


class QuadrantWarning(UserWarning):
    """Something to know of a model or its data that does not stop the work."""


class Error(Exception):
    """The library refuses: a wrong call, a broken model, or something that cannot be done.

    Attributes:
        message: What is wrong and, where there is one, what to do.
        code: ``"usage"``, a wrong call; ``"invalid_model"``, a broken file; ``"impossible"``, asked of a model that
            cannot have it; ``"io"``, the operating system refused; ``"cancelled"``.
        file: Path of the file, or None.
        node: Name of the operation, or None.
        tensor: Name of the value, or None.
        offset: Byte in the file, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "usage",
        file: str | None = None,
        node: str | None = None,
        tensor: str | None = None,
        offset: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.file = file
        self.node = node
        self.tensor = tensor
        self.offset = offset

    def __str__(self) -> str:
        parts = [self.file] if self.file else []
        if self.node:
            parts.append(f"node '{self.node}'")
        if self.tensor:
            parts.append(f"tensor '{self.tensor}'")
        if self.offset is not None:
            parts.append(f"byte {self.offset}")
        return ": ".join([*parts, self.message])

    def __reduce__(self) -> tuple[object, ...]:
        return Error, (self.message,), self.__dict__
