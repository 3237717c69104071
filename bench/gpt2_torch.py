#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Trains GPT-2 in PyTorch, as models/gpt.graph says it, to be compared with a run of meshwright:

    gpt2_torch.py --layers L --width W --heads H --vocab V --batch B --tokens FILE --targets FILE
        [--precision bf16] [--device cpu] [--no-compile] [--resume CHECKPOINT] [--gelu none|tanh]

The batch of step s is the rows of the .npy files that a run with --feed npy:... takes. `--resume`
is one folder of a checkpoint (DIR/step-...), whose weights, optimizer states and number of steps it
goes on from. The model is compiled (torch.compile); attention is scaled_dot_product_attention;
AdamW is fused where there is a GPU; with bf16 weights stay f32 and the model runs under autocast,
as `precision bf16` does; with tf32 products of f32 may be in TF32. Reads numbers of steps from
standard input, a line each, and prints for each the losses and the seconds of these steps, as two
lists in JSON."""
import argparse
import ast
import json
import math
import pathlib
import sys
import time

import torch
from torch import nn
from torch.nn import functional

TYPES = {"<f4": torch.float32, "<i4": torch.int32}


def read_npy(path):
    """The tensor in a .npy file of f32 or i32."""
    data = bytearray(pathlib.Path(path).read_bytes())
    end = 10 + int.from_bytes(data[8:10], "little")
    header = ast.literal_eval(data[10:end].decode())
    return torch.frombuffer(data, dtype=TYPES[header["descr"]], offset=end).reshape(header["shape"])


class Layer(nn.Module):
    def __init__(self, width, heads, gelu):
        super().__init__()
        self.heads, self.gelu = heads, gelu
        self.norm0, self.norm1 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x):
        batch, seq, width = x.shape
        q, k, v = (part.view(batch, seq, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.qkv(x).split(width, dim=2))
        o = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(o.transpose(1, 2).reshape(batch, seq, width))

    def forward(self, x):
        x = x + self.attention(self.norm0(x))
        return x + self.down(functional.gelu(self.up(self.norm1(x)), approximate=self.gelu))


class Gpt(nn.Module):
    def __init__(self, options, seq):
        super().__init__()
        width = options.width
        self.wte, self.wpe = nn.Embedding(options.vocab, width), nn.Embedding(seq, width)
        self.layers = nn.ModuleList(Layer(width, options.heads, options.gelu)
                                    for _ in range(options.layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe.weight
        for layer in self.layers:
            x = layer(x)
        logits = functional.linear(self.norm(x), self.wte.weight)
        return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten().long())


def initialise(model, layers):
    """As in the .graph file; nn.LayerNorm is so already."""
    for name, weight in model.named_parameters():
        if name.endswith(".bias"):
            nn.init.zeros_(weight)
        elif weight.dim() == 2:
            last = name.endswith(("out.weight", "down.weight"))
            nn.init.normal_(weight, std=0.02 / math.sqrt(2 * layers) if last else 0.02)


def our_names(layers):
    """{name of PyTorch: name in a checkpoint, whether PyTorch has it transposed}."""
    names = {"wte.weight": ("wte", False), "wpe.weight": ("wpe", False),
             "norm.weight": ("norm.scale", False), "norm.bias": ("norm.shift", False)}
    parts = {"norm0.weight": "norm.scale", "norm0.bias": "norm.shift",
             "norm1.weight": "norm.1.scale", "norm1.bias": "norm.1.shift",
             "qkv.weight": "attention.wqkv", "qkv.bias": "attention.bqkv",
             "out.weight": "attention.wo", "out.bias": "attention.bo",
             "up.weight": "mlp.w1", "up.bias": "mlp.b1",
             "down.weight": "mlp.w2", "down.bias": "mlp.b2"}
    for layer in range(layers):
        for theirs, ours in parts.items():
            is_matrix = theirs.endswith(".weight") and not theirs.startswith("norm")
            names[f"layers.{layer}.{theirs}"] = (f"layers.{layer}.{ours}", is_matrix)
    return names


def resume(model, optimizer, folder, layers):
    """Takes weights and states of a checkpoint; the number of its step."""
    step = int(folder.name.rpartition("-")[2])

    def tensor(name, transposed, like):
        values = read_npy(folder / f"{name}.npy")
        values = values.reshape(like.t().shape).t() if transposed else values.reshape(like.shape)
        return values.contiguous().to(like.device)

    weights = dict(model.named_parameters())
    for theirs, (ours, transposed) in our_names(layers).items():
        weight = weights.pop(theirs)
        weight.data.copy_(tensor(ours, transposed, weight))
        optimizer.state[weight] = {"step": torch.tensor(float(step), device=weight.device),
                                   "exp_avg": tensor(f"{ours}.m", transposed, weight),
                                   "exp_avg_sq": tensor(f"{ours}.v", transposed, weight)}
    assert not weights
    return step


class Training:
    def __init__(self, options):
        torch.manual_seed(1)
        self.batch, self.device = options.batch, options.device
        self.tokens, self.targets = (read_npy(path).to(self.device)
                                     for path in (options.tokens, options.targets))
        model = Gpt(options, self.tokens.shape[1]).to(self.device)
        initialise(model, options.layers)
        is_cuda = self.device != "cpu"
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), eps=1e-8,
                                           weight_decay=0.1, fused=is_cuda)
        self.step = resume(model, self.optimizer, options.resume, options.layers) \
            if options.resume else 0
        torch.set_float32_matmul_precision("high" if options.precision == "tf32" else "highest")
        self.cast = torch.autocast("cuda" if is_cuda else "cpu", torch.bfloat16,
                                   enabled=options.precision == "bf16")
        self.model = model if options.no_compile else torch.compile(model)

    def rows(self, data):
        """The next batch, from the start again after the last row."""
        begin = self.step * self.batch % len(data)
        return torch.cat([data, data])[begin:begin + self.batch] if begin + self.batch > len(data) \
            else data[begin:begin + self.batch]

    def run_step(self):
        with self.cast:
            loss = self.model(self.rows(self.tokens), self.rows(self.targets))
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return loss.item()  # waits for the device

    def run(self, steps):
        losses, seconds = [], []
        for _ in range(steps):
            if self.device != "cpu":
                torch.cuda.synchronize()
            begun = time.perf_counter()
            losses.append(self.run_step())
            if self.device != "cpu":
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - begun)
        return losses, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("layers", "width", "heads", "vocab", "batch"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--tokens", required=True)
    parser.add_argument("--targets", required=True)
    parser.add_argument("--precision", choices=["f32", "tf32", "bf16"], default="f32")
    parser.add_argument("--gelu", choices=["none", "tanh"], default="tanh")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--resume", type=pathlib.Path)
    training = Training(parser.parse_args())
    for line in sys.stdin:
        print(json.dumps(training.run(int(line))), flush=True)


if __name__ == "__main__":
    main()
