#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first losses of models by PyTorch, from the weights that a run begins with.

    torch_losses.py BUILD [NAME...]

Writes NAME.csv beside this script."""
import ast
import pathlib
import sys
import tempfile

import numpy
import torch
from torch.nn import functional

from family import STEPS, families

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from runs import make_plan, run_plan  # noqa: E402


class Resnet:
    """Images are [batch, height, width, channels] outside, channels before height inside."""

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

    def loss(self, images, labels):
        x = images.permute(0, 3, 1, 2)
        x = torch.relu(self.normalized(self.convolved(x, "convolved"), "normalized"))
        for stage, blocks in enumerate(self.blocks):
            x = self.residual(x, f"stage.{stage}.residual", 2 if stage else 1)
            for layer in range(blocks - 1):
                x = self.residual(x, f"stage.{stage}.layer.{layer}.residual", 1)
        logits = x.mean(dim=(2, 3)) @ self.weights["w"] + self.weights["b"]
        return functional.cross_entropy(logits, labels)


CLASSES = {"resnet": Resnet}  # by the name of the model's file


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
    optimizer = torch.optim.SGD([{"params": groups[0]}, {"params": groups[1], "weight_decay": 0}],
                                **model.options)
    data = {name: torch.tensor(numpy.load(folder / f"{name}.npy")) for name in family.inputs}
    for step in range(STEPS):
        batch = [rows.to(torch.float64) if rows.is_floating_point() else rows.to(torch.int64)
                 for rows in (data[name].chunk(STEPS)[step] for name in family.inputs)]
        optimizer.zero_grad()
        loss = model.loss(*batch)
        loss.backward()
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
