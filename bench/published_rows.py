# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of published.toml, and the step that each was published to take.

A column gives that step as a rate, rounded to the digits that were printed, so it leaves an
interval. The step is the middle of what all columns of a row leave in common; where nothing is
left, a figure was copied wrongly.

    tflops      TFLOP/s of a GPU, by the FLOPs of the group
    percent     the same, of the peak
    petaflops   PFLOP/s of all GPUs"""
import decimal
import math
import pathlib
import tomllib

TABLE = pathlib.Path(__file__).resolve().parent / "published.toml"


def recomputed_flops(row):
    """FLOPs of a step of a GPT of which every layer is computed again: Narayanan et al. 2021,
    equation 3."""
    layers, width, seq, vocab = (row[name] for name in ("layers", "width", "seq", "vocab"))
    return (96 * row["batch"] * seq * layers * width ** 2
            * (1 + seq / (6 * width) + vocab / (16 * layers * width)))


FLOPS = {"recomputed": recomputed_flops}
# What a column is in FLOP/s of all GPUs.
COLUMNS = {"tflops": lambda row: row["gpus"] * 1e12,
           "percent": lambda row: row["gpus"] * row["peak_tflops"] * 1e10,
           "petaflops": lambda row: 1e15}


def interval(figure):
    """What rounds to a figure: its least and its most."""
    exponent = decimal.Decimal(figure).as_tuple().exponent
    half = decimal.Decimal((0, (1,), exponent)) / 2
    return float(figure - half), float(figure + half)


def published_s(row):
    """Seconds of a step, which all columns of a row agree on."""
    flops = FLOPS[row["flops"]](row)
    ends = [sorted(flops / (COLUMNS[name](row) * end) for end in interval(row[name]))
            for name in COLUMNS if name in row]
    least, most = max(end[0] for end in ends), min(end[1] for end in ends)
    if len(ends) < 2:
        raise ValueError(f"{row['label']}: one column alone")
    if least > most:
        raise ValueError(f"{row['label']}: its columns are not of one step")
    return math.sqrt(least * most)


def read(path=TABLE):
    """All rows, each with what its group says of all; `step` is the published step in seconds."""
    rows = []
    for group in tomllib.loads(path.read_text(), parse_float=decimal.Decimal)["group"]:
        for cells in group["rows"]:
            row = {**group, **group["sizes"], **dict(zip(group["columns"], cells, strict=True))}
            row["label"] = f"{group['name']} {row['name']}"
            row["step"] = published_s(row)
            rows.append({**row, "group": group["name"]})
    return rows
