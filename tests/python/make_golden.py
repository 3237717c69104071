#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes golden/: flat models that PyTorch's modules were exported as, their weights and data, and
the losses of PyTorch's own run.

    make_golden.py BUILD [NAME...]

needs PyTorch."""
import shutil
import sys

import support
import torch
from modules import CASES, batch_of, data_of, losses_by_torch

import meshwright
from meshwright import safetensors


def write(name):
    """One folder."""
    torch.manual_seed(1)
    case, folder = CASES[name], support.HERE / "golden" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    module, data = case.module().train(), data_of(case)
    optimizer = case.optimizer(module)
    exported = meshwright.export(
        module, tuple(batch_of(data[0], 0)), targets=batch_of(data[1], 0), loss=case.loss,
        optimizer=optimizer, path=folder / "model.graph", fold=False)
    fed = dict(zip(exported.inputs, [*data[0].values(), *data[1].values()], strict=True))
    safetensors.save(folder / "data.safetensors", fed)
    losses = losses_by_torch(case, module, optimizer, data)
    rows = [f"{step},{loss:.9g}" for step, loss in enumerate(losses, 1)]
    (folder / "losses.csv").write_text("\n".join(["step,loss", *rows, ""]))
    print(f"{name}: PyTorch {torch.__version__}, {len(losses)} steps")


def main(build, *names):
    support.use_build(build)
    for name in names or CASES:
        write(name)


if __name__ == "__main__":
    main(*sys.argv[1:])
