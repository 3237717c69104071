# SPDX-License-Identifier: GPL-3.0-or-later
"""Random flat models: modules of a few kinds, in each other, in lists and sequences, called once or several times, with
weights that others use too, and statements in any order that computes them."""
import random

ROWS, WIDTH = 4, 8
WORDS = ["attn", "mlp", "norm", "proj", "output", "model", "weight", "input", "h", "relu", "ln_1", "fc2", "block"]
WEIGHTS = ["weight", "bias", "scale", "state", "output", "pi", "0", "w.1"]
UNARY = ["relu", "tanh", "sigmoid", "abs", "gelu"]


class Kind:
    """What modules of one kind do: steps on values by number, the inputs first."""

    def __init__(self, draw, kinds):
        self.inputs = draw.choice([1, 1, 1, 2])
        self.weights = draw.sample(WEIGHTS, draw.choice([0, 1, 1, 2]))
        self.children, self.steps = {}, []
        values = self.inputs
        for _ in range(draw.randrange(1, 6)):
            step = draw.choice(["unary", "binary", "weight", "constant", "child", "child", "list", "dropout", "split",
                                "average"])
            if step in ("child", "list") and not kinds:
                step = "unary"
            if step == "weight" and not self.weights:
                step = "binary"
            take = [draw.randrange(max(0, values - 3), values) for _ in range(2)]
            if step == "child":
                name, kind = draw.choice(WORDS + ["0", "1"]), draw.choice(kinds)
                kind = self.children.setdefault(name, kind)
                self.steps.append((step, name, [draw.randrange(values) for _ in range(kind.inputs)]))
                values += len(kind.outputs)
                continue
            if step == "list":
                name, kind = draw.choice(["layers", "h", "blocks"]), draw.choice(kinds)
                if any(child.split(".")[0] == name for child in self.children):
                    continue
                count = draw.choice([2, 3, 5])
                self.children.update({f"{name}.{i}": kind for i in range(count)})
                self.steps.append((step, name, [draw.randrange(values) for _ in range(kind.inputs)], count,
                                   draw.random() < 0.8))
                values += len(kind.outputs)
                continue
            self.steps.append((step, draw.choice(UNARY), take))
            values += 2 if step == "split" else 1
        self.outputs = sorted(draw.sample(range(self.inputs, values), min(values - self.inputs, draw.choice([1, 1, 2]))))
        self.values = values


class Writer:
    def __init__(self, draw):
        self.draw, self.declared, self.lines, self.weights, self.states = draw, [], [], {}, {}
        self.words = 0

    def declare(self, path, weight, kind="weight", init=None):
        name = f"{path}.{weight}" if path else f"w_{weight}"
        if name not in self.weights:
            self.weights[name] = True
            init = init or self.draw.choice(["ones", "zeros", "normal(0.02)"])
            text = f"  {kind} {name}: f32[{WIDTH}] = {init}"
            if self.draw.random() < 0.5:
                self.declared.append(text)
            else:
                self.lines.append((text, {name}, set()))
        return name

    def let(self, path, word, text, uses, results=1):
        """Adds a statement; the names of its results."""
        self.words += 1
        names = [f"{path}.{word}_{self.words}" if path else f"{word}_{self.words}" for _ in range(results)]
        names = [name + f"_{k}" * (results > 1) for k, name in enumerate(names)]
        self.lines.append((f"  {', '.join(names)} = {text}", set(names), set(uses)))
        return names

    def step(self, path, kind, step, values):
        what, word, take = step[:3]
        x, y = (values[k] for k in take[:2])
        if what == "unary":
            return self.let(path, word, f"{word}({x})", [x])
        if what == "binary":
            return self.let(path, "add", f"{x} {self.draw.choice('+*-')} {y}", [x, y])
        if what == "weight":
            weight = self.declare(path, kind.weights[0])
            if self.draw.random() < 0.05 and self.weights:
                weight = self.draw.choice([name for name in self.weights if not name.endswith("kept")] or [weight])
            return self.let(path, "mul", f"{x} * {weight}", [x, weight])
        if what == "constant":
            return self.let(path, "mul", f"{x} * {self.draw.choice([0.5, 0.5, 2, 3.0])} + {y}", [x, y])
        if what == "dropout":
            return self.let(path, "dropout", f"dropout({x}, 0.{self.draw.choice([1, 1, 5])})", [x])
        if what == "split":
            a, b = self.let(path, "split", f"split({x}, [{WIDTH // 2}, {WIDTH // 2}])", [x], 2)
            return [self.let(path, "cat", f"concat({b}, {a}, axis = -1)", [a, b])[0],
                    self.let(path, "cat", f"concat({a}, {a}, axis = 1)", [a])[0]]
        state = self.declare(path, "kept", "state", "zeros")
        value, = self.let(path, "mean", f"mean({x}, axis = 0) + {state}", [x, state])
        if state not in self.states:
            self.states[state] = value
        return self.let(path, "sub", f"{x} - {state}", [x, state])

    def module(self, path, kind, inputs):
        values = list(inputs)
        for step in kind.steps:
            if step[0] not in ("child", "list"):
                values += self.step(path, kind, step, values)
                continue
            name, take = step[1:3]
            taken = [values[k] for k in take]
            inner = f"{path}.{name}" if path else f"m{name}" if name.isdigit() else name
            if step[0] == "child":
                values += self.module(inner, kind.children[name], taken)
                continue
            kind_of = kind.children[f"{name}.0"]
            for i in range(step[3]):
                given = self.module(f"{inner}.{i}", kind_of, taken)
                if step[4] or i + 1 == step[3]:
                    taken = (given + taken)[:kind_of.inputs]
            values += given
        return [values[k] for k in kind.outputs]

    def shuffled(self):
        """The statements in another order that computes them: some move ahead of those before them."""
        lines = list(self.lines)
        for _ in range(len(lines) * self.draw.choice([0, 0, 1, 10])):
            i = self.draw.randrange(len(lines) - 1)
            if not lines[i][1] & lines[i + 1][2]:
                lines[i], lines[i + 1] = lines[i + 1], lines[i]
        return [line for line, _, _ in lines]


def random_flat(seed):
    """The text of a flat model."""
    draw = random.Random(seed)
    kinds = []
    for _ in range(draw.randrange(2, 6)):
        kinds.append(Kind(draw, kinds))
    writer = Writer(draw)
    top = kinds[-1]
    outputs = writer.module("", top, [f"x{i}" for i in range(top.inputs)])
    loss, = writer.let("", "loss", " + ".join(f"mean({value} * {value})" for value in outputs), outputs)
    lines = [f"  input x{i}: f32[{ROWS}, {WIDTH}]" for i in range(top.inputs)]
    lines += writer.declared + writer.shuffled()
    lines += [f"  assign {state} = {value}" for state, value in writer.states.items()]
    lines += [f"  output y{i} = {value}" for i, value in enumerate(outputs)]
    if any(not name.endswith("kept") for name in writer.weights):
        lines.append(f"  train {loss} with sgd(lr = 0.1)")
    return "model random {\n" + "\n".join(lines) + "\n}\n"
