# SPDX-License-Identifier: GPL-3.0-or-later
"""Models of more than one kind of data in PyTorch."""
import torch
from torch.nn import functional

from network import Model, cross_entropy


class Dlrm(Model):
    options = {"lr": 0.1}

    def layers(self, x, name, count):
        for layer in range(count):
            at = f"{name}.layer.{layer}.linear"
            x = self.linear(torch.relu(x) if layer else x, f"{at}.w", f"{at}.b")
        return x

    def loss(self, dense, categories, clicks):
        x = torch.relu(self.layers(dense, "mlp", len(self.sizes["bottom"])))
        vectors = [self.weights[f"table.{table}.vectors" if table else "table.vectors"][ids]
                   for table, ids in enumerate(categories.T)]
        vectors = torch.stack([x, *vectors], 1)
        row, column = torch.tril_indices(vectors.shape[1], vectors.shape[1], -1)
        pairs = (vectors @ vectors.mT)[:, row, column]
        logits = self.layers(torch.cat([x, pairs], 1), "mlp.1", len(self.sizes["top"]))
        return functional.binary_cross_entropy_with_logits(logits[:, 0], clicks.to(x.dtype))


class Clip(Model):
    def layers(self, x, name, causal):
        x = x + self.attention(self.norm(x, f"{name}.norm"), f"{name}.attention", causal=causal)
        return x + self.mlp(self.norm(x, f"{name}.norm.1"), f"{name}.mlp",
                            lambda y: y * torch.sigmoid(1.702 * y))

    def image(self, images):
        own = {part: self.weights[f"image_tower.patchify.{part}"] for part in
               ("w", "class", "positions")}
        patch = self.sizes["patch"]
        kernel = own["w"].reshape(patch, patch, -1, own["w"].shape[-1]).permute(3, 2, 0, 1)
        x = functional.conv2d(images.permute(0, 3, 1, 2), kernel, stride=patch).flatten(2).mT
        x = torch.cat([own["class"].expand(len(x), 1, -1), x], 1) + own["positions"]
        x = self.norm(x, "image_tower.norm")
        for layer in range(self.sizes["image_layers"]):
            x = self.layers(x, f"image_tower.image_layers.{layer}", False)
        return self.linear(self.norm(x[:, 0], "image_tower.norm.1"), "image_tower.projection")

    def text(self, tokens):
        x = self.weights["text_tower.wte"][tokens] + self.weights["text_tower.wpe"]
        for layer in range(self.sizes["text_layers"]):
            x = self.layers(x, f"text_tower.text_layers.{layer}", True)
        x = self.norm(x[torch.arange(len(x)), tokens.argmax(-1)], "text_tower.norm")
        return self.linear(x, "text_tower.projection")

    def loss(self, images, tokens):
        image, text = self.image(images), self.text(tokens)
        logits = functional.normalize(image) @ functional.normalize(text).T
        logits, pairs = self.weights["scale"].exp() * logits, torch.arange(len(images))
        return (cross_entropy(logits, pairs) + cross_entropy(logits.T, pairs)) / 2
