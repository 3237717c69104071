# SPDX-License-Identifier: GPL-3.0-or-later
"""Optimizers of PyTorch as train statements."""
from __future__ import annotations

import collections
import dataclasses
import fnmatch
import re
from typing import Any

import torch

from meshwright.errors import ExportError
from meshwright.tools import literal

# By class: the optimizer of the language, options under the names of the language with those of
# PyTorch, and what must have these values because the language has nothing for it.
KNOWN: dict[type, tuple[str, dict[str, str], dict[str, Any]]] = {
    torch.optim.SGD: ("sgd", {"momentum": "momentum", "nesterov": "nesterov"},
                      {"dampening": 0, "maximize": False}),
    torch.optim.Adam: ("adam", {"betas": "betas", "eps": "eps"},
                       {"amsgrad": False, "maximize": False, "decoupled_weight_decay": False}),
    torch.optim.AdamW: ("adamw", {"betas": "betas", "eps": "eps"},
                        {"amsgrad": False, "maximize": False}),
    torch.optim.RMSprop: ("rmsprop", {"momentum": "momentum", "alpha": "alpha", "eps": "eps"},
                          {"centered": False, "maximize": False}),
    torch.optim.Adagrad: ("adagrad", {"eps": "eps"},
                          {"lr_decay": 0, "initial_accumulator_value": 0, "maximize": False}),
}


def plain(value: Any) -> Any:
    """An option as numbers, which PyTorch may keep in tensors."""
    if isinstance(value, torch.Tensor):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    return value


@dataclasses.dataclass(frozen=True)
class Weights:
    """The weights of a model: names of parameters by identity, those in the graph, and those of
    them that have a gradient."""
    names: dict[int, str]
    used: list[str]
    with_gradients: list[str]


def train_statements(optimizer: torch.optim.Optimizer, weights: Weights, loss: str,
                     extra: dict[str, Any]) -> list[str]:
    """The train statements of an optimizer; `extra` are options after it, such as clip_norm."""
    kind = next((kind for kind in KNOWN if type(optimizer) is kind), None)
    if kind is None:
        known = ", ".join(sorted(kind.__name__ for kind in KNOWN))
        raise ExportError(f"the language has no optimizer {type(optimizer).__name__}: there are "
                          f"{known}")
    if has_stepped(optimizer):
        raise ExportError("the optimizer has taken steps: its states would begin anew; give a new "
                          "one, or optimizer.state.clear()")
    name, options, fixed = KNOWN[kind]
    groups = [Group(group, options, weights) for group in optimizer.param_groups]
    groups = [group for group in groups if group.weights]
    problems = [f"{option} = {group.options[option]}" for group in groups
                for option, value in fixed.items() if group.options.get(option, value) != value]
    if problems:
        raise ExportError(f"{name} of the language has no {', '.join(sorted(set(problems)))}")
    if not groups:
        raise ExportError("the optimizer has none of the weights that the loss depends on")
    alike = collections.defaultdict(list)
    for group in groups:
        alike[group.key].append(group)
    return [statement(name, part, (loss, weights.used, len(alike) > 1), extra)
            for part in alike.values()]


def has_stepped(optimizer: torch.optim.Optimizer) -> bool:
    """Whether its states are others than those before the first step."""
    return any(entry.get("momentum_buffer") is not None or plain(entry.get("step", 0)) > 0
               for entry in optimizer.state.values())


class Group:
    """A parameter group: its options, and the names of those of its weights that it trains."""

    def __init__(self, group: dict[str, Any], options: dict[str, str], weights: Weights):
        self.options = {key: plain(value) for key, value in group.items() if key != "params"}
        unknown = [p for p in group["params"] if id(p) not in weights.names]
        if unknown:
            raise ExportError(f"the optimizer has {len(unknown)} parameters that are not the "
                              "module's")
        self.weights = [weights.names[id(p)] for p in group["params"] if p.requires_grad
                        and weights.names[id(p)] in weights.with_gradients]
        self.words = {ours: self.options[theirs] for ours, theirs in options.items()}
        self.key = repr(self.words)
        self.rate, self.decay = self.options["lr"], self.options["weight_decay"]


def statement(name: str, groups: list[Group], where: Any, extra: dict[str, Any]) -> str:
    """One train statement for groups that differ in rates and decays alone."""
    loss, weights, is_part = where
    main = max(groups, key=lambda group: len(group.weights))
    words = {"lr": main.rate, **main.words, "weight_decay": main.decay}
    inner = ", ".join(f"{key} = {literal(value)}" for key, value in words.items())
    trained = [weight for group in groups for weight in group.weights]
    rest: dict[str, Any] = {}
    if is_part or len(trained) < len(weights):
        rest["only"] = patterns(trained, weights)
    for option, value_of, usual in (("rates", lambda g: g.rate, main.rate),
                                    ("decays", lambda g: g.decay, main.decay)):
        others = [group for group in groups if value_of(group) != usual]
        pairs = [[pattern, value_of(group)] for group in others
                 for pattern in patterns(group.weights, weights)]
        if pairs:
            rest[option] = pairs
    rest.update(extra)
    tail = "".join(f",\n    {key} = {value if key == 'schedule' else literal(value)}"
                   for key, value in rest.items())
    return f"train {loss} with {name}({inner}){tail}"


def patterns(chosen: list[str], weights: list[str]) -> list[str]:
    """Patterns that match the chosen weights and no others: numbers become `*`, and what is before
    the last component too, where that is true."""
    found: list[str] = []
    wanted = set(chosen)
    for name in chosen:
        if any(matches(pattern, name) for pattern in found):
            continue
        wide = ["*." + name.rsplit(".", 1)[-1], re.sub(r"(?<![^.])\d+(?![^.])", "*", name), name]
        found.append(next(pattern for pattern in wide if matches(pattern, name)
                          and all(weight in wanted for weight in weights
                                  if matches(pattern, weight))))
    return found


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern of the language matches: `*` is any text, dots too."""
    return fnmatch.fnmatchcase(name, pattern)
