# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays of NumPy, tensors of PyTorch and nested lists, seen alike: a type, a shape and bytes.

Neither library is needed: an array is known by what it can do."""
from __future__ import annotations

import array
import ctypes
import dataclasses
import math
import os
import pathlib
import struct
from typing import Any, BinaryIO

from meshwright.errors import MeshwrightError

# Names of types in safetensors files, and as NumPy writes them; bf16 is the 16-bit integers of its
# bits there, as in checkpoints.
NUMPY_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4",
               "I16": "<i2", "I8": "|i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1",
               "BOOL": "|b1"}
BYTES = {name: int(kind[2:]) for name, kind in NUMPY_TYPES.items()}
BY_NUMPY = {kind: name for name, kind in NUMPY_TYPES.items() if name != "BF16"}
BY_TORCH = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16",
            "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8",
            "bool": "BOOL"}


@dataclasses.dataclass(frozen=True)
class Array:
    """Elements in row-major order, little-endian."""
    type: str
    shape: tuple[int, ...]
    data: memoryview

    @property
    def bytes(self) -> int:
        """The size of the data."""
        return math.prod(self.shape) * BYTES[self.type]


def as_array(value: Any) -> Array:
    """Sees a tensor of PyTorch, an array of NumPy, or numbers in nested lists as an array."""
    if isinstance(value, Array):
        return value
    if hasattr(value, "data_ptr"):
        return of_torch(value)
    if hasattr(value, "__array_interface__"):
        return of_numpy(value)
    return of_list(value)


def of_torch(tensor: Any) -> Array:
    """A view of a tensor of PyTorch; its copy, if it lies elsewhere or with gaps."""
    held = tensor.detach().cpu().contiguous()
    kind = BY_TORCH.get(str(held.dtype).removeprefix("torch."))
    if not kind:
        raise MeshwrightError(f"tensors of {held.dtype} have no place in a file")
    count = held.numel() * held.element_size()
    if not count:
        return Array(kind, tuple(held.shape), memoryview(b""))
    buffer = (ctypes.c_char * count).from_address(held.data_ptr())
    buffer.owner = held  # which the view keeps, with its memory
    return Array(kind, tuple(held.shape), memoryview(buffer).cast("B"))


def of_numpy(value: Any) -> Array:
    """A view of an array of NumPy; its copy, if it is not in row-major order."""
    kind = BY_NUMPY.get(value.dtype.newbyteorder("<").str.replace("=", "<"))
    if not kind:
        raise MeshwrightError(f"arrays of {value.dtype} cannot be fed")
    held = value.astype(value.dtype.newbyteorder("<"), order="C", copy=False)
    return Array(kind, tuple(held.shape), memoryview(held.tobytes()))


def of_list(value: Any) -> Array:
    """Numbers in nested lists of equal lengths: truth values, integers (i64) or floats (f32)."""
    shape: list[int] = []
    level = value
    while isinstance(level, (list, tuple)):
        shape.append(len(level))
        level = level[0] if level else 0
    elements = list(flattened(value, shape))
    if all(isinstance(element, bool) for element in elements):
        kind, code = "BOOL", "b"
    elif all(isinstance(element, int) for element in elements):
        kind, code = "I64", "q"
    else:
        kind, code = "F32", "f"
    try:
        data = array.array(code, elements)
    except (TypeError, OverflowError) as trouble:
        raise MeshwrightError(f"these are no numbers of an array: {trouble}") from None
    return Array(kind, tuple(shape), memoryview(data).cast("B"))


def flattened(value: Any, shape: list[int]) -> Any:
    """The elements of nested lists, whose lengths must be those of the shape."""
    if isinstance(value, (list, tuple)) != bool(shape) or shape and len(value) != shape[0]:
        raise MeshwrightError("lists of different lengths make no array")
    if not shape:
        yield value
        return
    for element in value:
        yield from flattened(element, shape[1:])


def npy_header(kind: str, shape: tuple[int, ...]) -> bytes:
    """The beginning of a .npy file of version 1.0, a multiple of 64 bytes."""
    sizes = "".join(f"{size}, " for size in shape)
    text = (f"{{'descr': '{NUMPY_TYPES[kind]}', 'fortran_order': False, "
            f"'shape': ({sizes.strip() if len(shape) == 1 else sizes.rstrip(', ')}), }}")
    padding = -(10 + len(text) + 1) % 64
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + padding + 1) + \
        text.encode() + b" " * padding + b"\n"


def write_npy(file: BinaryIO, value: Array) -> None:
    """Writes an array as .npy."""
    file.write(npy_header(value.type, value.shape))
    file.write(value.data)


def save_npy(path: str | os.PathLike[str], value: Any) -> pathlib.Path:
    """Writes what `as_array` takes into a .npy file."""
    with open(path, "wb") as file:
        write_npy(file, as_array(value))
    return pathlib.Path(path)
