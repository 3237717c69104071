# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of published.toml, and the step that each was published to take.

A row is of a step, or by the `measures` of its group of a layer or a product, or of the bytes that
a layer keeps for its backward pass, which a formula gives. A column gives a time as a time or a
rate, rounded to the digits that were printed, so it leaves an interval. The time is the middle of
what all columns of a row leave in common; where nothing is left, a figure was copied wrongly. A
row has one column alone only where its group says why that is enough: `alone`.

    step_s      seconds
    us          microseconds
    increase    by how many percent the run of `than_s` seconds has more throughput
    behind      how many times the tokens/s of this run the run of `than_tokens_s` has
    days        that 300e9 tokens take
    samples_s   samples/s of all GPUs
    tokens_s    tokens/s of a GPU
    tflops      TFLOP/s of a GPU, by the FLOPs of the group
    percent     the same, of the peak
    hfu         the same, by the FLOPs of the group's `hardware`
    petaflops   PFLOP/s of all GPUs"""
import decimal
import math
import pathlib
import tomllib

TABLE = pathlib.Path(__file__).resolve().parent / "published.toml"


def gpt_flops(row, attention):
    """FLOPs of a step of a GPT, in which the products of attention count `attention` times:
    Korthikanti et al. 2022, appendix A."""
    layers, width, seq, vocab = (row[name] for name in ("layers", "width", "seq", "vocab"))
    return (72 * row["batch"] * seq * layers * width ** 2
            * (1 + attention * seq / (6 * width) + vocab / (12 * layers * width)))


def recomputed_flops(row):
    """The same where every layer is computed again: Narayanan et al. 2021, equation 3."""
    layers, width, seq, vocab = (row[name] for name in ("layers", "width", "seq", "vocab"))
    return (96 * row["batch"] * seq * layers * width ** 2
            * (1 + seq / (6 * width) + vocab / (16 * layers * width)))


def parameters(row):
    """Parameters of a Llama, or of a GPT, whose hidden layers have four times its width."""
    layers, width, vocab = row["layers"], row["width"], row["vocab"]
    if "kv_heads" not in row:
        return 12 * layers * width ** 2 + 13 * layers * width + (vocab + row["seq"]) * width
    narrow = 2 * width * row["kv_heads"] * width // row["heads"]  # of keys and values
    layer = 2 * width ** 2 + narrow + 3 * width * row["hidden"] + 2 * width
    return layers * layer + 2 * vocab * width + width


def llama_flops(row):
    """FLOPs of a step of a Llama, 6 of each parameter for a token and those of attention."""
    attention = 12 * row["layers"] * row["width"] * row["seq"]
    return row["batch"] * row["seq"] * (6 * parameters(row) + attention)


def experts_flops(row):
    """FLOPs of a step of a GPT whose every other layer is of experts, of which a token takes two,
    in groups of `group` tokens and with every layer computed again: compute_moe_tflops in
    benchmark/alpa/util.py of Alpa. Its `routing` is two products by masks, as ours is."""
    tokens, width, pairs = row["batch"] * row["seq"], row["width"], row["pairs"]
    attention = tokens * (8 * width ** 2 + 4 * row["seq"] * width)
    plain = 4 * tokens * width * row["hidden"]
    routing = tokens * (2 * width * row["experts"] + 4 * row["group"] + 8 * width * row["group"])
    layers = 4 * pairs * (2 * attention + plain + 2 * plain + routing)
    return layers + 6 * tokens * width * row["vocab"]


def timed_flops(row):
    """FLOPs of a step as another run of the same has them, by its rate and its time."""
    return row["gpus"] * float(row["than_tflops"]) * 1e12 * float(row["than_s"])


def product_flops(row):
    return 2 * row["batch"] * row["m"] * row["n"] * row["k"]


FLOPS = {"model": lambda row: gpt_flops(row, 1), "selective": lambda row: gpt_flops(row, 2),
         "recomputed": recomputed_flops, "llama": llama_flops, "experts": experts_flops,
         "timed": timed_flops, "product": product_flops}


def flops_s(row, flops_per_s, kind="flops"):
    """Seconds of a step by FLOP/s of one GPU."""
    return FLOPS[row[kind]](row) / (row["gpus"] * flops_per_s)


def tokens_s(row, tokens_per_s):
    """Seconds of a step by tokens/s of one GPU."""
    return row["batch"] * row["seq"] / (row["gpus"] * tokens_per_s)


# Seconds of a step by the value of a column.
COLUMNS = {
    "step_s": lambda row, value: value,
    "us": lambda row, value: value / 1e6,
    "increase": lambda row, value: float(row["than_s"]) * (1 + value / 100),
    "behind": lambda row, value: tokens_s(row, float(row["than_tokens_s"]) / value),
    "days": lambda row, value: value * 86400 * row["batch"] * row["seq"] / 300e9,
    "samples_s": lambda row, value: row["batch"] / value,
    "tokens_s": lambda row, value: tokens_s(row, value),
    "tflops": lambda row, value: flops_s(row, value * 1e12),
    "percent": lambda row, value: flops_s(row, value * row["peak_tflops"] * 1e10),
    "hfu": lambda row, value: flops_s(row, value * row["peak_tflops"] * 1e10, "hardware"),
    "petaflops": lambda row, value: flops_s(row, value * 1e15 / row["gpus"]),
}


# Bytes that a layer keeps of a sample: Korthikanti et al. 2022, table 2.
KEPT = {"sequence, selective": lambda row: 34 * row["seq"] * row["width"] / row["tensor"],
        "full": lambda row: 2 * row["seq"] * row["width"]}


def interval(figure):
    """What rounds to a figure: its least and its most."""
    exponent = decimal.Decimal(figure).as_tuple().exponent
    half = decimal.Decimal((0, (1,), exponent)) / 2
    return float(figure - half), float(figure + half)


def published_s(row):
    """The seconds that all columns of a row agree on."""
    ends = [sorted(COLUMNS[name](row, end) for end in interval(row[name]))
            for name in COLUMNS if name in row]
    least, most = max(end[0] for end in ends), min(end[1] for end in ends)
    if len(ends) < 2 and "alone" not in row:
        raise ValueError(f"{row['label']}: one column alone")
    if least > most:
        raise ValueError(f"{row['label']}: its columns are not of one step")
    return math.sqrt(least * most)


def read(path=TABLE):
    """All rows, each with what its group says of all; `published` is in seconds or bytes."""
    rows = []
    for group in tomllib.loads(path.read_text(), parse_float=decimal.Decimal)["group"]:
        for cells in group["rows"]:
            row = {**group, **group["sizes"], **dict(zip(group["columns"], cells, strict=True))}
            row["label"] = f"{group['name']} {row['name']}"
            if row.get("measures") == "bytes":
                row["published"] = row["micro"] * KEPT[row["formula"]](row)
            else:
                row["published"] = published_s(row)
            rows.append({**row, "group_name": group["name"]})
    return rows
