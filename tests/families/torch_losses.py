#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first losses of models by PyTorch, from the weights that a run begins with.

    torch_losses.py BUILD [NAME...]

Writes NAME.csv beside this script."""
import json
import pathlib
import sys
import tempfile

import numpy
import torch

import images
import language
import others
from family import STEPS, families

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from runs import make_plan, run_plan  # noqa: E402

CLASSES = {name.lower(): kind for module in (images, language, others)  # by the model's file
           for name, kind in vars(module).items()}


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
    sizes = {name: json.loads(text) for name, text in
             (word.split("=") for word in family.sizes.split())}
    model = CLASSES[family.graph](weights, sizes)
    optimizers = model.optimizers()
    data = {name: torch.tensor(numpy.load(folder / f"{name}.npy")) for name in family.inputs}
    for step in range(STEPS):
        batch = [rows.to(torch.float64) if rows.is_floating_point() else rows.to(torch.int64)
                 for rows in (data[name].chunk(STEPS)[step] for name in family.inputs)]
        model.step = step + 1
        found = model.losses(*batch)
        for optimizer, loss in zip(optimizers, found.values()):
            trained = [weight for group in optimizer.param_groups for weight in group["params"]]
            for weight, gradient in zip(trained, torch.autograd.grad(loss, trained,
                                                                     retain_graph=True)):
                weight.grad = gradient
            torch.nn.utils.clip_grad_norm_(trained, model.most_norm)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = model.rate() or group["lr"]
            optimizer.step()
        yield step + 1, {name: loss.item() for name, loss in found.items()}


def main(build, *names):
    for family in families(names):
        with tempfile.TemporaryDirectory() as folder:
            rows = list(losses(pathlib.Path(build), family, pathlib.Path(folder)))
        lines = [",".join(["step", *rows[0][1]])]
        lines += [",".join([str(step), *(f"{loss:.9g}" for loss in found.values())])
                  for step, found in rows]
        family.losses.write_text("\n".join([*lines, ""]))
        print(f"{family.losses.name}: PyTorch {torch.__version__}, {STEPS} steps")


if __name__ == "__main__":
    main(*sys.argv[1:])
