# SPDX-License-Identifier: GPL-3.0-or-later
"""The models that are compared with PyTorch, at small sizes, and their data."""
import math
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from runs import Model  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 10


class Family:
    """`inputs` are {name: (shape, below)}: integers below that, or floats where it is None.
    `graph` is the model's file, `meshes` are those that it runs on, `stages` are options of a plan
    of two stages on two ranks."""

    def __init__(self, name, graph, sizes, inputs, *stages, meshes=("2", "2x2")):
        self.name, self.graph, self.sizes, self.inputs = name, graph, sizes, inputs
        self.meshes = meshes
        self.stages = ["--cluster", "local:2", "--stages", 2, *stages]
        self.losses = HERE / f"{name}.csv"

    def model(self, folder):
        """The model, fed with files that are written to the folder."""
        files = [f"{name}={folder / name}.npy" for name in self.inputs]
        for index, name in enumerate(self.inputs):
            (folder / f"{name}.npy").write_bytes(self.npy(index, name))
        return Model(self.graph, self.sizes, "npy:" + ",".join(files))

    def npy(self, index, name):
        """Rows of all steps, as a file of NumPy's format 1.0."""
        shape, below = self.inputs[name]
        shape = (STEPS * shape[0], *shape[1:])
        waves = [math.sin(12.9898 * (i + 1) + 78.233 * (index + 1)) * 43758.5453
                 for i in range(math.prod(shape))]
        parts = [wave - math.floor(wave) for wave in waves]  # between 0 and 1
        values = [int(below * part) for part in parts] if below else [4 * x - 2 for x in parts]
        kind = "i" if below else "f"
        head = f"{{'descr': '<{kind}4', 'fortran_order': False, 'shape': {shape}, }}"
        head = head.ljust(128 - 11) + "\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + \
            struct.pack(f"<{len(values)}{kind}", *values)


FAMILIES = [
    Family("resnet", "resnet",
           "batch=8 image=8 classes=5 widths=[4,8] blocks=[2,1] bottleneck=true wide=2",
           {"images": ((8, 8, 8, 3), None), "labels": ((8,), 5)}),
    Family("resnet_parts", "resnet",
           "batch=8 image=8 classes=5 widths=[4,8] blocks=[2,1] parts=4",
           {"images": ((8, 8, 8, 3), None), "labels": ((8,), 5)}, "--micro-batches", 2),
    Family("unet", "unet",
           "batch=8 image=8 width=8 multipliers=[1,2] blocks=1 attended=4 groups=2 "
           "dropout_rate=0.0 rate=0.002 warmup=3", {"images": ((8, 8, 8, 3), None)}, "--micro-batches", 2,
           meshes=["2"]),
]


def families(names):
    """Those of the names; all, if there are none."""
    return [family for family in FAMILIES if not names or family.name in names]
