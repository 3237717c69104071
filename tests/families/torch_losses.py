#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first losses of models by PyTorch, from the weights that a run begins with.

    torch_losses.py BUILD [NAME...]

Writes NAME.csv beside this script."""
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


class Resnet:
    """Images are [batch, height, width, channels] outside, channels before height inside."""

    optimizer = torch.optim.SGD
    options = {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-4}
    most_norm = math.inf  # of the gradient

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


def rms_norm(x):
    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + 1e-6)


class Transformer:
    """Weights by their names in a graph, and attention written out."""

    optimizer = torch.optim.AdamW
    most_norm = 1

    def __init__(self, weights, sizes):
        self.weights, self.sizes = weights, sizes

    @staticmethod
    def decays(name):
        return not name.endswith(".scale")

    def projected(self, x, name):
        return torch.einsum("bsw,whd->bhsd", x, self.weights[name])

    def joined(self, x, name):
        return torch.einsum("bhsd,hdw->bsw", x, self.weights[name])

    @staticmethod
    def attended(scores, seen, v):
        return torch.softmax(scores.masked_fill(~seen, -math.inf), dim=-1) @ v


class Gemma(Transformer):
    options = {"lr": 1e-3, "betas": (0.9, 0.95), "weight_decay": 0.1}

    def normalized(self, x, name):
        return rms_norm(x) * (1 + self.weights[f"{name}.scale"])

    @staticmethod
    def turned(x):
        half = x.shape[-1] // 2
        rates = 10000 ** (-torch.arange(half) / half)
        angles = torch.arange(x.shape[2])[:, None] * rates
        left, right = x[..., :half], x[..., half:]
        return torch.cat([left * angles.cos() - right * angles.sin(),
                          right * angles.cos() + left * angles.sin()], dim=-1)

    def attention(self, x, name, reach):
        q, k, v = (self.projected(x, f"{name}.w{part}") for part in "qkv")
        shared = q.shape[1] // k.shape[1]
        k, v = (part.repeat_interleave(shared, dim=1) for part in (self.turned(k), v))
        cap = self.sizes["attention_cap"]
        scores = self.turned(q) @ k.transpose(-1, -2) / self.sizes["query_scale"] ** 0.5
        scores = cap * torch.tanh(scores / cap)
        apart = torch.arange(x.shape[1])[:, None] - torch.arange(x.shape[1])
        seen = (apart >= 0) & (apart < reach)
        return self.joined(self.attended(scores, seen, v), f"{name}.wo")

    def mlp(self, x, name):
        gate, up, down = (self.weights[f"{name}.{part}"] for part in ("gate", "up", "down"))
        return (functional.gelu(x @ gate, approximate="tanh") * (x @ up)) @ down

    def layer(self, x, name, reach):
        y = self.attention(self.normalized(x, f"{name}.norm"), f"{name}.attention", reach)
        x = x + self.normalized(y, f"{name}.norm.1")
        y = self.mlp(self.normalized(x, f"{name}.norm.2"), f"{name}.mlp")
        return x + self.normalized(y, f"{name}.norm.3")

    def loss(self, tokens, targets):
        embed, cap = self.weights["embed"], self.sizes["final_cap"]
        x = embed[tokens] * embed.shape[1] ** 0.5
        for pair in range(self.sizes["layers"] // 2):
            x = self.layer(x, f"pair.{pair}.layer", self.sizes["window"])
            x = self.layer(x, f"pair.{pair}.layer.1", self.sizes["seq"])
        logits = cap * torch.tanh(self.normalized(x, "norm") @ embed.T / cap)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


class T5(Transformer):
    options = {"lr": 1e-3, "weight_decay": 0.01}

    def normalized(self, x, name):
        return rms_norm(x) * self.weights[f"{name}.scale"]

    def bucket(self, apart, count):
        """One by one, by the bounds of the buckets."""
        exact = count // 2
        bounds = [exact * (self.sizes["distance"] / exact) ** (step / (count - exact))
                  for step in range(1, count - exact)]
        return apart if apart < exact else exact + sum(apart >= bound - 1e-9 for bound in bounds)

    def bias(self, length, both_sides, name):
        count = self.sizes["buckets"] // (2 if both_sides else 1)
        ids = [[self.bucket(abs(key - query) if both_sides else max(query - key, 0), count) +
                (count if both_sides and key > query else 0) for key in range(length)]
               for query in range(length)]
        return self.weights[f"{name}.bias"][torch.tensor(ids)].permute(2, 0, 1)

    def attention(self, x, others, bias, causal, name):
        q = self.projected(x, f"{name}.query.w")
        k = self.projected(others, f"{name}.project.w")
        v = self.projected(others, f"{name}.project.1.w")
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool)
        scores = q @ k.transpose(-1, -2) + bias
        return self.joined(self.attended(scores, seen.tril() if causal else seen, v),
                           f"{name}.joined.w")

    def mlp(self, x, name):
        return torch.relu(x @ self.weights[f"{name}.w1"]) @ self.weights[f"{name}.w2"]

    def side(self, x, name, encoded=None):
        is_decoder = encoded is not None
        bias = self.bias(x.shape[1], not is_decoder, f"{name}.relative_bias")
        for index in range(self.sizes["layers"]):
            layer = f"{name}.layers.{index}"
            y = self.normalized(x, f"{layer}.norm")
            x = x + self.attention(y, y, bias, is_decoder, f"{layer}.self_attention")
            if is_decoder:
                y = self.normalized(x, f"{layer}.norm.1")
                x = x + self.attention(y, encoded, 0, False, f"{layer}.cross_attention")
            y = self.normalized(x, f"{layer}.norm.{2 if is_decoder else 1}")
            x = x + self.mlp(y, f"{layer}.mlp")
        return self.normalized(x, f"{name}.norm")

    def loss(self, tokens, targets):
        embed = self.weights["embed"]
        before = functional.pad(targets[:, :-1], (1, 0))
        x = self.side(embed[before], "decoder", self.side(embed[tokens], "encoder"))
        logits = x / embed.shape[1] ** 0.5 @ embed.T
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


CLASSES = {"resnet": Resnet, "gemma": Gemma, "t5": T5}  # by the name of the model's file


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
    groups = [[weight for name, weight in weights.items() if model.decays(name) == decays]
              for decays in (True, False)]
    optimizer = model.optimizer([{"params": groups[0]}, {"params": groups[1], "weight_decay": 0}],
                                **model.options)
    data = {name: torch.tensor(numpy.load(folder / f"{name}.npy")) for name in family.inputs}
    for step in range(STEPS):
        batch = [rows.to(torch.float64) if rows.is_floating_point() else rows.to(torch.int64)
                 for rows in (data[name].chunk(STEPS)[step] for name in family.inputs)]
        optimizer.zero_grad()
        loss = model.loss(*batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), model.most_norm)
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
