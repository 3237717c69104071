# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernels' part of bench/gpu: each case of gpu_cases.py planned for the CPU and for CUDA, its
results compared, then timed by bench_plan."""
import os
from concurrent.futures import ThreadPoolExecutor

from gpu_tools import Failed

COPY = "copy"
PRODUCT = "gemm 8192 x 8192 x 8192"


class Prepared:
    """A case with its plans and compiled kernels."""

    def __init__(self, tools, case, number, tiny):
        self.tools, self.case, self.sizes = tools, case, case.chosen(tiny)
        self.name = f"case-{number}"
        self.round_ms = 0 if tiny else 20
        self.graph = tools.folder / f"{self.name}.graph"
        self.graph.write_text(case.text())

    def make(self):
        self.plan, self.reference = (
            self.tools.meshwright("plan", self.graph, f"{self.name}-{backend}.plan", self.sizes,
                                  "--micro-batches", 1, backend=backend)
            for backend in ("cuda", "cpu"))
        self.kernels = self.tools.folder / f"{self.name}.so"
        self.tools.bench_plan(self.plan, "--kernels", self.kernels, "--compile")

    def feeds(self):
        for feed in self.case.feeds:
            name, bound = feed.split("=")
            yield from ("--feed", f"random:{name}={self.sizes[bound]}")

    def seconds(self):
        """Those of a time, and those predicted; Failed where the results are wrong."""
        lines = self.tools.bench_plan(
            self.plan, "--kernels", self.kernels, "--reference", self.reference, "--round",
            self.round_ms, *self.feeds(), *(["--instructions"] if self.case.only else []))
        error, where = next((float(line[1]), line[2]) for line in lines if line[0] == "error")
        if not error <= self.case.tolerance:
            raise Failed(f"{where} differs by {error:.1e} from what the CPU gives")
        kind = "instruction" if self.case.only else "program"
        chosen = [line for line in lines if line[0] == kind and line[1] == self.case.program
                  and (not self.case.only or self.case.only in line[4])]
        if not chosen:
            raise Failed(f"there is no {kind} {self.case.only or self.case.program}")
        return (sum(float(line[column]) for line in chosen) for column in (2, 3)), error

    def row(self):
        (measured, predicted), error = self.seconds()
        amount = self.case.work(**self.sizes)
        return {"name": self.case.name, "type": self.case.type, "unit": self.case.unit,
                "seconds": measured,
                "rate": amount / measured,
                "predicted_s": predicted, "error": error}


def prepare(tools, cases, tiny):
    """Those that can be made, and a row of each that cannot. nvcc is slow: all cores compile."""
    prepared = [Prepared(tools, case, number, tiny) for number, case in enumerate(cases)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        futures = [pool.submit(each.make) for each in prepared]
    for each, future in zip(prepared, futures):
        trouble = future.exception()
        if trouble and not isinstance(trouble, Failed):
            raise trouble
        yield each, trouble


def time_kernels(tools, cases, tiny):
    """A row for each case: what was measured, or `failed`."""
    for each, trouble in prepare(tools, cases, tiny):
        try:
            if trouble:
                raise trouble
            yield each.row()
        except Failed as failed:
            yield {"name": each.case.name, "unit": each.case.unit, "failed": str(failed)}


def ceiling_of(row, ceilings):
    """The name of the ceiling under which a kernel is: the copy, or the product in its type."""
    name = COPY if row["unit"] == "GB/s" else f"{PRODUCT} {row['type']}"
    return ceilings.get(name)
