# SPDX-License-Identifier: GPL-3.0-or-later
"""Models of images in PyTorch."""
import torch
from torch.nn import functional

from network import Network


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
