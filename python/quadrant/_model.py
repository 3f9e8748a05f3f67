"""Models: read, look into, write."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from . import _quadrant
from ._arguments import checked
from ._arrays import Array, dtype_name, unpacked
from ._errors import Error
from ._session import Settings, session_of


@runtime_checkable
class Serializable(Protocol):
    """An ``onnx.ModelProto``, or whatever else serializes to ONNX."""

    def SerializeToString(self) -> bytes: ...


@dataclass(frozen=True)
class Port:
    """An input or an output of a model.

    Attributes:
        name: By which samples and results go.
        shape: An int for each axis, None where it is open; None where not even their number is known.
        dtype: ``"float32"``, ``"int64"``: numpy's name of the element type.
    """

    name: str
    shape: tuple[int | None, ...] | None
    dtype: str

    @staticmethod
    def of(port: tuple[str, str, Any]) -> Port:
        name, element, shape = port
        return Port(name, None if shape is None else tuple(shape), dtype_name(element))


class Weights(Mapping[str, Array]):
    """The weights of a model by name, as arrays that are read-only.

    Weights of a file are read when they are asked for, and not kept; those in memory are not copied. A quantized one
    comes as its integers; those of 4 bits as int8 or uint8.
    """

    def __init__(self, handle: _quadrant.Model) -> None:
        self._handle = handle
        self._names = dict.fromkeys(handle.weights())

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        with session_of(Settings(threads=1)) as session:
            return unpacked(self._handle.weight(session, name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<{len(self)} weights>"


@dataclass(frozen=True)
class Written:
    """What was written: bytes of all files, and what the format says otherwise than the model."""

    bytes: int
    remarks: tuple[str, ...] = ()


class Model:
    """A neural network: its operations, and weights that stay in its file until they are needed.

    `read` makes one; calls that quantize take and give them. Nothing changes a model. Its file must not change while
    it is in use.
    """

    def __init__(self, handle: _quadrant.Model) -> None:
        self._handle = handle

    @property
    def path(self) -> str | None:
        """The file that it was read from."""
        return self._handle.path or None

    @property
    def inputs(self) -> tuple[Port, ...]:
        return tuple(Port.of(port) for port in self._handle.inputs())

    @property
    def outputs(self) -> tuple[Port, ...]:
        return tuple(Port.of(port) for port in self._handle.outputs())

    @property
    def weights(self) -> Weights:
        return Weights(self._handle)

    @checked()
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        external_data: bool = False,
        matmul_nbits: bool = False,
        threads: int = 0,
    ) -> Written:
        """Writes the model; the ending says the format: .onnx, .tflite, .xml (OpenVINO), .mlir or .qd (text).

        For TFLite, operations between QuantizeLinear and DequantizeLinear become integer kernels where these compute
        the same; `convert` says more. The file appears complete or not at all.

        Args:
            external_data: ONNX: tensors of 1 kB or more go into a data file beside the model. Models of more than
                2 GB always do that.
            matmul_nbits: ONNX: products by weights of 2, 4 and 8 bits become com.microsoft.MatMulNBits, those of nf4 and fp4-bnb
                MatMulBnb4, where possible.
            threads: 0: as many as the machine has. The bytes are the same.

        Raises:
            Error: ``impossible`` for what the format cannot say, ``io``.
        """
        return self._write(path, Settings(threads=threads), external_data=external_data, matmul_nbits=matmul_nbits)

    def to_onnx(self) -> bytes:
        """The model as the bytes of an ONNX file, which cannot be of more than 2 GB."""
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "model.onnx"
            self._write(file, Settings())
            if len(list(Path(name).iterdir())) > 1:
                raise Error("the model has more than 2 GB: save it to a file", code="impossible")
            return file.read_bytes()

    def _write(
        self,
        path: str | os.PathLike[str],
        settings: Settings,
        *,
        is_lowered: bool = False,
        target: str | None = None,
        external_data: bool = False,
        matmul_nbits: bool = False,
        coded_borders: bool = False,
        repair_ranges: bool = False,
    ) -> Written:
        with session_of(settings) as session:
            done = _quadrant.write(
                session,
                self._handle,
                os.fspath(path),
                is_lowered=is_lowered,
                target=target or "",
                external_data=external_data,
                matmul_nbits=matmul_nbits,
                coded_borders=coded_borders,
                repair_ranges=repair_ranges,
            )
        return Written(done.bytes, tuple(done.remarks))

    def __repr__(self) -> str:
        def ports(all_: tuple[Port, ...]) -> str:
            return ", ".join(f"{port.name}: {port.dtype}{_shape_text(port.shape)}" for port in all_)

        return f"<quadrant.Model {self.path or ''} ({ports(self.inputs)}) -> ({ports(self.outputs)})>"


def _shape_text(shape: tuple[int | None, ...] | None) -> str:
    return "[*]" if shape is None else "[" + ", ".join("?" if n is None else str(n) for n in shape) + "]"


ModelLike = Model | str | os.PathLike[str] | bytes | Serializable


@checked()
def read(model: ModelLike, *, follow_links: bool = False) -> Model:
    """Reads a model.

    Args:
        model: A path, whose ending says the format: .tflite, .xml (OpenVINO), .qd (text), and ONNX for others; or the
            bytes of an ONNX file, or an ``onnx.ModelProto``, whose tensors are all inside.
        follow_links: An ONNX model's data may be symbolic links to anywhere.

    Returns:
        The model. Weights stay in the file until they are needed, so memory does not grow with them.

    Raises:
        Error: ``io`` where the file cannot be read, ``invalid_model``, with the place, where it is broken.
    """
    if isinstance(model, Model):
        return model
    settings = Settings(threads=1, follow_links=follow_links)
    if isinstance(model, (str, os.PathLike)):
        with session_of(settings) as session:
            return Model(_quadrant.read(session, os.fspath(model), has_name=True))
    contents = model if isinstance(model, (bytes, bytearray, memoryview)) else _serialized(model)
    # The open file stays when its name is gone.
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "model.onnx"
        file.write_bytes(contents)
        try:
            with session_of(settings) as session:
                return Model(_quadrant.read(session, str(file), has_name=False))
        except Error as error:
            error.file = None
            raise


def _serialized(model: object) -> bytes:
    if not isinstance(model, Serializable):
        raise TypeError(f"a model is a path, bytes, an onnx.ModelProto or a quadrant.Model, not {type(model).__name__}")
    return model.SerializeToString()
