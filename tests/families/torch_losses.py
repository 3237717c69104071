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

from family import STEPS, families
from torch_models import MODELS

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from runs import make_plan, run_plan  # noqa: E402


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
    model = MODELS[family.graph](weights, sizes)
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
