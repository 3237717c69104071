# SPDX-License-Identifier: GPL-3.0-or-later
"""Seconds of a step that the software of a published run took for kernels which our plans lack.

`also` of a group of published.toml names functions of this file. Each gives the seconds of kernels
that run for every micro-batch, and so wait for a pipeline as layers do, and of those that run once.
Nearly all just pass over memory: their bytes, by the bandwidth of the device. Bytes are counted in
the source that the function names, and those that our own kernels move for the same are taken off;
of Megatron-LM's layers, in which all kernels count, the seconds that inspect says of all of ours.
What software fuses, or is not known to do, is left out: this is the least that it took. Work on
samples is spread evenly over all GPUs."""
import dataclasses
import pathlib
import re

import published_rows

CLUSTERS = pathlib.Path(__file__).resolve().parents[1] / "clusters"
LEAST_KERNEL_S = 2e-6  # a kernel of one element: torchao/testing/float8/roofline_utils.py


@dataclasses.dataclass
class Run:
    """A row, how often its plan cuts the batch, figures of its cluster file, and the seconds that
    our own kernels of both passes take on a GPU in a step, in the mean."""
    row: dict
    micro_batches: int
    bytes_per_s: float
    fp8_flops: float
    kernel_s: float = 0

    def moving_s(self, moved):
        """Seconds of bytes that are read from or written to memory."""
        return moved / self.bytes_per_s

    def tokens(self):
        """Tokens of a GPU in all layers."""
        return self.row["batch"] * self.row["seq"] * self.row["layers"] / self.row["gpus"]

    def scores(self):
        """Scores of attention of a GPU in all layers."""
        row = self.row
        layers = row["layers"] if "layers" in row else 2 * row["pairs"]
        return row["batch"] * row["heads"] * row["seq"] ** 2 * layers / row["gpus"]

    def weights(self):
        """Weights that a GPU computes with, gathered over data parallelism."""
        return (published_rows.parameters(self.row)
                / (self.row["tensor"] * self.row["stages"]))

    def forwards(self):
        """How often the element-wise kernels of a layer's forward pass ran."""
        return 2 if self.row.get("remat") in ("all", "selective") else 1

    def narrow(self):
        """Elements of the keys of a token."""
        return self.row["width"] * self.row["kv_heads"] // self.row["heads"]


def megatron_sums(run):
    """Each micro-batch adds its gradients to those in memory, in f16: DDP-impl local reads both and
    writes the sum (_make_param_hook of megatron/model/distributed.py; a buffer has the type of its
    parameters unless accumulate_allreduce_grads_in_fp32 is set, which examples/sc21/CONFIG.sh of
    Megatron-LM does not), and autograd does the same from the second one on."""
    sums = run.micro_batches - (run.row["stages"] == 1)
    return run.moving_s(6 * run.weights() * sums), 0


def megatron_step(run):
    """The optimizer of f16 weights copies gradients to f32 (6 bytes), unscales them (8), takes
    their norm (4), clips them (8), and copies weights back (6):
    Float16OptimizerWithFloat16Params.step in megatron/optimizer/optimizer.py. Adam itself is that
    of our plans."""
    return 0, run.moving_s(32 * run.weights())


def clipped_step(run):
    """The same a year later. Its paper does not say if 16 bits were f16 or bf16, of which gradients
    are neither copied nor unscaled: what both have moves 18 bytes."""
    return 0, run.moving_s(18 * run.weights())


def xla_softmax(run):
    """XLA has a kernel for each reduction, and fuses those of a softmax with what follows only
    where xla_gpu_enable_triton_softmax_fusion is set, on an A100 at least (openxla/xla pull request
    14962, of 2024): scores in f16 are read for the maxima, for the sums, and for the shares, 8
    bytes with these, and in the backward pass two tensors for the sums and for the gradients, 10
    bytes. Ours move 4 and 6 at once."""
    return run.moving_s((4 * run.forwards() + 4) * run.scores()), 0


def megatron_kernels(run):
    """All kernels of Megatron-LM in both passes that are no products, in the place of ours
    (megatron/model/transformer.py; bytes of f16, masks have one).

    Of a score the softmax moves 4 bytes and dropout 5, both again in the backward pass, and 11
    there: dropout reads the gradient of a share and the mask and writes the gradient, and the
    softmax reads that and the share and writes over it. Of an element of the hidden state all GPUs
    of a tensor parallelism do the same where it lacks sequence parallelism: two layer norms (8) and
    sums of bias, dropout and residual (14); in the backward pass these (10), the norms, which read
    operand and gradient again for the gradients of their weights (20), sums of gradients of the
    residual (12), and those of two biases (4). Split over them are the bias of queries, keys and
    values, which F.linear of a batch adds in place (12), that of GELU with it (16) and a copy of
    what attention gives (4); in the backward pass GELU (24), sums for the gradients of both biases
    (14), and gradients of queries, keys and values put together (12). The embedding moves 26 bytes
    of an element: rows looked up (4), the sum with positions (6), dropout (5), dropout again (5),
    gradients put (6). The loss moves 52 bytes of a logit (megatron/mpu/cross_entropy.py): a cast to
    f32 (6), maxima (4), differences (8), exp (8), sums (4), shares (8), gradients (8), and a cast
    back (6)."""
    row, forwards = run.row, run.forwards()
    copies = 1 if row.get("sequence_parallel") else row["tensor"]
    hidden = copies * (22 * forwards + 46) + 32 * forwards + 50
    moved = ((2 * 9 + 11) * run.scores() + hidden * row["width"] * run.tokens()
             + (copies * 26 * row["width"] + 52 * row["vocab"]) * run.tokens() / row["layers"])
    return run.moving_s(moved) - run.kernel_s, 0


def last_products(run):
    """Where layers are recomputed, CheckpointFunction (megatron/mpu/random.py; DeepSpeed has one)
    runs all of a layer again, with its last product and the sum of that over tensor parallelism,
    which nothing reads. Our plans gather in the place of one of both sums, and leave both out."""
    row = run.row
    if row["remat"] != "all":
        return 0, 0
    product = 8 * row["width"] ** 2 * run.tokens() / gemm_flops(row["cluster"], "bf16")
    if row["tensor"] == 1:
        return product, 0
    network = figure(row["cluster"], r"node \{[^}]*?\n *bandwidth", "GB/s") * 1e9
    scattered = 2 * (row["tensor"] - 1) * row["width"] * run.tokens()
    return product + scattered / network, 0


def complex_rotations(run):
    """Queries and keys are rotated as complex numbers, which TorchInductor leaves to a kernel of
    its own ("does not support code generation for complex operators"): cast to f32 (6 bytes),
    multiplied (8), cast back (6), where one kernel moves 4 (apply_rotary_emb of torchtitan's llama
    model)."""
    passes = run.forwards() + 1
    return run.moving_s(16 * (run.row["width"] + run.narrow()) * run.tokens() * passes), 0


def repeated_heads(run):
    """Keys and values are copied for each query that they serve (repeat_kv, the same file), and
    their gradients summed."""
    if run.row["kv_heads"] == run.row["heads"]:
        return 0, 0
    passes = run.forwards() + 1
    return run.moving_s(2 * 2 * (run.row["width"] + run.narrow()) * run.tokens() * passes), 0


def eager_gates(run):
    """Without torch.compile silu and the product with it are a kernel each: 4 bytes more in the
    forward and 8 in the backward pass."""
    return run.moving_s((4 * run.forwards() + 8) * run.row["hidden"] * run.tokens()), 0


def eager_loss(run):
    """cross_entropy of f32, a kernel for each operator: a cast (6 bytes), log_softmax (8), its
    gradient's zeros (4), its gradient (12), the cast's (6), where ours move 12 (loss_fn of
    torchtitan/train.py, before its loss was compiled)."""
    return 0, run.moving_s(24 * run.row["vocab"] * run.tokens() / run.row["layers"])


def foreach_adamw(run):
    """AdamW with foreach, torchtitan's default before 2025 (build_optimizers): the kernels of
    _multi_tensor_adamw of torch/optim/adamw.py move 80 bytes of a weight, where one moves 28."""
    return 0, run.moving_s(52 * published_rows.parameters(run.row) / run.row["gpus"])


def fsdp_copies(run):
    """Gathered weights are copied out of the buffer of the collective, and gradients into it, as
    f32 (torch/distributed/_composable/fsdp/_fsdp_collectives.py), on the stream of kernels or with
    that waiting. Pipelines gather once, and add gradients up in f32 for every micro-batch
    (reshard_after_forward in torchtitan/parallelisms/parallelize_llama.py)."""
    element = 1 if "fp8" in run.row["options"] else 2
    weights_s = run.moving_s(run.weights())
    if run.row["stages"] == 1:
        return 0, (2 * 2 * element + 6) * weights_s
    return 10 * run.micro_batches * weights_s, (2 * element + 6) * weights_s


def own_maxima(run):
    """The scale of an operand in fp8 is that of its own maximum, so bf16 is read once more before
    it is cast: get_tensor_memory_traffic_ovhd_s of torchao/testing/float8/roofline_utils.py,
    tensorwise. Operands that several products share count once, weights not, which are scaled in
    parts."""
    inputs = 3 * run.row["width"] + run.row["hidden"]
    gradients = 3 * run.row["width"] + 2 * run.narrow() + 2 * run.row["hidden"]
    return run.moving_s(2 * (inputs * run.forwards() + gradients) * run.tokens()), 0


def slow_sums(run):
    """Products of the backward pass in fp8 do without fast accumulation (use_fast_accum of
    torchao/float8/config.py), which makes one 1.1 to 1.2 times as quick (torchao issue 2377): they
    take 15 % longer."""
    products = published_rows.parameters(run.row) - 2 * run.row["vocab"] * run.row["width"]
    tokens = run.tokens() / run.row["layers"]
    return 0.15 * 4 * products * tokens / run.fp8_flops, 0


def ring_of_blocks(run):
    """Attention to one block of keys after another, each merged in f32
    (torch/distributed/tensor/experimental/_attention.py: _SDPAMerger and
    _templated_ring_attention_backward), by one kernel of torch.compile. Of queries, keys and values
    with all heads, a block moves in the forward pass 8 bytes of keys and values to send, and 10 to
    merge, or of half of the queries 9; in the backward pass 8, 20 or 18 to add up their gradients,
    and 10 or 9 those of queries. Around all blocks it is 20 and 18."""
    blocks = run.row["context"]
    if blocks == 1:
        return 0, 0
    forward = (8 + (10 + 9) / 2) * (blocks - 1) + 20
    backward = (8 + (20 + 18) / 2 + (10 + 9) / 2) * blocks + 18
    moved = forward * run.forwards() + backward
    return run.moving_s(moved * run.row["width"] * run.tokens()), 0


def lists_of_parts(run):
    """A weight is gathered into as many parts as there are GPUs, after zeros are written, and each
    part is copied by a kernel; a gradient is copied so before it is reduced (_allgather_param and
    _reduce_scatter_gradient of deepspeed/runtime/zero/partition_parameters.py, early 2021;
    allgather and reduce_scatter of ProcessGroupNCCL). A layer has four large weights. They are
    gathered for its forward pass, for that again, and all but the last, two thirds of the layer,
    for the backward pass too, as 1e9 elements or more were used in between (_keep_for_later of
    stage3.py), which our plans do not. What the host takes to launch the copies is not counted."""
    again = 2 / 3
    parts = (4 + 4 + 3 + 4) * run.row["layers"] * run.row["gpus"]
    copies_s = max(parts * LEAST_KERNEL_S, run.moving_s((3 + again) * 4 * run.weights()))
    network = figure(run.row["cluster"], r"network \{[^}]*?\n *bandwidth", "GB/s") * 1e9
    gathers_s = again * 2 * run.weights() / network
    return copies_s + gathers_s, run.moving_s((2 + again) * 2 * run.weights())


KERNELS = {kernels.__name__: kernels for kernels in (
    megatron_sums, megatron_step, clipped_step, xla_softmax, megatron_kernels, last_products,
    complex_rotations, repeated_heads, eager_gates, eager_loss, foreach_adamw, fsdp_copies,
    own_maxima, slow_sums, ring_of_blocks, lists_of_parts)}


def figure(cluster, key, unit):
    """A figure of a cluster file, or of the one that it is like: the first of the key."""
    text = (CLUSTERS / f"{cluster}.cluster").read_text()
    found = re.search(rf"^ *{key} = (\S+) {unit}", text, re.MULTILINE)
    like = re.search(r"^cluster \S+ like (\S+)\.cluster", text, re.MULTILINE)
    return float(found[1]) if found or not like else figure(like[1], key, unit)


def gemm_flops(cluster, kind):
    return figure(cluster, rf"gemm {kind} \{{\n.*\n *rate", "TFLOP/s") * 1e12


def kernel_s(shown):
    """Seconds of our own kernels in both passes on a GPU, by what inspect shows of a plan."""
    meshes = [(len(mesh["ranks"]), phase["kernel_s"]) for mesh in shown["meshes"]
              for phase in mesh["phases"] if phase["phase"] != "update"]
    return sum(ranks * seconds for ranks, seconds in meshes) / shown["ranks"]


def added_s(row, shown):
    """Seconds that a step is longer, whose plan inspect shows. `bubble_rate` is the part of it in
    which a pipeline waits."""
    fp8 = gemm_flops(row["cluster"], "fp8") if "fp8" in row["options"] else 0
    run = Run(row, shown["micro_batches"], figure(row["cluster"], "bandwidth", "GB/s") * 1e9, fp8,
              kernel_s(shown))
    kernels = [KERNELS[name](run) for name in row["also"]]
    working = 1 - shown.get("bubble_rate", 0)
    return sum(layers_s / working + step_s for layers_s, step_s in kernels)
