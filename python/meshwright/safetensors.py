# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of tensors in the safetensors format: 8 bytes with the length of the header, little-endian;
the header, JSON {name: {dtype, shape, data_offsets}}; then the data."""
from __future__ import annotations

import json
import math
import os
import pathlib
import struct
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from meshwright.arrays import BYTES, Array, as_array
from meshwright.errors import MeshwrightError

MOST_HEADER_BYTES = 100_000_000  # as in the reference implementation


def save(path: str | os.PathLike[str], tensors: Mapping[str, Any],
         metadata: Mapping[str, str] | None = None) -> pathlib.Path:
    """Writes tensors, which `as_array` takes, one after another: no more than one is copied at a
    time. The file is written beside its place and renamed when it is complete."""
    path = pathlib.Path(path)
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    at = 0
    for name, tensor in tensors.items():
        value = as_array(tensor)
        header[name] = {"dtype": value.type, "shape": list(value.shape),
                        "data_offsets": [at, at + value.bytes]}
        at += value.bytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    try:
        handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as trouble:
        raise MeshwrightError(f"cannot write {path}: {trouble.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for tensor in tensors.values():
                file.write(as_array(tensor).data)
        os.chmod(beside, 0o644)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
    return path


class File(Mapping[str, Array]):
    """The tensors of a file by name; each is read when it is asked for."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = pathlib.Path(path)
        with open(self.path, "rb") as file:
            self.entries, self.begin = read_header(self.path, file, os.path.getsize(self.path))
        self.metadata = self.entries.pop("__metadata__", {})

    def __getitem__(self, name: str) -> Array:
        entry = self.entries[name]
        begin, end = entry["data_offsets"]
        with open(self.path, "rb") as file:
            file.seek(self.begin + begin)
            data = bytearray(file.read(end - begin))
        if len(data) != end - begin:
            raise MeshwrightError(f"{self.path}: the data of {name} ends too early")
        return Array(entry["dtype"], tuple(entry["shape"]), memoryview(data))

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


def read_header(path: pathlib.Path, file: Any, size: int) -> tuple[dict[str, Any], int]:
    """The header of a file of so many bytes, checked, and where its data begins."""
    start = file.read(8)
    length = struct.unpack("<Q", start)[0] if len(start) == 8 else size
    if length > min(size - 8, MOST_HEADER_BYTES):
        raise MeshwrightError(f"{path}: this is no safetensors file: its header is longer than it")
    try:
        entries = json.loads(file.read(length))
    except (ValueError, RecursionError):
        raise MeshwrightError(f"{path}: this is no safetensors file: its header is not JSON") \
            from None
    if not isinstance(entries, dict):
        raise MeshwrightError(f"{path}: the header is no object of names")
    for name, entry in entries.items():
        if name != "__metadata__" and not is_entry(entry, size - 8 - length):
            raise MeshwrightError(f"{path}: what the header says of {name} cannot be")
    return entries, 8 + length


def is_entry(entry: Any, bytes_of_data: int) -> bool:
    """Whether an entry has a type, a shape, and a place in the data of the right size."""
    if not isinstance(entry, dict) or entry.get("dtype") not in BYTES:
        return False
    shape: Any = entry.get("shape")
    place: Any = entry.get("data_offsets")
    if not all(isinstance(numbers, list) and all(type(number) is int and number >= 0
               for number in numbers) for numbers in (shape, place)) or len(place) != 2:
        return False
    return place[0] <= place[1] <= bytes_of_data and \
        place[1] - place[0] == math.prod(shape) * BYTES[entry["dtype"]]
