# SPDX-License-Identifier: GPL-3.0-or-later
"""What scripts/first-gpu-run found, as a page of Markdown to be pasted into docs/gpu.md."""
from gpu_kernels import COPY, PRODUCT, ceiling_of

SHOWN = 20  # of the instructions of a step, those that take longest


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"
    yield ""


def steps(found):
    yield from table(["step", "seconds", ""], [
        (step["name"], f"{step['seconds']:.0f}",
         step.get("skipped", f"{len(step['failed'])} failed" if step["failed"] else "ok"))
        for step in found["steps"]])


def tests(found):
    rows = found.get("tests", [])
    if rows:
        yield from table(["test", "passed", "failed", "skipped", "seconds"], [
            (f"`{row['name']}`", row["passed"], row["failed"], row["skipped"],
             f"{row['seconds']:.0f}") for row in rows])


def checks(found):
    for name, same in found.get("bits", {}).items():
        yield f"- a run with the same seed, {name}: {'the same losses' if same else 'OTHER LOSSES'}"
    for tool, name, result in found.get("sanitizers", []):
        yield f"- {tool}, `gpu_{name}`: {result}"
    planned = found.get("planned")
    if planned:
        measured = [f", {row['step_s'] * 1e3:.2f} ms measured"
                    for row in found.get("training", {}).get("training", [])
                    if row["name"] == f"{planned['model']} bf16" and "step_s" in row]
        yield (f"- {planned['model']} planned with what was measured: "
               f"{planned['predicted_s'] * 1e3:.2f} ms predicted{''.join(measured)}")
    yield ""


def training_row(row):
    if "failed" in row:
        return row["name"], "FAILED", "", "", ""
    torch = row.get("torch_step_s")
    return (row["name"], f"{row['step_s'] * 1e3:.2f}", f"{row['predicted_s'] * 1e3:.2f}",
            f"{row['tokens_s']:.0f}", f"{torch / row['step_s']:.3f}" if torch else "")


def training(found):
    rows = found.get("training", {}).get("training", [])
    if rows:
        yield from table(["training", "step, ms", "predicted", "tokens/s",
                          "PyTorch: times as long"], map(training_row, rows))
    for row in rows:
        parts = row.get("profile", [])
        if parts:
            total = sum(part[1] for part in parts)
            yield f"Where a step of {row['name']} goes, each instruction alone ({total * 1e3:.2f} ms):"
            yield ""
            yield from table(["ms", "predicted", "times", "instruction", "program"], [
                (f"{seconds * 1e3:.3f}", f"{predicted * 1e3:.3f}", times, f"`{label}`", program)
                for program, seconds, predicted, label, times in parts[:SHOWN]])


def kernel_row(row, ceilings):
    if "failed" in row:
        return row["name"], "FAILED", "", "", ""
    ceiling = ceiling_of(row, ceilings)
    rate = row["rate"] / (1e9 if row["unit"] == "GB/s" else 1e12)
    return (row["name"], f"{row['seconds'] * 1e6:.1f}", f"{row['predicted_s'] * 1e6:.1f}",
            f"{rate:.1f} {row['unit']}", f"{100 * row['rate'] / ceiling:.0f} %" if ceiling else "")


def kernels(found):
    result = found.get("kernels")
    if not result or not result["ceilings"]:
        return
    copy = result["ceilings"].get(COPY)
    yield f"Copy: {copy / 1e9:.0f} GB/s, bytes read and written. Shares are of it, and of `{PRODUCT}`."
    yield ""
    yield from table(["kernel", "us", "predicted", "rate", "share"],
                     [kernel_row(row, result["ceilings"]) for row in result["kernels"]])


def failures(found):
    for step in found["steps"]:
        for text in step["failed"]:
            yield f"What failed in `{step['name']}`:"
            yield from ("", "```", *text.splitlines(), "```", "")


def page(found):
    lines = ["## First run on a GPU" + (", of fakes" if found["fake"] else ""), ""]
    machine = found.get("machine", {})
    if machine:
        lines += table(["", ""], machine.items())
    for part in (steps, tests, checks, training, kernels, failures):
        lines += part(found)
    return "\n".join(lines).rstrip() + "\n"
