# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules as people write them, with their data, losses and optimizers; each is trained for some
steps by PyTorch and by what is exported of it."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

STEPS, BATCH = 10, 8
ROWS = 2 * BATCH  # of data, over and over


# ---- A decoder ----

class Attention(nn.Module):
    """Causal attention of several heads."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.c_attn(x).split(width, dim=2)
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(batch, length, width))


class Layer(nn.Module):
    """Attention and an MLP, each behind a norm."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                 nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Module):
    """A decoder in the manner of GPT-2, with an output that is tied to the embedding."""

    def __init__(self, vocab: int = 32, length: int = 12, width: int = 16, layers: int = 2):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(length, width)
        self.h = nn.ModuleList([Layer(width, 4) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocab, bias=False)
        self.lm_head.weight = self.wte.weight
        for weight in self.parameters():
            if weight.dim() > 1:
                nn.init.normal_(weight, std=0.1)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for layer in self.h:
            x = layer(x)
        return self.lm_head(self.ln_f(x))


# ---- A network of images ----

class BasicBlock(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, channels: int, width: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None if stride == 1 and channels == width else nn.Sequential(
            nn.Conv2d(channels, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x if self.downsample is None else self.downsample(x)
        return self.relu(y)


class ResNet(nn.Module):
    """A residual network with norms of batches."""

    def __init__(self, classes: int = 10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, 2, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1 = nn.Sequential(BasicBlock(8, 8, 1), BasicBlock(8, 8, 1))
        self.layer2 = nn.Sequential(BasicBlock(8, 16, 2), BasicBlock(16, 16, 1))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(F.relu(self.bn1(self.conv1(images))))
        x = self.layer2(self.layer1(x))
        return self.fc(torch.flatten(self.avgpool(x), 1))


# ---- Recurrent networks ----

class Recurrent(nn.Module):
    """A language model of recurrent layers."""

    def __init__(self, kind: type[nn.Module], vocab: int = 12, width: int = 8, **how: Any):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.rnn = kind(width, 2 * width, num_layers=2, batch_first=True, **how)
        self.out = nn.Linear(2 * width * (2 if how.get("bidirectional") else 1), vocab)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        outputs, _ = self.rnn(self.embed(tokens))
        return self.out(outputs)


# ---- Mixtures of experts ----

class LoopOfExperts(nn.Module):
    """A mixture of experts that all see every token, weighted by a gate that keeps the best."""

    def __init__(self, vocab: int = 20, width: int = 16, experts: int = 4, top: int = 2):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList([
            nn.Sequential(nn.Linear(width, 32), nn.SiLU(), nn.Linear(32, width))
            for _ in range(experts)])
        self.top = top
        self.out = nn.Linear(width, vocab)

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.embed(tokens)
        shares = F.softmax(self.gate(x), dim=-1)
        weights, chosen = torch.topk(shares, self.top, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        y = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            y = y + (weights * (chosen == index)).sum(dim=-1, keepdim=True) * expert(x)
        counts = F.one_hot(chosen, len(self.experts)).float().sum(2).mean((0, 1))
        balance = len(self.experts) * (counts * shares.mean((0, 1))).sum()
        return self.out(x + y), balance


class DispatchedExperts(nn.Module):
    """A mixture of experts of bounded capacity: einsum brings tokens to experts and back."""

    def __init__(self, vocab: int = 20, width: int = 16, experts: int = 4, capacity: int = 24):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.gate = nn.Linear(width, experts, bias=False)
        self.w1 = nn.Parameter(0.2 * torch.randn(experts, width, 32))
        self.w2 = nn.Parameter(0.2 * torch.randn(experts, 32, width))
        self.capacity = capacity
        self.out = nn.Linear(width, vocab)

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.embed(tokens).flatten(0, 1)
        shares = F.softmax(self.gate(x), dim=-1)
        weights, chosen = torch.topk(shares, 2, dim=-1)
        hot = F.one_hot(chosen, shares.shape[-1])
        place = (torch.cumsum(hot.flatten(0, 1), 0) - 1).view_as(hot) * hot
        kept = (place < self.capacity) & (hot > 0)
        dispatch = F.one_hot(place.clamp(max=self.capacity - 1), self.capacity).float()
        dispatch = dispatch * kept.unsqueeze(-1)
        combine = (dispatch * weights[..., None, None]).sum(1)
        inputs = torch.einsum("nec,nw->ecw", dispatch.sum(1), x)
        outputs = torch.bmm(F.silu(torch.bmm(inputs, self.w1)), self.w2)
        y = torch.einsum("nec,ecw->nw", combine, outputs)
        return self.out(x + y).view(*tokens.shape, -1), (shares ** 2).mean()


# ---- Where gradients end ----

class Stops(nn.Module):
    """An embedding with padding, a part without gradients, and one that is detached."""

    def __init__(self, vocab: int = 12, width: int = 16):
        super().__init__()
        self.embed = nn.Embedding(vocab, width, padding_idx=0)
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(()))
        self.query.bias.requires_grad_(False)
        self.frozen = nn.Parameter(torch.ones(width))
        self.out = nn.Linear(width, vocab)
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        x = self.embed(tokens)
        with torch.no_grad():
            keys = torch.tanh(self.key(x))
        scores = self.query(x) @ keys.transpose(1, 2) / self.scale
        causal = torch.ones(scores.shape[-2:]).tril().bool()
        shares = scores.masked_fill(~causal, float("-inf")).softmax(dim=-1)
        y = x.detach() * self.frozen + shares @ x
        return self.out(y) / (1 + 0.01 * self.steps)


def without_padding(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The cross entropy of positions whose target is not 0."""
    targets = targets.masked_fill(targets == 0, -100)
    return F.cross_entropy(logits.transpose(1, 2), targets)


def all_but_frozen(module: nn.Module) -> torch.optim.Optimizer:
    """SGD with decay of the parameters but one."""
    return torch.optim.SGD([weight for weight in module.parameters()
                            if weight is not module.frozen], lr=0.5, weight_decay=0.01)


# ---- What is trained ----

def of_sequences(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The cross entropy of all positions."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def with_balance(outputs: Any, targets: torch.Tensor) -> torch.Tensor:
    """The cross entropy, and a little of the loss that spreads tokens evenly."""
    return of_sequences(outputs[0], targets) + 0.01 * outputs[1]


def decaying_matrices(module: nn.Module) -> torch.optim.Optimizer:
    """AdamW with decay for matrices alone."""
    weights = list(module.parameters())
    return torch.optim.AdamW(
        [{"params": [weight for weight in weights if weight.dim() > 1], "weight_decay": 0.1},
         {"params": [weight for weight in weights if weight.dim() <= 1], "weight_decay": 0.0}],
        lr=3e-3, betas=(0.9, 0.95))


def two_rates(module: nn.Module) -> torch.optim.Optimizer:
    """SGD in which the last layer has a rate and a momentum of its own."""
    last = list(module[-1].parameters())
    others = [weight for weight in module.parameters() if all(weight is not one for one in last)]
    return torch.optim.SGD([{"params": others}, {"params": last, "lr": 0.02, "momentum": 0.5}],
                           lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)


@dataclasses.dataclass(frozen=True)
class Case:
    """A module, what it is fed, and how it trains. `inputs` and `targets` are {name: (shape of a
    row, number of classes or None for floats)}."""
    module: Callable[[], nn.Module]
    inputs: dict[str, tuple[tuple[int, ...], int | None]]
    targets: dict[str, tuple[tuple[int, ...], int | None]]
    loss: Callable[..., torch.Tensor]
    optimizer: Callable[[nn.Module], torch.optim.Optimizer]


def tokens(length: int, vocab: int) -> dict[str, tuple[tuple[int, ...], int | None]]:
    """Inputs of text."""
    return {"tokens": ((length,), vocab)}


def labels(length: int, vocab: int) -> dict[str, tuple[tuple[int, ...], int | None]]:
    """Targets of text."""
    return {"targets": ((length,), vocab)}


def adam(module: nn.Module) -> torch.optim.Optimizer:
    """Adam with a rate that shows within ten steps."""
    return torch.optim.Adam(module.parameters(), lr=1e-2)


CASES = {
    "gpt": Case(Gpt, tokens(12, 32), labels(12, 32), of_sequences, decaying_matrices),
    "resnet": Case(ResNet, {"images": ((3, 16, 16), None)}, {"targets": ((), 10)},
                   F.cross_entropy, lambda module: torch.optim.SGD(
                       module.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)),
    "lstm": Case(lambda: Recurrent(nn.LSTM), tokens(6, 12), labels(6, 12), of_sequences, adam),
    "gru": Case(lambda: Recurrent(nn.GRU, bidirectional=True), tokens(6, 12), labels(6, 12),
                of_sequences, lambda module: torch.optim.RMSprop(module.parameters(), lr=1e-3)),
    "moe": Case(LoopOfExperts, tokens(6, 20), labels(6, 20), with_balance, decaying_matrices),
    "moe_dispatch": Case(DispatchedExperts, tokens(6, 20), labels(6, 20), with_balance,
                         lambda module: torch.optim.Adagrad(module.parameters(), lr=1e-2)),
    "stops": Case(Stops, tokens(6, 12), labels(6, 12), without_padding, all_but_frozen),
    "mlp": Case(lambda: nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(),
                                      nn.Linear(16, 4)),
                {"input": ((8,), None)}, {"targets": ((), 4)},
                nn.CrossEntropyLoss(label_smoothing=0.1), two_rates),
}


def data_of(case: Case) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Rows of inputs and of targets."""
    generator = torch.Generator().manual_seed(7)

    def rows(shape: tuple[int, ...], classes: int | None) -> torch.Tensor:
        shape = (ROWS, *shape)
        return torch.randn(shape, generator=generator) if classes is None else \
            torch.randint(0, classes, shape, generator=generator)

    return ({name: rows(*kind) for name, kind in case.inputs.items()},
            {name: rows(*kind) for name, kind in case.targets.items()})


def batch_of(data: dict[str, torch.Tensor], step: int) -> list[torch.Tensor]:
    """The rows of a step, counted from 0."""
    begin = BATCH * step % ROWS
    return [rows[begin:begin + BATCH] for rows in data.values()]


def losses_by_torch(case: Case, module: nn.Module, optimizer: torch.optim.Optimizer,
                    data: Any) -> list[float]:
    """The losses of PyTorch's own run, which trains the module."""
    found = []
    for step in range(STEPS):
        inputs, targets = (batch_of(part, step) for part in data)
        optimizer.zero_grad()
        loss = case.loss(module(*inputs), *targets)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found
