# SPDX-License-Identifier: GPL-3.0-or-later
"""The ATen graph as the text of a flat model."""
from __future__ import annotations

import linecache
import operator as python_operators
import os
import re
from collections.abc import Callable
from typing import Any

import torch

from meshwright.errors import ExportError
from meshwright.exporting.builder import Builder, type_text
from meshwright.exporting.initial import initialisers
from meshwright.exporting.names import Names, module_path
from meshwright.exporting.operators import has_translator, name_of, translate
from meshwright.exporting.trace import ROOT, Trace
from meshwright.exporting.values import Unsupported, Value, straight
from meshwright.exporting.weights import Held, as_expression, held_tensors

# Operators without a value, which check what tracing has already found out.
CHECKS = frozenset(["_assert_tensor_metadata.default", "_assert_async.msg",
                    "_assert_scalar.default", "sym_constrain_range_for_size.default"])
PACKAGE = os.path.dirname(__file__)
SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)


class Translation:
    """Turns a trace into statements. `weights` are the tensors to be written to a file, by name;
    `trained` the names of parameters in the graph."""

    def __init__(self, trace: Trace, module: torch.nn.Module, outputs: bool):
        self.trace, self.outputs = trace, outputs
        self.names = Names()
        self.builder = Builder(self.names, ROOT)
        self.values: dict[str, Any] = {}
        self.problems: list[str] = []
        self.loss = ""  # its name
        self.weights: dict[str, torch.Tensor] = {}
        self.trained: list[str] = []
        self.declarations: list[str] = []
        self.held = held_tensors(trace, module)
        self.names.used.update(path for path, _ in module.named_modules())
        self.graph = trace.program.graph_module

    def run(self) -> list[str]:
        """The lines of the model's body, up to its train statements."""
        needed = self.needed()
        self.declare(needed)
        for node in self.graph.graph.nodes:
            if node.op == "call_function" and node in needed:
                self.add(node, self.values)
                if node.name in self.trace.buffers:
                    self.assign(node.name)
        if self.problems:
            raise ExportError("what these operators do cannot be expressed:",
                              list(dict.fromkeys(self.problems)))
        if self.trace.loss:
            self.end_in_loss()
        endings = self.endings()
        return self.declarations + self.builder.lines + endings

    # ---- What is needed ----

    def results(self) -> list[str]:
        """The nodes whose values are seen: the loss, outputs, and changes of buffers."""
        found = list(self.trace.buffers)
        found += [self.trace.loss] if self.trace.loss else []
        return found + (list(self.trace.outputs.values()) if self.outputs else [])

    def needed(self) -> set[Any]:
        """All nodes that results depend on."""
        return self.reached(self.results(), lambda node: True)

    def reached(self, names: list[str], passes: Callable[[Any], bool]) -> set[Any]:
        """The nodes of the names, and what these depend on through nodes that let it pass."""
        by_name = {node.name: node for node in self.graph.graph.nodes}
        stack = [by_name[name] for name in names if name in by_name]
        found: set[Any] = set()
        while stack:
            node = stack.pop()
            if node not in found and passes(node):
                found.add(node)
                stack += node.all_input_nodes
        return found

    def with_gradients(self) -> list[str]:
        """The parameters that have a gradient. PyTorch's optimizers leave the others as they
        are, without decay too."""
        nodes = self.reached([self.trace.loss or ""], has_gradient)
        names = {self.held[node.name].name for node in nodes if node.name in self.held}
        return [name for name in self.trained if name in names]

    # ---- Inputs and weights ----

    def declare(self, needed: set[Any]) -> None:
        """Declares what placeholders stand for."""
        used = [node for node in self.graph.graph.nodes
                if node.op == "placeholder" and node in needed]
        for node in used:
            if node.name in self.trace.inputs:
                self.declare_input(node)
        held = {node.name: self.held[node.name] for node in used if node.name in self.held}
        kept = {entry.name: entry.tensor for entry in held.values()}
        starts = initialisers(kept)
        values: dict[str, Value] = {}
        for placeholder, entry in held.items():
            if entry.name not in values:
                values[entry.name] = self.declare_held(entry, starts[entry.name])
            self.values[placeholder] = values[entry.name]

    def declare_input(self, node: Any) -> None:
        """Declares an input. Those without the dimension of the batch are given whole."""
        name, example = self.trace.inputs[node.name]
        name = self.names.reserve(name)
        first = next(iter(self.trace.inputs.values()))[1]
        whole = example.dim() == 0 or example.shape[:1] != first.shape[:1]
        words = " with batch = false" if whole else ""
        try:
            kind = type_text(example.dtype, example.shape)
        except Unsupported as trouble:
            self.problems.append(f"input {name}: {trouble}")
            kind = ""
        self.declarations.append(f"  input {name}: {kind}{words}")
        self.builder.examples[name] = example
        self.values[node.name] = Value(name, tuple(example.shape), example.dtype,
                                       straight(example.dim()), plain=name, leaf=name)

    def declare_held(self, entry: Held, start: str) -> Value:
        """Declares a weight or state; what can be computed is, and is in no file."""
        tensor = entry.tensor
        name = self.names.reserve(entry.name)
        value = Value(name, tuple(tensor.shape), tensor.dtype, straight(tensor.dim()), plain=name)
        try:
            kind = type_text(tensor.dtype, tensor.shape)
            text = None if entry.is_parameter or entry.changes else as_expression(tensor)
        except Unsupported as trouble:
            self.problems.append(f"{entry.name}: {trouble}")
            return value
        if text:
            self.declarations.append(f"  {name} = {text}")
            return value
        what = "weight" if entry.is_parameter else "state"
        self.declarations.append(f"  {what} {name}: {kind} = {start}")
        self.weights[name] = tensor
        self.trained += [name] if entry.is_parameter else []
        return value

    # ---- Operators ----

    def add(self, node: Any, values: dict[str, Any]) -> None:
        """Writes the statements of a node, or notes why there are none."""
        self.builder.node = node
        if is_symbolic(node):
            if not any(is_symbolic(other) for other in node.all_input_nodes):
                self.problems.append(f"{place_of(node)}: {what_of(node)} has a shape that depends "
                                     "on data")
            return
        try:
            values[node.name] = self.translated(node, values)
        except Unsupported as trouble:
            self.problems.append(f"{place_of(node)}: {what_of(node)} {trouble}")
            values[node.name] = stand_in(node.meta.get("val"))

    def translated(self, node: Any, values: dict[str, Any]) -> Any:
        """The value of a node."""
        def value_of(other: Any) -> Any:
            return values.get(other.name, stand_in(other.meta.get("val")))

        args = torch.fx.node.map_arg(node.args, value_of)
        kwargs = torch.fx.node.map_arg(node.kwargs, value_of)
        target = node.target
        if target is python_operators.getitem:
            return args[0][args[1]]
        if isinstance(target, torch._ops.HigherOrderOperator):
            raise Unsupported("is not in the language")
        if not isinstance(target, torch._ops.OpOverload):
            raise Unsupported("is a number that depends on data or on a size")
        if name_of(target) in CHECKS:
            return None
        if not has_translator(target):
            raise Unsupported("is not in the language")
        return translate(self.builder, target, args, kwargs)

    # ---- The end ----

    def assign(self, result: str) -> None:
        """Says what a buffer becomes, where that has been computed."""
        placeholder = self.buffer_placeholder(self.trace.buffers[result])
        name = self.values[placeholder].stored
        self.builder.say(f"assign {name} = {self.builder.plain(self.values[result])}")

    def endings(self) -> list[str]:
        """The outputs."""
        if not self.outputs:
            return []
        self.builder.node = self.graph.graph.output_node()
        return [self.output(name, result) for name, result in self.trace.outputs.items()
                if isinstance(self.values.get(result), Value)]

    def buffer_placeholder(self, buffer: str) -> str:
        """The placeholder of a buffer."""
        signature = self.trace.program.graph_signature.inputs_to_buffers
        return next(place for place, name in signature.items() if name == buffer)

    def output(self, name: str, result: str) -> str:
        """An output under its key."""
        return f"  output {self.names.reserve(name)} = {self.builder.plain(self.values[result])}"

    def end_in_loss(self) -> None:
        """Makes the loss one number in f32."""
        loss = self.values[self.trace.loss or ""]
        if loss.elements != 1:
            raise ExportError(f"the loss is not one number: its shape is {list(loss.shape)}")
        self.builder.node = self.graph.graph.output_node()
        text = self.builder.operand(self.builder.reshaped(loss, (), hint="loss"), torch.float32)
        self.loss = text if "(" not in text else self.builder.define(
            text, shape=(), dtype=torch.float32, hint="loss").stored


def has_gradient(node: Any) -> bool:
    """Whether a gradient passes a node: it is of floats, and not detached."""
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor) and not value.dtype.is_floating_point:
        return False
    return "aten.detach" not in str(node.target)


def is_symbolic(node: Any) -> bool:
    """Whether a node is a number, or has a size, that depends on data."""
    value = node.meta.get("val")
    parts = value if isinstance(value, (list, tuple)) else [value]
    return any(isinstance(part, SYMBOLS) or isinstance(part, torch.Tensor)
               and any(isinstance(size, SYMBOLS) for size in part.shape) for part in parts)


def stand_in(example: Any) -> Any:
    """A value in the place of one that cannot be expressed, so that the others are looked at."""
    if isinstance(example, torch.Tensor):
        shape = tuple(example.shape)
        return Value("_", shape, example.dtype, straight(len(shape)), plain="_")
    if isinstance(example, (list, tuple)):
        return [stand_in(part) for part in example]
    return example


def what_of(node: Any) -> str:
    """An operator as users know it."""
    name = node.target.name() if hasattr(node.target, "name") else str(node.target)
    return name.replace("aten::", "aten.")


def place_of(node: Any) -> str:
    """Where the user's source calls an operator, and the path of the module."""
    frames = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
    own = [frame for frame in frames if f"{os.sep}torch{os.sep}" not in frame[0]
           and not frame[0].startswith(("<", PACKAGE))]
    path = module_path(node.meta, ROOT)
    where = f"module {path}" if path else "the module"
    if not own:
        return where
    file, line = own[-1]
    source = linecache.getline(file, int(line)).strip()
    return f"{file}:{line}: {where}: {source}" if source else f"{file}:{line}: {where}"
