# SPDX-License-Identifier: GPL-3.0-or-later
"""Tiny models by PyTorch and transformers, by both exporters, for `make`: {name: (build, sizes, bounds)}."""
import io
import warnings

import numpy as np
import onnx
import torch
import transformers

warnings.filterwarnings("ignore")
SCOPES = "pkg.torch.onnx.name_scopes"


class Outputs(torch.nn.Module):
    """A model of transformers with named inputs, and its first result."""

    def __init__(self, model, *names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs):
        return self.model(**dict(zip(self.names, inputs)), use_cache=False)[0]


class Images(torch.nn.Module):
    """Convolutions with norms, gates and a shortcut."""

    def __init__(self):
        super().__init__()
        nn = torch.nn
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(4),
                                  nn.Hardswish())
        self.deep = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.BatchNorm2d(4), nn.ReLU())
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(4, 4, 1), nn.Hardsigmoid())
        self.head = nn.Linear(4, 5)

    def forward(self, x):
        x = self.stem(x)
        y = self.deep(x)
        x = x + y * self.gate(y)
        return self.head(torch.nn.functional.max_pool2d(x, 2).mean([2, 3]))


def randomized(model):
    """All parameters and statistics of norms random, so that none hides another: scales near 1, others near 0."""
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter.data, 1.0 if parameter.dim() == 1 and parameter.mean() > 0.5 else 0.0, 0.2)
    for name, buffer in model.named_buffers():
        if "running" in name:
            buffer.uniform_(0.5, 1.5)
    return model.eval()


def plain(model):
    """Without what exporters note of the source, but for the paths of modules."""
    for node in model.graph.node:
        kept = [entry for entry in node.metadata_props if entry.key == SCOPES]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
        node.doc_string = ""
    del model.graph.value_info[:]
    del model.graph.metadata_props[:]
    for value in [*model.graph.input, *model.graph.output, *model.graph.initializer]:
        del value.metadata_props[:]
    return model


def export(model, inputs, names, dynamo, *open_sizes):
    """With an open batch; `open_sizes` names those that follow it."""
    data = io.BytesIO()
    torch.manual_seed(0)
    model = randomized(model)
    common = dict(input_names=names, output_names=["y"])
    if dynamo:
        dims = dict(enumerate(torch.export.Dim(size) for size in ("batch", *open_sizes)))
        program = torch.onnx.export(model, tuple(torch.cat([x, x]) for x in inputs), dynamo=True,
                                    dynamic_shapes=(dims,) if not isinstance(model, Outputs)
                                    else (tuple(dims for _ in inputs),), **common)
        return plain(program.model_proto)
    torch.onnx.export(model, inputs, data, dynamo=False, opset_version=17,
                      dynamic_axes={name: {0: "batch"} for name in names}, **common)
    return plain(onnx.load_from_string(data.getvalue()))


def ids(count, vocab):
    return torch.arange(count)[None] % vocab


def layers(dynamo):
    """Files of the older exporter are long."""
    return 2 if dynamo else 1


def gpt2(dynamo):
    config = transformers.GPT2Config(n_layer=layers(dynamo), n_embd=8, n_head=2, vocab_size=11, n_positions=8,
                                     bos_token_id=1, eos_token_id=2)
    return export(Outputs(transformers.GPT2LMHeadModel(config), "input_ids", "attention_mask"),
                  (ids(6, 11), torch.ones(1, 6, dtype=torch.long)), ["input_ids", "attention_mask"], dynamo)


def bert(dynamo):
    config = transformers.BertConfig(num_hidden_layers=layers(dynamo), hidden_size=8, num_attention_heads=2, vocab_size=11,
                                     intermediate_size=12, max_position_embeddings=8)
    return export(Outputs(transformers.BertForMaskedLM(config), "input_ids", "attention_mask"),
                  (ids(6, 11), torch.ones(1, 6, dtype=torch.long)), ["input_ids", "attention_mask"], dynamo)


def llama(dynamo, *open_sizes):
    config = transformers.LlamaConfig(num_hidden_layers=layers(dynamo), hidden_size=16, num_attention_heads=4, vocab_size=11,
                                      num_key_value_heads=2, intermediate_size=12, max_position_embeddings=8)
    return export(Outputs(transformers.LlamaForCausalLM(config), "input_ids", "attention_mask"),
                  (ids(6, 11), torch.ones(1, 6, dtype=torch.long)), ["input_ids", "attention_mask"], dynamo,
                  *open_sizes)


def images(dynamo):
    return export(Images(), (torch.randn(1, 3, 9, 10),), ["image"], dynamo)


PADDED = {"input_ids": 11, "attention_mask": [1, 1, 1, 1, 1, 0]}
TORCH_CASES = {f"{build.__name__}_{kind}": (lambda build=build, dynamo=dynamo: build(dynamo), {"batch": 2}, bounds)
               for build, bounds in ((gpt2, PADDED), (bert, PADDED), (llama, PADDED), (images, {}))
               for kind, dynamo in (("script", False), ("dynamo", True))}
TORCH_CASES["llama_open"] = (lambda: llama(True, "length"), {"batch": 2, "length": 6}, PADDED)
