# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole runs: the models at small sizes, compiled, run on ranks, and their losses compared."""
import ast
import csv
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys

import processes
from tap import Failed

ROOT = pathlib.Path(__file__).resolve().parent.parent
MPIRUN = ROOT / "scripts" / "mpirun"
TIME_LIMIT_S = 300
# Environment in which generated kernels are compiled in little time.
QUICK_CC = {"CC": str(ROOT / "tests" / "dist" / "quick-cc")}
# In which those that run for seconds are compiled to be quicker.
STEADY_CC = {"CC": str(ROOT / "tests" / "dist" / "steady-cc")}
# In which those for GPUs are compiled for the host.
FAKE_NVCC = {"NVCC": str(ROOT / "tests" / "fake_cuda" / "nvcc")}
# What plan files are run by, and in which environment: real devices, and the fakes of GPUs.
REAL = ("tools/meshwright-run", QUICK_CC)
STEADY = ("tools/meshwright-run", STEADY_CC)
FAKE = ("tests/fake_cuda/run_on_fakes", {**QUICK_CC, **FAKE_NVCC})


class Model:
    """A model at sizes that are small, and divisible where those of its kind are."""

    def __init__(self, name, sizes, *feeds):
        self.name, self.feeds = name, feeds
        self.options, self.precision = [], "f32"
        self.sizes = dict(word.split("=") for word in sizes.split())
        self.path = ROOT / "models" / f"{name}.graph"

    def but(self, **changes):
        """The same model with some attributes changed."""
        copy = Model.__new__(Model)
        vars(copy).update(vars(self), **changes)
        return copy

    def in_precision(self, precision):
        """The same model in mixed precision."""
        return self.but(name=f"{self.name}-{precision}", precision=precision,
                        options=[*self.options, "--precision", precision])

    def changed(self, folder, pattern, text):
        """The same model with other text where the pattern is, in a file in `folder`."""
        copy = self.but(path=folder / f"{self.name}.graph")
        text, count = re.subn(pattern, text, self.path.read_text(), flags=re.DOTALL)
        assert count == 1
        copy.path.write_text(re.sub(r'import "(?!/)', f'import "{ROOT}/models/', text))
        return copy

    def trained(self, folder, how):
        """The same model with another train statement."""
        return self.changed(folder, r"(\n  train \S+.*?) with .*?(?=\n\})", rf"\1 with {how}")

    def defines(self, **sizes):
        """Arguments that set its sizes, or others."""
        return [word for size, value in {**self.sizes, **sizes}.items()
                for word in ("-D", f"{size}={value}")]

    def data(self):
        """Arguments that feed it."""
        return [word for feed in self.feeds for word in ("--feed", feed)]


# Inputs, weights and states of all element types.
IMAGES = Model("images", "", "random:images=256", "random:shifts=100", "random:kind=12,labels=8")
IMAGES.path = ROOT / "tests" / "dist" / "images.graph"

# Gradients in the losses, of each row by itself; and a step of gradient descent within the step.
PENALTY = Model("penalty", "", "random:ids=2", "random")
PENALTY.path = ROOT / "tests" / "dist" / "penalty.graph"
DESCENT = PENALTY.but(name="descent", sizes={"descends": "true"})
ATTENDS = PENALTY.but(name="attends", sizes={"attends": "true"})

# In mixed precision losses differ from run to run of other sums: twice what rounding does to them.
TOLERANCES = {"bf16": 2e-3, "f16": 3e-4, "tf32": 3e-4, "fp8": 4e-3}

# Another way to train: unlike Adam's, its losses follow the size of the gradients.
SGD = "sgd(lr = 0.1, momentum = 0.9)"

MODELS = [
    Model("mlp", "batch=16 inputs=16 width=32 classes=8", "random:target=8", "random"),
    Model("gpt", "batch=8 seq=16 vocab=64 layers=2 width=32 heads=4",
          "random:tokens=64,targets=64"),
    Model("llama", "batch=8 seq=16 vocab=64 layers=2 width=32 heads=4 kv_heads=2 hidden=64",
          "random:tokens=64,targets=64"),
    Model("bert", "batch=8 seq=16 vocab=64 layers=2 width=32 heads=4 dropout_rate=0.1",
          "random:tokens=64"),
    Model("vit", "batch=8 image=16 channels=2 patch=4 classes=8 layers=2 width=32 heads=4",
          "random:labels=8", "random"),
]


def models(names):
    """Those of the names; all, if there are none."""
    chosen = [model for model in MODELS if not names or model.name in names]
    if len(chosen) < len(names):
        raise SystemExit(f"the models are {', '.join(model.name for model in MODELS)}")
    return chosen


def ranks_of(mesh):
    """Of "2x2": 4."""
    return math.prod(map(int, mesh.split("x")))


def fast_links(folder, mesh):
    """Options that plan for a mesh of slow devices on fast links: such plans split all they can,
    small as it is."""
    path = folder / f"fast-links-{mesh}.cluster"
    path.write_text(f"""cluster fast_links {{
  backend = cpu
  nodes = 1
  devices_per_node = {ranks_of(mesh)}
  device {{
    memory = 1 GB
    bandwidth = 10 MB/s
    vector = 10 MFLOP/s
    launch = 1 ns
    gemm f32 {{ rate = 10 MFLOP/s }}
  }}
  host {{ memory = 1 GB, latency = 1 ns, bandwidth = 10 GB/s, update = 10 GB/s }}
  node {{ latency = 1 ns, bandwidth = 10 GB/s }}
}}
""")
    return ["--cluster", path, "--mesh", mesh]


def runs_program(process, program):
    try:
        return pathlib.Path(f"/proc/{process}/exe").resolve() == pathlib.Path(program).resolve()
    except OSError:  # it ended meanwhile
        return False


def find_ranks(launcher, program):
    """Process ids, in order, of the processes of a program that a process of ours started, or one that it started:
    scripts/mpirun starts mpirun, which starts the ranks."""
    parents = processes.parents()
    return sorted(process for process in parents if runs_program(process, program)
                  and launcher in (process, parents.get(process), parents.get(parents.get(process))))


def call(*words, env=None, cwd=None, limit_s=TIME_LIMIT_S):
    """Runs a command that must succeed; what it prints, both streams together."""
    words = [str(word) for word in words]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              env={**os.environ, **(env or {})}, cwd=cwd, timeout=limit_s)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{' '.join(words)}\nstill runs after {limit_s} s\n{late.output}") from None
    if done.returncode:
        raise Failed(f"{' '.join(words)}\nexit {done.returncode}\n{done.stdout}")
    return done.stdout


def use_torch_python(script, *words):
    """Goes on as the Python that TORCH_PYTHON names, which has PyTorch, where this is another one."""
    other = os.environ.get("TORCH_PYTHON")
    if other and pathlib.Path(other).absolute() != pathlib.Path(sys.executable).absolute():
        os.execv(other, [other, script, *words])


def refused(words, status, part, **how):
    """Runs a command that must end with `status` and print `part` once on standard error, in the
    one message that it has; ranks that meet the same fault at once may each print it. `how` are
    arguments of subprocess.run.

    On a busy machine Open MPI's mpirun may garble the message by which a rank ends the run, and say
    so: another rank then ends it with a message of its own. It is run once more then."""
    for _ in range(2):
        done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", timeout=TIME_LIMIT_S, **how)
        if "ORTE_ERROR_LOG: Data unpack" not in done.stderr:
            break
    messages = [line for line in done.stderr.splitlines()
                if re.match(r"meshwright([ -]\w+)?: |.*:\d+:\d+: error: ", line)]
    ranks = [re.sub(r"\bdevice \d+: ", "", line.split(": ", 2)[2])
             for line in messages if re.match(r"meshwright: rank \d+: ", line)]
    is_one = len(messages) == 1 or len(messages) == len(ranks) and len(set(ranks)) == 1
    if done.returncode != status or done.stderr.count(part) != len(messages) or not is_one:
        raise Failed(f"{' '.join(map(str, words))}\nexit {done.returncode}, expected {status}; "
                     f"{len(messages)} messages, expected one with '{part}'\n"
                     f"{done.stdout}{done.stderr}")


def run(ranks, *words, env=None):
    """Runs a program on so many ranks."""
    return call(*([MPIRUN, "-n", ranks] if ranks > 1 else []), *words, env=env)


def make_plan(build, model, path, *options):
    """Plans a model; `options` are those of `meshwright plan`."""
    call(build / "tools/meshwright", "plan", model.path, *model.defines(), *model.options,
         *options, "-o", path)
    return path


def run_plan(build, model, plan, ranks, *options, by=REAL):
    """Runs a plan file of the model on its data; `options` are those of a run."""
    program, environment = by
    return run(ranks, build / program, plan, *model.data(), *options, env=environment)


def train(build, model, plan, ranks, steps, *options, by=REAL):
    """Runs a plan; its losses."""
    log = plan.with_suffix(".csv")
    run_plan(build, model, plan, ranks, "--steps", steps, "--log", log, *options, by=by)
    return read_losses(log)


def train_and_save(build, model, plan, ranks, steps):
    """The same, and the folder of a checkpoint of the last step."""
    saved = plan.with_suffix(".saved")
    return train(build, model, plan, ranks, steps, "--checkpoint", saved), saved


def read_losses(path):
    """{step: loss} of a loss log; {(step, name): loss} where there are several losses."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in (rows[0] if rows else {}) if name not in ("step", "seconds")]
    return {int(row["step"]) if names == ["loss"] else (int(row["step"]), name): float(row[name])
            for row in rows for name in names}


def first_losses(losses, steps):
    """Those of the first steps."""
    return {key: loss for key, loss in losses.items()
            if (key if isinstance(key, int) else key[0]) <= steps}


def same_losses(expected, found, tolerance):
    """Fails unless both have the same steps, and losses within the relative tolerance. Says how
    far apart they are."""
    if expected.keys() != found.keys() or not expected:
        raise Failed(f"steps {list(found)}, expected {list(expected)}")
    errors = {step: abs(found[step] - loss) / abs(loss) for step, loss in expected.items()}
    wrong = [f"step {step}: {found[step]:.9g}, expected {expected[step]:.9g}"
             for step, error in errors.items() if not error <= tolerance]
    if wrong:
        raise Failed("\n".join(wrong))
    return f"losses differ by {max(errors.values()):.1e}"


# Codes of the module struct, by types of NumPy.
NUMPY_CODES = {"<f4": "f", "<f2": "e", "<i8": "q", "<i4": "i", "|i1": "b", "|u1": "B", "|b1": "?"}


def nearest(value, fraction, least, last):
    """The nearest multiple of the unit of its exponent, no more than `last`: a float of fewer bits."""
    if value == 0:
        return 0.0
    unit = 2.0 ** max(math.frexp(abs(value))[1] - 1 - fraction, least)
    return math.copysign(min(round(abs(value) / unit) * unit, last), value)


def bf16(value):
    return nearest(value, 7, -133, math.inf)


def e4m3(value):
    return nearest(value, 3, -9, 448)


def e5m2(value):
    return nearest(value, 2, -16, 57344)


def npy(descr, shape, elements):
    """The bytes of a .npy file."""
    header = str({"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
            struct.pack(f"<{len(elements)}{NUMPY_CODES[descr]}", *elements))


def read_tensor(path):
    """The elements of a .npy file."""
    data = path.read_bytes()
    end = 10 + int.from_bytes(data[8:10], "little")
    header = ast.literal_eval(data[10:end].decode())
    code = NUMPY_CODES.get(header["descr"])
    if not code or header["fortran_order"]:
        raise Failed(f"{path}: {header}")
    return [element for element, in struct.iter_unpack(f"<{code}", data[end:])]


SAFETENSORS_CODES = {"F32": "f", "F64": "d", "I32": "i", "I64": "q", "I8": "b", "U8": "B", "BOOL": "?",
                     "BF16": "H", "F16": "e", "F8_E4M3": "B", "F8_E5M2": "B"}


def read_safetensors(path):
    """{name: elements} of a safetensors file, whose elements have no gaps between them."""
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header, end = json.loads(data[8:begin]), 0
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = entry["data_offsets"]
        part = data[begin + first:begin + last]
        elements = [x for x, in struct.iter_unpack("<" + SAFETENSORS_CODES[entry["dtype"]], part)]
        if first != end or len(elements) != math.prod(entry["shape"]):
            raise Failed(f"{path}: {name} is {entry}")
        tensors[name], end = elements, last
    if begin + end != len(data):
        raise Failed(f"{path}: it has {len(data) - begin} bytes of data, and tensors for {end}")
    return tensors


def write_safetensors(path, dtype, tensors, shapes):
    """Writes {name: elements}, all of one type; those of BF16 are the integers of their bits."""
    header, data = {}, b""
    for name, elements in tensors.items():
        part = struct.pack(f"<{len(elements)}{SAFETENSORS_CODES[dtype]}", *elements)
        header[name] = {"dtype": dtype, "shape": shapes[name],
                        "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def newest_checkpoint(saved):
    """{name: elements} of the newest checkpoint in a folder. An index names the files of all its
    tensors where they are in several."""
    newest, tensors = max(saved.glob("step-*")), {}
    for path in sorted(newest.glob("*.safetensors")):
        part = read_safetensors(path)
        index = newest / f"{path.name.split('-')[0]}.safetensors.index.json"
        places = json.loads(index.read_text())["weight_map"] if "-of-" in path.name else {}
        if places and any(places.get(name) != path.name for name in part) or tensors.keys() & part.keys():
            raise Failed(f"{path}: its tensors are not those of the index")
        tensors.update(part)
    return tensors


def same_tensors(saved, also, tolerance=1e-4):
    """Fails unless the newest checkpoints of two folders agree: in every tensor, within the
    tolerance relative to its greatest element. (What is below 1e-6 is rounding of zeros.)"""
    expected, found = newest_checkpoint(saved), newest_checkpoint(also)
    if expected.keys() != found.keys() or not expected:
        raise Failed(f"tensors {sorted(found)}, expected {sorted(expected)}")
    worst, wrong = 0, []
    for name, values in expected.items():
        scale = max(max(map(abs, values)), 1e-6)
        error = max(abs(a - b) for a, b in zip(values, found[name], strict=True)) / scale
        worst = max(worst, error)
        if not error <= tolerance:
            wrong.append(f"{name}: differs by {error:.1e} of its greatest element {scale:.1e}")
    if wrong:
        raise Failed("\n".join(wrong))
    return f"tensors by {worst:.1e}"
