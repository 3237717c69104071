# SPDX-License-Identifier: GPL-3.0-or-later
"""What the models in PyTorch share."""
import math

import torch
from torch.nn import functional


class Network:
    """`optimizers` gives those of the losses that `losses` gives, in their order. Images are [batch,
    height, width, channels] outside, channels before height inside."""

    most_norm = math.inf  # of the gradients of a loss
    step = 0  # from 1 on

    def __init__(self, weights, sizes):
        self.weights, self.sizes = weights, sizes

    def rate(self):
        """The learning rate of the step; None: that of the optimizers."""

    def chosen(self, choose):
        """The weights whose names are chosen."""
        return [weight for name, weight in self.weights.items() if choose(name)]

    def normalized(self, x, name, parts=1):
        return torch.cat([functional.batch_norm(part, None, None, self.weights[f"{name}.scale"],
                                                self.weights[f"{name}.shift"], training=True)
                          for part in x.chunk(parts)])


class Model(Network):
    """Of one loss, with the blocks that several models share. `options` are those of torch.optim.SGD,
    whose weight decay is for the weights that decay."""

    options = {"lr": 0.1, "momentum": 0.9}

    @staticmethod
    def decays(_name):
        return True

    def optimizers(self):
        groups = [{"params": self.chosen(self.decays)},
                  {"params": self.chosen(lambda name: not self.decays(name)), "weight_decay": 0}]
        return [torch.optim.SGD(groups, **self.options)]

    def losses(self, *batch):
        return {"loss": self.loss(*batch)}

    def linear(self, x, weight, bias=None):
        x = x @ self.weights[weight]
        return x + self.weights[bias] if bias else x

    def norm(self, x, name, eps=1e-5):
        scale = self.weights[f"{name}.scale"]
        return functional.layer_norm(x, scale.shape, scale, self.weights[f"{name}.shift"], eps)

    def attention(self, x, name, causal=False):
        own = {part: self.weights[f"{name}.{part}"] for part in ("wqkv", "bqkv", "wo", "bo")}
        q, k, v = (torch.einsum("bsw,whd->bhsd", x, own["wqkv"][:, part]) +
                   own["bqkv"][part][:, None] for part in range(3))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return torch.einsum("bhsd,hdw->bsw", y, own["wo"]) + own["bo"]

    def mlp(self, x, name, activation=functional.gelu):
        x = activation(self.linear(x, f"{name}.w1", f"{name}.b1"))
        return self.linear(x, f"{name}.w2", f"{name}.b2")

    def convolved(self, x, name, padding, **options):
        """The channels of x come before its height."""
        kernel = self.weights[f"{name}.filter"].permute(3, 2, 0, 1)
        return functional.conv2d(x, kernel, self.weights[f"{name}.b"], padding=padding, **options)


def cross_entropy(logits, targets):
    return functional.cross_entropy(logits.flatten(0, -2), targets.flatten())
