# SPDX-License-Identifier: GPL-3.0-or-later
"""A .cluster file with what was measured: the bandwidth of memory, the rates of products, and curves of
attention."""
import re
import shutil

import gpu_cases
from gpu_kernels import COPY, PRODUCT


def head_flops(case, sizes):
    """Those of one head of one sequence, by which the curves of attention go."""
    return case.work(**sizes) / (sizes["batch"] * sizes["heads"])


def curves(result, type, tiny):
    """{"attention" or "attention_grad": [(FLOPs of a head, FLOPs a second)]} in this type."""
    cases = {case.name: case for case in gpu_cases.all_cases()}
    found = {"attention": {}, "attention_grad": {}}
    for row in result["kernels"]:
        case = cases.get(row["name"])
        if "rate" in row and row["type"] == type and case and case.name.startswith("attention "):
            kind = "attention_grad" if "backward" in case.name else "attention"
            found[kind][head_flops(case, case.chosen(tiny))] = row["rate"]
    return {kind: sorted(points.items()) for kind, points in found.items() if points}


def curve_text(points):
    return "[" + ", ".join(f"{flops / 1e6:.6g} MFLOP: {rate / 1e9:.6g} GFLOP/s"
                           for flops, rate in points) + "]"


def copy_with_parents(path, folder):
    """Copies a .cluster file, and those that it is like, so that the folder can be taken elsewhere."""
    shutil.copy(path, folder / path.name)
    parent = re.search(r"^cluster\s+\S+\s+like\s+(\S+)", path.read_text(), re.MULTILINE)
    if parent:
        copy_with_parents(path.parent / parent[1], folder)


def products_text(sizes, rates):
    yield f"      sizes = [{', '.join(map(str, sizes))}]"
    yield f"      rates = [{', '.join(f'{rate / 1e9:.6g}' for rate in rates)}] GFLOP/s"


def write_cluster(result, products, base, path, tiny):
    """Writes a file that differs from `base` in what bench/gpu measured, and the tables of products
    (gpu_products.py)."""
    lines = []
    if result["ceilings"].get(COPY):
        lines.append(f"    bandwidth = {result['ceilings'][COPY] / 1e9:.6g} GB/s")
    for type in ("f32", "tf32", "bf16"):
        rate = result["ceilings"].get(f"{PRODUCT} {type}")
        of_type = list(products_text(*products[type]) if type in products else
                       [f"      rate = {rate / 1e9:.6g} GFLOP/s"] if rate else [])
        of_type += [f"      {kind} = {curve_text(points)}"
                    for kind, points in curves(result, type, tiny).items()]
        if of_type:
            lines += [f"    gemm {type} {{", *of_type, "    }"]
    copy_with_parents(base, path.parent)
    path.write_text("\n".join([
        f"# Measured on {result['gpu']}, commit {result['commit']}.",
        f"cluster measured like {base.name} {{", "  device {", *lines, "  }", "}", ""]))
