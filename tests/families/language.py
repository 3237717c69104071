# SPDX-License-Identifier: GPL-3.0-or-later
"""Models of language in PyTorch."""
import math

import torch
from torch.nn import functional

from draws import uniform
from network import Model, Network, cross_entropy


def rms_norm(x):
    return x / torch.sqrt(x.square().mean(-1, keepdim=True) + 1e-6)


class Transformer(Network):
    """Attention written out; no decay of the scales of norms."""

    most_norm = 1

    def optimizers(self):
        return [torch.optim.AdamW([
            {"params": self.chosen(lambda name: not name.endswith(".scale"))},
            {"params": self.chosen(lambda name: name.endswith(".scale")), "weight_decay": 0}],
            **self.options)]

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

    def losses(self, tokens, targets):
        embed, cap = self.weights["embed"], self.sizes["final_cap"]
        x = embed[tokens] * embed.shape[1] ** 0.5
        for pair in range(self.sizes["layers"] // 2):
            x = self.layer(x, f"pair.{pair}.layer", self.sizes["window"])
            x = self.layer(x, f"pair.{pair}.layer.1", self.sizes["seq"])
        logits = cap * torch.tanh(self.normalized(x, "norm") @ embed.T / cap)
        return {"loss": functional.cross_entropy(logits.flatten(0, 1), targets.flatten())}


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

    def losses(self, tokens, targets):
        embed = self.weights["embed"]
        before = functional.pad(targets[:, :-1], (1, 0))
        x = self.side(embed[before], "decoder", self.side(embed[tokens], "encoder"))
        logits = x / embed.shape[1] ** 0.5 @ embed.T
        return {"loss": functional.cross_entropy(logits.flatten(0, 1), targets.flatten())}


def experts_of(gates, top, capacity, drawn=None):
    """Of the gates [group, experts] of a group: the (expert, gate, has room) of each token, a list
    for each of its choices. Experts take first choices first, and second ones where `drawn` is less
    than twice their share, if it is given."""
    best, ids = gates.topk(top)
    taken, choices = [0] * gates.shape[1], []
    for choice in range(top):
        row = []
        for token, expert in enumerate(ids[:, choice].tolist()):
            wanted = drawn is None or choice == 0 or \
                drawn[token] < 2 * best[token, choice] / best[token].sum()
            row.append((expert, best[token, choice], bool(wanted) and taken[expert] < capacity))
            taken[expert] += bool(wanted)
        choices.append(row)
    return choices


def mixture(x, gates, top, capacity, renormalized, expert, counted, drawn=None):
    """What the experts make of tokens x [groups, group, width], and the imbalance of the first
    `counted` choices. `expert(number, token)` is what an expert makes of a token."""
    y, imbalance = [], 0
    for group, own, draws in zip(x, gates, [None] * len(x) if drawn is None else drawn, strict=True):
        choices = experts_of(own, top, capacity, draws)
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
    def mixture(self, x, name, pair):
        group = self.sizes["group"]
        w1, w2 = self.weights[f"{name}.w1"], self.weights[f"{name}.w2"]
        tokens = x.reshape(-1, group, x.shape[-1])
        gates = self.linear(tokens, f"{name}.gate").softmax(-1)
        drawn = uniform(pair, self.step, *tokens.shape[:2]) if "random_second" in self.sizes else None
        y, imbalance = mixture(tokens, gates, 2, 2 * group // self.sizes["experts"], True,
                               lambda e, token: torch.relu(token @ w1[e]) @ w2[e], 1, drawn)
        return y.reshape(x.shape), imbalance

    def loss(self, tokens, targets):
        x, imbalance = self.weights["wte"][tokens] + self.weights["wpe"], 0
        for pair in range(self.sizes["pairs"]):
            at = f"pairs.{pair}"
            x = x + self.attention(self.norm(x, f"{at}.norm"), f"{at}.attention", causal=True)
            x = x + self.mlp(self.norm(x, f"{at}.norm.1"), f"{at}.mlp")
            x = x + self.attention(self.norm(x, f"{at}.norm.2"), f"{at}.attention.1", causal=True)
            y, own = self.mixture(self.norm(x, f"{at}.norm.3"), f"{at}.mixture", pair)
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

    def decoded(self, tokens):
        """What the last norm of equal layers gives."""
        x = self.weights["embed"][tokens]
        for layer in range(self.sizes["layers"]):
            at = f"layers.{layer}"
            x = x + self.causal(self.rms_norm(x, f"{at}.norm"), f"{at}.attention")
            x = x + self.gated(self.rms_norm(x, f"{at}.norm.1"), f"{at}.mlp")
        return self.rms_norm(x, "norm")


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
        return cross_entropy(self.decoded(tokens) @ self.weights["embed"].T, targets)


class Lora(Llama):
    """Adapters of the projections to queries and values are trained, and nothing else."""

    adapters = {"q": "adapter", "v": "adapter.1"}

    def optimizers(self):
        return [torch.optim.AdamW(self.chosen(lambda name: ".lora_" in name), lr=2e-4,
                                  weight_decay=0.01)]

    def projected(self, x, name, part):
        y = super().projected(x, name, part)
        if part not in self.adapters:
            return y
        a, b = (self.weights[f"{name}.{self.adapters[part]}.lora_{which}"] for which in "ab")
        return y + torch.einsum("bsr,rhd->bhsd", x @ a, b) * (self.sizes["alpha"] / self.sizes["rank"])

    def loss(self, tokens, targets):
        return cross_entropy(self.decoded(tokens) @ self.weights["unembed"], targets)


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


class Lstm(Model):
    options = {"lr": 1.0}
    most_norm = 5

    def layer(self, x, name):
        """Step by step: PyTorch's own has two biases, which is one too many."""
        wx, wh, b = (self.weights[f"{name}.{part}"] for part in ("wx", "wh", "b"))
        h = c = torch.zeros(x.shape[0], x.shape[2])
        steps = []
        for x_t in x.unbind(1):
            i, f, g, o = (x_t @ wx + h @ wh + b).chunk(4, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            steps.append(h)
        return torch.stack(steps, 1)

    def loss(self, tokens, targets):
        x = self.weights["embed"][tokens]
        for layer in range(self.sizes["layers"]):
            x = self.layer(x, f"layers.{layer}.lstm")
        logits = x @ self.weights["w"] + self.weights["b"]
        return cross_entropy(logits, targets)
