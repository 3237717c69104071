# SPDX-License-Identifier: GPL-3.0-or-later
"""Recurrent layers, each a scan over the steps of the sequence."""
from __future__ import annotations

import dataclasses
from typing import Any

from meshwright.exporting.builder import Builder
from meshwright.exporting.operators import operator
from meshwright.exporting.values import Unsupported, Value, straight


@dataclasses.dataclass
class Layer:
    """One direction of one layer: what it computes of a step, and where it lies."""
    kind: str
    axis: int  # of the steps
    reverse: bool
    weights: list[Value]  # of inputs and of states, then the biases, if there are any

    @property
    def state_bias(self) -> Value | None:
        """The bias beside the product of the state."""
        return self.weights[3] if len(self.weights) > 3 else None


def linear_text(builder: Builder, x: str, weight: Value, bias: Value | None) -> str:
    """x times the transposed weight, plus the bias."""
    text = f'einsum("bx,yx->by", {x}, {builder.plain(weight)})'
    return f"{text} + {builder.plain(bias)}" if bias is not None else text


def lstm_step(builder: Builder, layer: Layer, x: str, states: list[str]) -> None:
    """The gates i, f, g and o, in PyTorch's order, from the products of x and of h."""
    h, c = states
    gates = [builder.local_name(hint) for hint in ("i", "f", "g", "o")]
    builder.say(f"  {', '.join(gates)} = split("
                f"{x} + {linear_text(builder, h, layer.weights[1], layer.state_bias)}, 4)")
    i, f, g, o = gates
    builder.say(f"  {c} = sigmoid({f}) * {c} + sigmoid({i}) * tanh({g})")
    builder.say(f"  {h} = sigmoid({o}) * tanh({c})")


def gru_step(builder: Builder, layer: Layer, x: str, states: list[str]) -> None:
    """The gates r, z and n, in PyTorch's order."""
    h, = states
    of_x = [builder.local_name(f"{hint}_x") for hint in "rzn"]
    of_h = [builder.local_name(f"{hint}_h") for hint in "rzn"]
    r, z, n = (builder.local_name(hint) for hint in "rzn")
    builder.say(f"  {', '.join(of_x)} = split({x}, 3)")
    builder.say(f"  {', '.join(of_h)} = split("
                f"{linear_text(builder, h, layer.weights[1], layer.state_bias)}, 3)")
    builder.say(f"  {r} = sigmoid({of_x[0]} + {of_h[0]})")
    builder.say(f"  {z} = sigmoid({of_x[1]} + {of_h[1]})")
    builder.say(f"  {n} = tanh({of_x[2]} + {r} * {of_h[2]})")
    builder.say(f"  {h} = (1.0 - {z}) * {n} + {z} * {h}")


def simple_step(builder: Builder, layer: Layer, x: str, states: list[str]) -> None:
    """Elman's recurrence."""
    h, = states
    builder.say(f"  {h} = {layer.kind}({x} + "
                f"{linear_text(builder, h, layer.weights[1], layer.state_bias)})")


STEPS = {"lstm": lstm_step, "gru": gru_step, "tanh": simple_step, "relu": simple_step}


def run_layer(builder: Builder, layer: Layer, x: Value,
              begin: list[Value]) -> tuple[Value, list[Value]]:
    """The outputs of all steps, and the last states. The products of the inputs, which no step
    waits for, are taken of all steps at once."""
    for weight in layer.weights:
        builder.plain(weight)
    bias = layer.weights[2] if len(layer.weights) > 2 else None
    products = f'einsum("abx,yx->aby", {builder.plain(x)}, {builder.plain(layer.weights[0])})'
    if bias is not None:
        products += f" + {builder.plain(bias)}"
    width, hidden = layer.weights[0].shape[0], begin[0].shape[-1]
    all_x = builder.define(products, shape=(*x.shape[:2], width), dtype=x.dtype, hint="inputs")
    states = [builder.define(f"identity({builder.plain(value)})", shape=value.shape,
                             dtype=value.dtype, hint=hint)
              for value, hint in zip(begin, ("h", "c"))]
    step_x, outputs = builder.local_name("x_t"), builder.local_name("outputs")
    words = ", reverse = true" if layer.reverse else ""
    builder.say(f"scan {all_x.stored} as {step_x} with axis = {layer.axis}{words} {{")
    STEPS[layer.kind](builder, layer, step_x, [state.stored for state in states])
    builder.say(f"  collect {outputs} = {states[0].stored}")
    builder.say("}")
    return Value(outputs, (*x.shape[:2], hidden), x.dtype, straight(3)), states


@dataclasses.dataclass
class Stack:
    """The layers of a module, as ATen's operators describe them."""
    kind: str
    weights: list[Value]
    has_biases: bool
    layers: int
    dropout: float
    bidirectional: bool
    batch_first: bool

    def layer(self, index: int) -> Layer:
        """The layer and direction of a number."""
        count = 4 if self.has_biases else 2
        return Layer(self.kind, 1 if self.batch_first else 0,
                     self.bidirectional and index % 2 == 1,
                     self.weights[count * index:count * (index + 1)])


def run_stack(builder: Builder, stack: Stack, x: Value, begin: list[Value]) -> tuple[Value, ...]:
    """All layers: the outputs of the last, and the last states of each."""
    directions = 1 + stack.bidirectional
    expected = stack.layers * directions * (4 if stack.has_biases else 2)
    if len(stack.weights) != expected:
        raise Unsupported("with projections (proj_size)")
    if x.rank != 3:
        raise Unsupported("of one sequence without a batch")
    last: list[list[Value]] = []
    for level in range(stack.layers):
        outputs = []
        for direction in range(directions):
            index = level * directions + direction
            first = [builder.define(f"{builder.plain(state)}[{index}]", shape=state.shape[1:],
                                    dtype=state.dtype, hint="begin") for state in begin]
            found, states = run_layer(builder, stack.layer(index), x, first)
            outputs.append(found)
            last.append(states)
        x = outputs[0] if len(outputs) == 1 else joined(builder, outputs)
        if stack.dropout and level < stack.layers - 1:
            x = builder.define(f"dropout({builder.plain(x)}, {stack.dropout!r})", shape=x.shape,
                               dtype=x.dtype, hint="dropout")
    return (x, *(stacked(builder, [states[i] for states in last]) for i in range(len(begin))))


def joined(builder: Builder, outputs: list[Value]) -> Value:
    """The outputs of both directions, side by side."""
    shape = (*outputs[0].shape[:2], sum(value.shape[2] for value in outputs))
    texts = ", ".join(value.stored for value in outputs)
    return builder.define(f"concat({texts}, axis = 2)", shape=shape, dtype=outputs[0].dtype,
                          hint="both")


def stacked(builder: Builder, states: list[Value]) -> Value:
    """The states of all layers along a new first dimension."""
    texts = ", ".join(state.stored for state in states)
    return builder.define(f"stack({texts}, axis = 0)", shape=(len(states), *states[0].shape),
                          dtype=states[0].dtype, hint="last")


@operator("lstm.input")
def lstm(builder: Builder, x: Value, begin: Any, weights: Any, has_biases: bool, layers: int,
         dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Any:
    stack = Stack("lstm", list(weights), has_biases, layers, dropout if train else 0,
                  bidirectional, batch_first)
    return run_stack(builder, stack, x, list(begin))


@operator("gru.input", "rnn_tanh.input", "rnn_relu.input")
def one_state(builder: Builder, x: Value, begin: Value, weights: Any, has_biases: bool,
              layers: int, dropout: float, train: bool, bidirectional: bool,
              batch_first: bool) -> Any:
    kind = {"gru": "gru", "rnn_tanh": "tanh", "rnn_relu": "relu"}[
        str(builder.node.target).split(".")[1]]
    stack = Stack(kind, list(weights), has_biases, layers, dropout if train else 0,
                  bidirectional, batch_first)
    return run_stack(builder, stack, x, [begin])
