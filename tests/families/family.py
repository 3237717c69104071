# SPDX-License-Identifier: GPL-3.0-or-later
"""The models that are compared with PyTorch, at small sizes, and their data."""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from runs import SGD, Model, npy  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 10


class Family:
    """`inputs` are {name: (shape, below)}: integers below that, or floats where it is None.
    `graph` is the model's file, `meshes` are those that it runs on, `stages` are options of a plan
    of two stages on two ranks, `how` is how it trains, if not as the file says."""

    def __init__(self, name, graph, sizes, inputs, *stages, meshes=("2", "2x2"), how=None):
        self.name, self.graph, self.sizes, self.inputs = name, graph, sizes, inputs
        self.meshes, self.how = meshes, how
        self.stages = ["--cluster", "local:2", "--stages", 2, *stages]
        self.losses = HERE / f"{name}.csv"

    def model(self, folder):
        """The model, fed with files that are written to the folder."""
        files = [f"{name}={folder / name}.npy" for name in self.inputs]
        for index, name in enumerate(self.inputs):
            (folder / f"{name}.npy").write_bytes(self.npy(index, name))
        model = Model(self.graph, self.sizes, "npy:" + ",".join(files))
        return model.trained(folder, self.how) if self.how else model

    def npy(self, index, name):
        """Rows of all steps, as a .npy file."""
        shape, below = self.inputs[name]
        shape = (STEPS * shape[0], *shape[1:])
        waves = [math.sin(12.9898 * (i + 1) + 78.233 * (index + 1)) * 43758.5453
                 for i in range(math.prod(shape))]
        parts = [wave - math.floor(wave) for wave in waves]  # between 0 and 1
        values = [int(below * part) for part in parts] if below else [4 * x - 2 for x in parts]
        return npy("<i4" if below else "<f4", shape, values)


def tokens(batch, seq, vocab):
    """The inputs of a decoder."""
    return {name: ((batch, seq), vocab) for name in ("tokens", "targets")}


def images(batch, side):
    """The inputs of a classifier of five classes."""
    return {"images": ((batch, side, side, 3), None), "labels": ((batch,), 5)}


FAMILIES = [
    Family("resnet", "resnet",
           "batch=8 image=8 classes=5 widths=[4,8] blocks=[2,1] bottleneck=true wide=2",
           images(8, 8), meshes=("2", "4")),
    Family("resnet_parts", "resnet",
           "batch=8 image=8 classes=5 widths=[4,8] blocks=[2,1] parts=4",
           images(8, 8), "--micro-batches", 2),
    Family("gan", "gan", "batch=8 noise=6 widths=[8,4]",
           {"images": ((8, 16, 16, 3), None), "z": ((8, 6), None)}, meshes=("2", "3", "2x2")),
    Family("gan_penalty", "gan", "batch=8 noise=6 widths=[8,4] penalty=30.0",
           {"images": ((8, 16, 16, 3), None), "z": ((8, 6), None)}),
    Family("lora", "lora",
           "batch=4 seq=6 vocab=16 layers=2 width=16 heads=4 kv_heads=2 hidden=24 rank=2 "
           "alpha=256",
           tokens(4, 6, 16), "--micro-batches", 2),
    Family("gemma", "gemma",
           "batch=4 seq=12 vocab=20 layers=4 width=16 heads=4 kv_heads=2 head=6 hidden=24 window=5 "
           "attention_cap=0.5 final_cap=2.0 query_scale=4",
           tokens(4, 12, 20), "--micro-batches", 2),
    Family("t5", "t5",
           "batch=4 source=20 target=16 vocab=20 layers=2 width=16 heads=4 head=6 hidden=24 "
           "buckets=8 distance=12",
           {"tokens": ((4, 20), 20), "targets": ((4, 16), 20)}, "--micro-batches", 2),
    Family("moe", "moe",
           "batch=4 seq=8 vocab=16 pairs=2 width=8 heads=2 hidden=16 experts=4 group=16",
           tokens(4, 8, 16), meshes=("2", "3", "2x2"), how=SGD),
    Family("moe_random", "moe",
           "batch=4 seq=8 vocab=16 pairs=2 width=8 heads=2 hidden=16 experts=4 group=16 "
           "random_second=true",
           tokens(4, 8, 16), how=SGD),
    Family("mixtral", "mixtral",
           "batch=4 seq=8 vocab=16 layers=2 width=8 heads=2 kv_heads=1 experts=4 hidden=8",
           tokens(4, 8, 16), how=SGD),
    Family("deepseek", "mixtral",
           "batch=4 seq=8 vocab=16 layers=2 width=8 heads=2 kv_heads=2 experts=4 top=3 hidden=8 "
           "shared=2 plain=1 plain_hidden=16 renormalized=false capacity=7",
           tokens(4, 8, 16), how=SGD),
    Family("alexnet", "alexnet", "batch=4 image=63 classes=5 widths=[4,4,8,4,4] hidden=8",
           images(4, 63)),
    Family("vgg", "vgg", "batch=4 image=8 classes=5 widths=[4,8] blocks=[1,2] hidden=8",
           images(4, 8)),
    Family("convnext", "convnext", "batch=4 image=16 classes=5 widths=[4,8] blocks=[1,2] gain=0.5",
           images(4, 16), how=SGD),
    Family("convnext_depth", "convnext",
           "batch=8 image=16 classes=5 widths=[4,8] blocks=[1,2] gain=0.5 drop_path=0.4",
           images(8, 16), "--micro-batches", 2, how=SGD),
    Family("dlrm", "dlrm", "batch=8 tables=[6,80,7] width=4 bottom=[8,4] top=[8,1]",
           {"dense": ((8, 13), None), "categories": ((8, 3), 6), "clicks": ((8,), 2)},
           meshes=("2", "3", "2x2")),
    Family("clip", "clip",
           "batch=4 width=8 image=8 patch=4 image_layers=1 image_width=8 image_heads=2 "
           "seq=4 vocab=16 text_layers=1 text_width=8 text_heads=2",
           {"images": ((4, 8, 8, 3), None), "tokens": ((4, 4), 16)},
           meshes=("2", "3", "2x2"), how=SGD),
    Family("qwen", "qwen", "batch=4 seq=8 vocab=16 layers=2 width=8 heads=2 kv_heads=1 hidden=16",
           tokens(4, 8, 16), how=SGD),
    Family("mamba", "mamba",
           "batch=4 seq=8 vocab=16 layers=2 width=8 head=4 states=4 chunk=4",
           tokens(4, 8, 16), how=SGD),
    Family("lstm", "lstm", "batch=8 seq=5 vocab=12 layers=2 width=8",
           {"tokens": ((8, 5), 12), "targets": ((8, 5), 12)}, "--micro-batches", 2),
    Family("unet", "unet",
           "batch=8 image=8 width=8 multipliers=[1,2] blocks=1 attended=4 groups=2 "
           "dropout_rate=0.0 rate=0.002 warmup=3",
           {"images": ((8, 8, 8, 3), None)}, "--micro-batches", 2, meshes=["2"]),
]


def families(names):
    """Those of the names; all, if there are none."""
    return [family for family in FAMILIES if not names or family.name in names]
