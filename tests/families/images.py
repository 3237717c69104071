# SPDX-License-Identifier: GPL-3.0-or-later
"""Models of images in PyTorch."""
import math

import torch
from torch.nn import functional

from draws import normal, uniform
from network import Model, Network, cross_entropy


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
        images.requires_grad_()
        real = self.judged(images.permute(0, 3, 1, 2))
        fake = self.judged(self.generated(z))
        entropy, ones = functional.binary_cross_entropy_with_logits, torch.ones_like(fake)
        d_loss = entropy(real, ones) + entropy(fake, 0 * ones)
        if "penalty" in self.sizes:
            slope, = torch.autograd.grad(real.sum(), images, create_graph=True)
            d_loss = d_loss + 0.5 * self.sizes["penalty"] * (slope ** 2).sum(dim=(1, 2, 3)).mean()
        return {"d_loss": d_loss, "g_loss": entropy(fake, ones)}


class Dense(Model):
    """Three dense layers after convolutions."""

    options = {"lr": 0.01, "momentum": 0.9, "weight_decay": 5e-4}

    def loss(self, images, labels):
        x = self.convolutions(images.permute(0, 3, 1, 2)).permute(0, 2, 3, 1).flatten(1)
        x = torch.relu(self.linear(x, "linear.w", "linear.b"))
        x = torch.relu(self.linear(x, "linear.1.w", "linear.1.b"))
        return cross_entropy(self.linear(x, "linear.2.w", "linear.2.b"), labels)


class Alexnet(Dense):
    def convolutions(self, x):
        x = torch.relu(self.convolved(x, "convolved", 2, stride=4))
        x = torch.relu(self.convolved(functional.max_pool2d(x, 3, 2), "convolved.1", 2))
        x = functional.max_pool2d(x, 3, 2)
        for layer in range(3):
            x = torch.relu(self.convolved(x, f"layer.{layer}.convolved", 1))
        return functional.max_pool2d(x, 3, 2)


class Vgg(Dense):
    def convolutions(self, x):
        for stage, blocks in enumerate(self.sizes["blocks"]):
            for layer in range(blocks):
                x = torch.relu(self.convolved(x, f"stage.{stage}.layer.{layer}.convolved", 1))
            x = functional.max_pool2d(x, 2)
        return x


class Convnext(Model):
    """The channels of x come last."""

    def conv(self, x, name, padding, **options):
        return self.convolved(x.permute(0, 3, 1, 2), name, padding, **options).permute(0, 2, 3, 1)

    def some(self, y, depth):
        """That of some images, less often the deeper the layer is."""
        rate = self.sizes.get("drop_path", 0) * depth / (sum(self.sizes["blocks"]) - 1)
        if not rate:
            return y
        return y * (uniform(depth - 1, self.step, len(y), 1, 1, 1) < 1 - rate) / (1 - rate)

    def loss(self, images, labels):
        depth = 0
        x = self.norm(self.conv(images, "patches", 0, stride=4), "norm", 1e-6)
        for stage, blocks in enumerate(self.sizes["blocks"]):
            if stage:
                x = self.norm(x, f"stage.{stage}.norm", 1e-6)
                x = self.conv(x, f"stage.{stage}.patches", 0, stride=2)
            for layer in range(blocks):
                at = f"stage.{stage}.layers.{layer}.layer"
                y = self.conv(x, f"{at}.depthwise", 3, groups=x.shape[-1])
                y = self.mlp(self.norm(y, f"{at}.norm", 1e-6), f"{at}.mlp")
                x = x + self.some(self.weights[f"{at}.gamma"] * y, depth)
                depth += 1
        x = self.norm(x.mean((1, 2)), "norm.1", 1e-6)
        return cross_entropy(self.linear(x, "w", "b"), labels)


class Unet(Model):
    """A step of diffusion."""

    most_norm = 1
    times, first_noise, last_noise = 1000, 1e-4, 0.02

    def optimizers(self):
        return [torch.optim.Adam(self.weights.values())]

    def rate(self):
        return self.sizes["rate"] * min(1, self.step / self.sizes["warmup"])

    def normalized(self, x, name):
        return functional.group_norm(x, self.sizes["groups"], self.weights[f"{name}.scale"],
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
        half, levels = self.sizes["width"] // 2, len(self.sizes["multipliers"])
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

    def loss(self, images):
        time = torch.floor(self.times * uniform(0, self.step, len(images)))
        noise = normal(1, self.step, *images.shape)
        variances = torch.linspace(self.first_noise, self.last_noise, self.times)
        left = torch.cumprod(1 - variances, 0)[time.to(torch.int64)][:, None, None, None]
        noisy = left.sqrt() * images + (1 - left).sqrt() * noise
        return functional.mse_loss(self.unet(noisy.movedim(-1, 1), time), noise.movedim(-1, 1))
