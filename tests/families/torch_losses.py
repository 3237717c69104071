#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first losses of models by PyTorch, from the weights that a run begins with.

    torch_losses.py BUILD [NAME...]

Writes NAME.csv beside this script."""
import pathlib
import sys
import tempfile

import numpy
import torch
from torch.nn import functional

from family import STEPS, families

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from runs import make_plan, run_plan  # noqa: E402


class Network:
    """`optimizers` gives those of the losses that `losses` gives, in their order. Images are [batch,
    height, width, channels] outside, channels before height inside."""

    def __init__(self, weights, sizes):
        self.weights, self.sizes = weights, sizes

    def chosen(self, choose):
        """The weights whose names are chosen."""
        return [weight for name, weight in self.weights.items() if choose(name)]

    def normalized(self, x, name, parts=1):
        return torch.cat([functional.batch_norm(part, None, None, self.weights[f"{name}.scale"],
                                                self.weights[f"{name}.shift"], training=True)
                          for part in x.chunk(parts)])


class Resnet(Network):
    def __init__(self, weights, sizes):
        super().__init__(weights, sizes)
        self.blocks, self.parts = sizes["blocks"], sizes.get("parts", 1)
        self.bottleneck = sizes.get("bottleneck", False)

    def optimizers(self):
        def stays(name):
            return name.endswith((".scale", ".shift")) or name == "b"

        groups = [{"params": self.chosen(lambda name: not stays(name))},
                  {"params": self.chosen(stays), "weight_decay": 0}]
        return [torch.optim.SGD(groups, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)]

    def normalized(self, x, name):
        return super().normalized(x, name, self.parts)

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

    def losses(self, images, labels):
        x = images.permute(0, 3, 1, 2)
        x = torch.relu(self.normalized(self.convolved(x, "convolved"), "normalized"))
        for stage, blocks in enumerate(self.blocks):
            x = self.residual(x, f"stage.{stage}.residual", 2 if stage else 1)
            for layer in range(blocks - 1):
                x = self.residual(x, f"stage.{stage}.layer.{layer}.residual", 1)
        logits = x.mean(dim=(2, 3)) @ self.weights["w"] + self.weights["b"]
        return {"loss": functional.cross_entropy(logits, labels)}


class Gan(Network):
    def optimizers(self):
        return [torch.optim.Adam(self.chosen(lambda name: name.startswith(part)), lr=2e-4,
                                 betas=(0.5, 0.999)) for part in ("discriminator.", "generator.")]

    def layers(self, part, kind):
        """Names of the convolutions of a part, with those of the norms after them."""
        levels = len(self.sizes["widths"])
        inner = [(f"{part}.level.{i}.{kind}.filter", f"{part}.level.{i}.normalized")
                 for i in range(levels - 1)]
        outer = [(f"{part}.{kind}.filter", None)]
        return outer + inner if part == "discriminator" else inner + outer

    def generated(self, z):
        x = torch.einsum("bz,zhwc->bchw", z, self.weights["generator.project"])
        x = torch.relu(self.normalized(x, "generator.normalized"))
        for filters, norm in self.layers("generator", "finer"):
            x = functional.conv_transpose2d(x, self.weights[filters].permute(3, 2, 0, 1), stride=2,
                                            padding=1)
            x = torch.relu(self.normalized(x, norm)) if norm else torch.tanh(x)
        return x

    def judged(self, x):
        for filters, norm in self.layers("discriminator", "coarser"):
            x = functional.conv2d(x, self.weights[filters].permute(3, 2, 0, 1), stride=2, padding=1)
            x = functional.leaky_relu(self.normalized(x, norm) if norm else x, 0.2)
        return torch.einsum("bchw,hwc->b", x, self.weights["discriminator.judge"])

    def losses(self, images, z):
        real = self.judged(images.permute(0, 3, 1, 2))
        fake = self.judged(self.generated(z))
        entropy, ones = functional.binary_cross_entropy_with_logits, torch.ones_like(fake)
        return {"d_loss": entropy(real, ones) + entropy(fake, 0 * ones),
                "g_loss": entropy(fake, ones)}


class Lora(Network):
    def optimizers(self):
        return [torch.optim.AdamW(self.chosen(lambda name: ".lora_" in name), lr=2e-4,
                                  weight_decay=0.01)]

    def norm(self, x, name):
        return functional.rms_norm(x, x.shape[-1:], self.weights[f"{name}.scale"], eps=1e-5)

    def adapted(self, x, name, projection, adapter):
        w, a, b = (self.weights[f"{name}.{weight}"] for weight in (
            projection, f"{adapter}.lora_a", f"{adapter}.lora_b"))
        return torch.einsum("bsw,whd->bhsd", x, w) + \
            torch.einsum("bsr,rhd->bhsd", x @ a, b) * (
                self.sizes["alpha"] / self.sizes["rank"])

    @staticmethod
    def turned(x):
        """Rotary positions on [batch, heads, sequence, head]; halves of a head rotate together."""
        half = x.shape[-1] // 2
        angles = torch.arange(x.shape[2])[:, None] * 10000.0 ** (-torch.arange(half) / half)
        a, b = x.split(half, dim=-1)
        return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()],
                         dim=-1)

    def attention(self, x, name):
        k = torch.einsum("bsw,wgd->bgsd", x, self.weights[f"{name}.wk"])
        q = self.adapted(x, name, "wq", "adapter")
        v = self.adapted(x, name, "wv", "adapter.1")
        o = functional.scaled_dot_product_attention(self.turned(q), self.turned(k), v,
                                                    is_causal=True, enable_gqa=True)
        return torch.einsum("bhsd,hdw->bsw", o, self.weights[f"{name}.wo"])

    def mlp(self, x, name):
        gate, up, down = (self.weights[f"{name}.{weight}"] for weight in ("gate", "up", "down"))
        return (functional.silu(x @ gate) * (x @ up)) @ down

    def losses(self, tokens, targets):
        x = self.weights["embed"][tokens]
        for layer in range(self.sizes["layers"]):
            name = f"layers.{layer}"
            x = x + self.attention(self.norm(x, f"{name}.norm"), f"{name}.attention")
            x = x + self.mlp(self.norm(x, f"{name}.norm.1"), f"{name}.mlp")
        logits = self.norm(x, "norm") @ self.weights["unembed"]
        return {"loss": functional.cross_entropy(logits.flatten(0, 1), targets.flatten())}


CLASSES = {"resnet": Resnet, "gan": Gan, "lora": Lora}  # by the name of the model's file


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
    sizes = {name: eval(text) for name, text in  # noqa: S307: the sizes of family.py
             (word.split("=") for word in family.sizes.replace("true", "True").split())}
    model = CLASSES[family.graph](weights, sizes)
    optimizers = model.optimizers()
    data = {name: torch.tensor(numpy.load(folder / f"{name}.npy")) for name in family.inputs}
    for step in range(STEPS):
        batch = [rows.to(torch.float64) if rows.is_floating_point() else rows.to(torch.int64)
                 for rows in (data[name].chunk(STEPS)[step] for name in family.inputs)]
        found = model.losses(*batch)
        for optimizer, loss in zip(optimizers, found.values()):
            trained = [weight for group in optimizer.param_groups for weight in group["params"]]
            for weight, gradient in zip(trained, torch.autograd.grad(loss, trained,
                                                                     retain_graph=True)):
                weight.grad = gradient
        for optimizer in optimizers:
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
