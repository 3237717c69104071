#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first losses of models by PyTorch, from the weights that a run begins with.

    torch_losses.py BUILD [NAME...]

Writes NAME.csv beside this script."""
import ast
import math
import pathlib
import sys
import tempfile

import numpy
import torch
from torch.nn import functional

from family import STEPS, families

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from runs import make_plan, run_plan  # noqa: E402


SEED = 1  # of runs, unless they are given another


def words(key, step, count):
    """Of each element, the word of Philox4x32-10 (Salmon et al. 2011) as base/philox.h counts."""
    low, block = numpy.uint64(0xffffffff), numpy.arange(count, dtype=numpy.uint64) // 4
    c = [block & low, block >> 32 | 1 << 31, numpy.full_like(block, step),
         numpy.full_like(block, key)]
    keys = [SEED & 0xffffffff, SEED >> 32]
    for _ in range(10):
        a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [b >> 32 ^ c[1] ^ keys[0], b & low, a >> 32 ^ c[3] ^ keys[1], a & low]
        keys = [(keys[0] + 0x9E3779B9) & 0xffffffff, (keys[1] + 0xBB67AE85) & 0xffffffff]
    return numpy.stack(c)[numpy.arange(count) % 4, numpy.arange(count)]


def uniform(key, step, *shape):
    parts = (words(key, step, numpy.prod(shape)) >> 8).astype(float) / 2**24
    return torch.tensor(parts).reshape(shape)


def normal(key, step, *shape):
    """From two streams, by Box and Muller 1958."""
    u, v = uniform(key, step, *shape), uniform(key + 1, step, *shape)
    return torch.sqrt(-2 * torch.log(1 - u)) * torch.cos(2 * math.pi * v)


class Resnet:
    """Images are [batch, height, width, channels] outside, channels before height inside."""

    optimizer, clip_norm, warmup = torch.optim.SGD, math.inf, 1
    options = {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-4}

    def __init__(self, weights, sizes):
        self.weights = weights
        self.blocks, self.parts = sizes["blocks"], sizes.get("parts", 1)
        self.bottleneck = sizes.get("bottleneck", False)

    @staticmethod
    def decays(name):
        return not name.endswith((".scale", ".shift")) and name != "b"

    def normalized(self, x, name):
        return torch.cat([functional.batch_norm(part, None, None, self.weights[f"{name}.scale"],
                                                self.weights[f"{name}.shift"], training=True)
                          for part in x.chunk(self.parts)])

    def convolved(self, x, name, stride=1):
        kernel = self.weights[f"{name}.filter"].permute(3, 2, 0, 1)
        return functional.conv2d(x, kernel, stride=stride, padding=kernel.shape[-1] // 2)

    def residual(self, x, name, stride):
        strides, y = [1, stride, 1] if self.bottleneck else [stride, 1], x
        for index, own in enumerate(strides):
            suffix = f".{index}" if index else ""
            y = self.normalized(self.convolved(y, f"{name}.convolved{suffix}", own),
                                f"{name}.normalized{suffix}")
            y = torch.relu(y) if index + 1 < len(strides) else y
        if f"{name}.shortcut.convolved.filter" in self.weights:
            x = self.normalized(self.convolved(x, f"{name}.shortcut.convolved", stride),
                                f"{name}.shortcut.normalized")
        return torch.relu(x + y)

    def loss(self, step, images, labels):
        x = images.permute(0, 3, 1, 2)
        x = torch.relu(self.normalized(self.convolved(x, "convolved"), "normalized"))
        for stage, blocks in enumerate(self.blocks):
            x = self.residual(x, f"stage.{stage}.residual", 2 if stage else 1)
            for layer in range(blocks - 1):
                x = self.residual(x, f"stage.{stage}.layer.{layer}.residual", 1)
        logits = x.mean(dim=(2, 3)) @ self.weights["w"] + self.weights["b"]
        return functional.cross_entropy(logits, labels)


class Unet:
    """A step of diffusion. Channels come before height, as in Resnet."""

    optimizer, clip_norm, options = torch.optim.Adam, 1, {}
    times, first_noise, last_noise = 1000, 1e-4, 0.02

    def __init__(self, weights, sizes):
        self.weights, self.sizes = weights, sizes
        self.width, self.groups = sizes["width"], sizes["groups"]
        self.options = {"lr": sizes["rate"]}
        self.warmup = sizes["warmup"]

    @staticmethod
    def decays(name):
        return False

    def normalized(self, x, name):
        return functional.group_norm(x, self.groups, self.weights[f"{name}.scale"],
                                     self.weights[f"{name}.shift"], eps=1e-6)

    def dense(self, x, name):
        return x @ self.weights[f"{name}.w"] + self.weights[f"{name}.b"]

    def along_channels(self, x, name):
        return self.dense(x.movedim(1, -1), name).movedim(-1, 1)

    def convolved(self, x, name, stride=1):
        kernel = self.weights[f"{name}.filter"].permute(3, 2, 0, 1)
        before = 1 if stride == 1 else 0  # an even size that is halved has its padding behind
        return functional.conv2d(functional.pad(x, (before, 1, before, 1)), kernel,
                                 self.weights[f"{name}.b"], stride=stride)

    def residual(self, x, time, name):
        y = functional.silu(self.normalized(x, f"{name}.normalized"))
        y = self.convolved(y, f"{name}.convolved")
        y = y + self.dense(functional.silu(time), f"{name}.dense")[:, :, None, None]
        y = functional.silu(self.normalized(y, f"{name}.normalized.1"))
        shortcut = f"{name}.dense.1"
        if f"{shortcut}.w" in self.weights:
            x = self.along_channels(x, shortcut)
        return x + self.convolved(y, f"{name}.convolved.1")

    def attention(self, x, name):
        y = self.normalized(x, f"{name}.normalized")
        q, k, v = (self.along_channels(y, f"{name}.dense{suffix}").flatten(2).movedim(1, -1)
                   for suffix in ("", ".1", ".2"))
        seen = functional.scaled_dot_product_attention(q, k, v).movedim(-1, 1).reshape(x.shape)
        return x + self.along_channels(seen, name)

    def stage(self, x, time, name):
        x = self.residual(x, time, f"{name}.residual")
        return self.attention(x, f"{name}.attention") \
            if x.shape[2] == self.sizes["attended"] else x

    def unet(self, x, time):
        half, levels = self.width // 2, len(self.sizes["multipliers"])
        angles = time[:, None] * torch.exp(torch.arange(half) * -math.log(10000) / (half - 1))
        time = self.dense(torch.cat([angles.sin(), angles.cos()], 1), "unet.dense")
        time = self.dense(functional.silu(time), "unet.dense.1")
        skips = [self.convolved(x, "unet.convolved")]
        for level in range(levels):
            for layer in range(self.sizes["blocks"]):
                skips.append(self.stage(skips[-1], time, f"unet.down.{level}.blocks.{layer}.stage"))
            if level + 1 < levels:
                skips.append(self.convolved(skips[-1], f"unet.down.{level}.convolved", 2))
        x = self.residual(skips[-1], time, "unet.residual")
        x = self.residual(self.attention(x, "unet.attention"), time, "unet.residual.1")
        for level in range(levels):
            for layer in range(self.sizes["blocks"] + 1):
                x = self.stage(torch.cat([x, skips.pop()], 1), time,
                               f"unet.up.{level}.layer.{layer}.stage")
            if level + 1 < levels:
                x = functional.interpolate(x, scale_factor=2)
                x = self.convolved(x, f"unet.up.{level}.convolved")
        x = functional.silu(self.normalized(x, "unet.normalized"))
        return self.convolved(x, "unet.convolved.1")

    def loss(self, step, images):
        time = torch.floor(self.times * uniform(0, step, len(images)))
        noise = normal(1, step, *images.shape)
        variances = torch.linspace(self.first_noise, self.last_noise, self.times)
        left = torch.cumprod(1 - variances, 0)[time.to(torch.int64)][:, None, None, None]
        noisy = left.sqrt() * images + (1 - left).sqrt() * noise
        return functional.mse_loss(self.unet(noisy.movedim(-1, 1), time), noise.movedim(-1, 1))


CLASSES = {"resnet": Resnet, "unet": Unet}  # by the name of the model's file


def first_weights(build, family, folder):
    """{name: array} of the weights before the first step: those after a step of size 0."""
    model = family.model(folder).trained(folder, "sgd(lr = 0)")
    plan = make_plan(build, model, folder / "first.plan")
    run_plan(build, model, plan, 1, "--steps", 1, "--checkpoint", folder / "saved")
    step = folder / "saved" / "step-00000001"
    return {path.name[:-4]: numpy.load(path) for path in step.glob("*.npy")}


def losses(build, family, folder):
    torch.set_default_dtype(torch.float64)
    weights = {name: torch.tensor(array, dtype=torch.float64, requires_grad=True)
               for name, array in first_weights(build, family, folder).items()}
    sizes = {name: ast.literal_eval(text) for name, text in
             (word.split("=") for word in family.sizes.replace("true", "True").split())}
    model = CLASSES[family.graph](weights, sizes)
    groups = [[weight for name, weight in weights.items() if model.decays(name) == decays]
              for decays in (True, False)]
    optimizer = model.optimizer([{"params": groups[0]}, {"params": groups[1], "weight_decay": 0}],
                                **model.options)
    data = {name: torch.tensor(numpy.load(folder / f"{name}.npy")) for name in family.inputs}
    for step in range(STEPS):
        batch = [rows.to(torch.float64) if rows.is_floating_point() else rows.to(torch.int64)
                 for rows in (data[name].chunk(STEPS)[step] for name in family.inputs)]
        optimizer.zero_grad()
        loss = model.loss(step + 1, *batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), model.clip_norm)
        for group in optimizer.param_groups:
            group["lr"] = model.options["lr"] * min(1, (step + 1) / model.warmup)
        optimizer.step()
        yield step + 1, loss.item()


def main(build, *names):
    for family in families(names):
        with tempfile.TemporaryDirectory() as folder:
            rows = [f"{step},{loss:.9g}" for step, loss in
                    losses(pathlib.Path(build), family, pathlib.Path(folder))]
        family.losses.write_text("\n".join(["step,loss", *rows, ""]))
        print(f"{family.losses.name}: PyTorch {torch.__version__}, {STEPS} losses")


if __name__ == "__main__":
    main(*sys.argv[1:])
