# SPDX-License-Identifier: GPL-3.0-or-later
"""What the models in PyTorch share."""
import math

import torch
from torch.nn import functional


class Network:
    """`optimizers` gives those of the losses that `losses` gives, in their order. Images are [batch,
    height, width, channels] outside, channels before height inside."""

    most_norm = math.inf  # of the gradients of a loss

    def __init__(self, weights, sizes):
        self.weights, self.sizes = weights, sizes

    def chosen(self, choose):
        """The weights whose names are chosen."""
        return [weight for name, weight in self.weights.items() if choose(name)]

    def normalized(self, x, name, parts=1):
        return torch.cat([functional.batch_norm(part, None, None, self.weights[f"{name}.scale"],
                                                self.weights[f"{name}.shift"], training=True)
                          for part in x.chunk(parts)])
