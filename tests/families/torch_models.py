# SPDX-License-Identifier: GPL-3.0-or-later
"""The models of family.py in PyTorch, on weights by their names."""
import torch
from torch.nn import functional


class Model:
    """`options` are those of torch.optim.SGD, whose weight decay is for the weights that decay."""

    options = {"lr": 0.1, "momentum": 0.9}

    def __init__(self, weights, sizes):
        self.weights, self.sizes = weights, sizes

    @staticmethod
    def decays(_name):
        return True

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


class Resnet(Model):
    """Images are [batch, height, width, channels] outside, channels before height inside."""

    options = {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 1e-4}

    def __init__(self, weights, sizes):
        super().__init__(weights, sizes)
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


def cross_entropy(logits, targets):
    return functional.cross_entropy(logits.flatten(0, -2), targets.flatten())


def experts_of(gates, top, capacity):
    """Of the gates [group, experts] of a group: the (expert, gate, has room) of each token, a list
    for each of its choices. Experts take first choices first."""
    best, ids = gates.topk(top)
    taken, choices = [0] * gates.shape[1], []
    for choice in range(top):
        row = []
        for token, expert in enumerate(ids[:, choice].tolist()):
            row.append((expert, best[token, choice], taken[expert] < capacity))
            taken[expert] += 1
        choices.append(row)
    return choices


def mixture(x, gates, top, capacity, renormalized, expert, counted):
    """What the experts make of tokens x [groups, group, width], and the imbalance of the first
    `counted` choices. `expert(number, token)` is what an expert makes of a token."""
    y, imbalance = [], 0
    for group, own in zip(x, gates, strict=True):
        choices = experts_of(own, top, capacity)
        share = torch.zeros(own.shape[1])
        for row in choices[:counted]:
            for number, _, _ in row:
                share[number] += 1 / (counted * len(row))
        imbalance = imbalance + (share * own.mean(0)).mean() / len(x)
        for token, mine in zip(group, zip(*choices, strict=True), strict=True):
            total = sum(gate for _, gate, _ in mine) if renormalized else 1
            parts = [gate / total * expert(number, token) for number, gate, room in mine if room]
            y.append(sum(parts, torch.zeros_like(token)))
    return torch.stack(y).reshape(x.shape), imbalance


class Moe(Model):
    def mixture(self, x, name):
        group = self.sizes["group"]
        w1, w2 = self.weights[f"{name}.w1"], self.weights[f"{name}.w2"]
        tokens = x.reshape(-1, group, x.shape[-1])
        gates = self.linear(tokens, f"{name}.gate").softmax(-1)
        y, imbalance = mixture(tokens, gates, 2, 2 * group // self.sizes["experts"], True,
                               lambda e, token: torch.relu(token @ w1[e]) @ w2[e], 1)
        return y.reshape(x.shape), imbalance

    def loss(self, tokens, targets):
        x, imbalance = self.weights["wte"][tokens] + self.weights["wpe"], 0
        for pair in range(self.sizes["pairs"]):
            at = f"pairs.{pair}"
            x = x + self.attention(self.norm(x, f"{at}.norm"), f"{at}.attention", causal=True)
            x = x + self.mlp(self.norm(x, f"{at}.norm.1"), f"{at}.mlp")
            x = x + self.attention(self.norm(x, f"{at}.norm.2"), f"{at}.attention.1", causal=True)
            y, own = self.mixture(self.norm(x, f"{at}.norm.3"), f"{at}.mixture")
            x, imbalance = x + y, imbalance + own
        logits = self.norm(x, "norm") @ self.weights["wte"].T
        return cross_entropy(logits, targets) + 0.01 * imbalance


class Llama(Model):
    """The parts of decoders in the manner of Llama."""

    eps, base = 1e-5, 10000

    def rms_norm(self, x, name):
        scale = self.weights[f"{name}.scale"]
        return functional.rms_norm(x, scale.shape, scale, self.eps)

    def rotated(self, x):
        """x [batch, heads, sequence, head]."""
        half = x.shape[-1] // 2
        angle = torch.arange(x.shape[-2])[:, None] * self.base ** (-torch.arange(half) / half)
        first, second = x.split(half, -1)
        return torch.cat([first * angle.cos() - second * angle.sin(),
                          second * angle.cos() + first * angle.sin()], -1)

    def projected(self, x, name, part):
        y = torch.einsum("bsw,whd->bhsd", x, self.weights[f"{name}.w{part}"])
        bias = self.weights.get(f"{name}.b{part}")
        return y if bias is None else y + bias[:, None]

    def causal(self, x, name):
        q, k, v = (self.projected(x, name, part) for part in "qkv")
        y = functional.scaled_dot_product_attention(self.rotated(q), self.rotated(k), v,
                                                    is_causal=True, enable_gqa=True)
        return torch.einsum("bhsd,hdw->bsw", y, self.weights[f"{name}.wo"])

    def gated(self, x, name, expert=()):
        gate, up, down = (self.weights[f"{name}.{part}"][expert] for part in ("gate", "up", "down"))
        return (functional.silu(x @ gate) * (x @ up)) @ down


class Mixtral(Llama):
    def mixture(self, x, name):
        sizes = self.sizes
        gates = self.linear(x, f"{name}.router").softmax(-1)  # a group is a sequence
        y, imbalance = mixture(x, gates, sizes.get("top", 2), sizes.get("capacity", sizes["seq"]),
                               sizes.get("renormalized", True),
                               lambda e, token: self.gated(token, name, e), sizes.get("top", 2))
        return (y + self.gated(x, f"{name}.mlp") if "shared" in sizes else y), imbalance

    def loss(self, tokens, targets):
        x, imbalance = self.weights["embed"][tokens], 0
        plain = self.sizes.get("plain", 0)
        for layer in range(self.sizes["layers"]):
            at = f"plain.{layer}" if layer < plain else f"mixed.{layer - plain}"
            x = x + self.causal(self.rms_norm(x, f"{at}.norm"), f"{at}.attention")
            y = self.rms_norm(x, f"{at}.norm.1")
            y, own = ((self.gated(y, f"{at}.mlp"), 0) if layer < plain else
                      self.mixture(y, f"{at}.mixture"))
            x, imbalance = x + y, imbalance + own
        logits = self.linear(self.rms_norm(x, "norm"), "unembed")
        return cross_entropy(logits, targets) + 0.01 * imbalance


class Qwen(Llama):
    eps, base = 1e-6, 1000000

    def loss(self, tokens, targets):
        x = self.weights["embed"][tokens]
        for layer in range(self.sizes["layers"]):
            at = f"layers.{layer}"
            x = x + self.causal(self.rms_norm(x, f"{at}.norm"), f"{at}.attention")
            x = x + self.gated(self.rms_norm(x, f"{at}.norm.1"), f"{at}.mlp")
        return cross_entropy(self.rms_norm(x, "norm") @ self.weights["embed"].T, targets)


class Mamba(Llama):
    """The recurrence itself, position by position."""

    def mixer(self, x, name):
        own = {part: self.weights[f"{name}.{part}"] for part in
               ("filter", "bias", "dt_bias", "log_a", "skip")}
        heads, channels, states = len(own["skip"]), len(own["bias"]), self.sizes["states"]
        inner = channels - 2 * states
        gate, x, steps = self.linear(x, f"{name}.project").split([inner, channels, heads], -1)
        x = functional.pad(x.transpose(1, 2), (len(own["filter"]) - 1, 0))
        x = functional.conv1d(x, own["filter"].permute(2, 1, 0), own["bias"], groups=channels)
        x, b, c = functional.silu(x).transpose(1, 2).split([inner, states, states], -1)
        x = x.reshape(*x.shape[:2], heads, -1)
        steps = functional.softplus(steps + own["dt_bias"])
        left = (-own["log_a"].exp() * steps).exp()
        state, y = torch.zeros(len(x), heads, x.shape[-1], states), []
        for at in range(x.shape[1]):
            taken = torch.einsum("bh,bhp,bn->bhpn", steps[:, at], x[:, at], b[:, at])
            state = left[:, at, :, None, None] * state + taken
            y.append(torch.einsum("bhpn,bn->bhp", state, c[:, at]))
        y = (torch.stack(y, 1) + own["skip"][:, None] * x).flatten(2)
        return self.linear(self.rms_norm(y * functional.silu(gate), f"{name}.norm"), f"{name}.back")

    def loss(self, tokens, targets):
        x = self.weights["embed"][tokens]
        for layer in range(self.sizes["layers"]):
            x = x + self.mixer(self.rms_norm(x, f"layers.{layer}.norm"), f"layers.{layer}.mixer")
        return cross_entropy(self.rms_norm(x, "norm") @ self.weights["embed"].T, targets)


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

    def loss(self, images, labels):
        x = self.norm(self.conv(images, "patches", 0, stride=4), "norm", 1e-6)
        for stage, blocks in enumerate(self.sizes["blocks"]):
            if stage:
                x = self.norm(x, f"stage.{stage}.norm", 1e-6)
                x = self.conv(x, f"stage.{stage}.patches", 0, stride=2)
            for layer in range(blocks):
                at = f"stage.{stage}.layers.{layer}.layer"
                y = self.conv(x, f"{at}.depthwise", 3, groups=x.shape[-1])
                y = self.mlp(self.norm(y, f"{at}.norm", 1e-6), f"{at}.mlp")
                x = x + self.weights[f"{at}.gamma"] * y
        x = self.norm(x.mean((1, 2)), "norm.1", 1e-6)
        return cross_entropy(self.linear(x, "w", "b"), labels)


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


MODELS = {model.__name__.lower(): model  # by the name of the file in models/
          for model in (Alexnet, Clip, Convnext, Dlrm, Mamba, Mixtral, Moe, Qwen, Resnet, Vgg)}
