# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes of a problem file, and cost and peak usage of an answer to it, in exact integers and apart
from the solver. The file is read as a stream, as the largest have a gigabyte."""
import gzip
import json
import re

CHUNK_BYTES = 1 << 22
# A string; a list that begins with a list, an object or a string; a list of anything else, or what
# there is of it yet; other brackets; a scalar.
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|\[(?=\s*[\[{"])|\[[^][{}"]*(?:\]|\Z)|[][{}]'
                   rb'|[^][{},:\s"]+')


def tokens(path):
    """In order, as bytes."""
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as file:
        text, more = b"", True
        while more:
            chunk = file.read(CHUNK_BYTES)
            more, text, taken = bool(chunk), text + chunk, 0
            for match in TOKEN.finditer(text):
                if more and match.end() == len(text):
                    break  # it may go on
                yield match.group()
                taken = match.end()
            text = text[taken:]


def rows(path):
    """The rows of its lists of lists, and scalars in objects, as bytes, with the keys that lead
    there: "problem.nodes.costs" for every row of costs."""
    levels = []  # what is open: [where it is; whether it is an object; the key of its next value]
    for token in tokens(path):
        place, is_object, key = levels[-1] if levels else ("", False, None)
        if token in (b"}", b"]"):
            levels.pop()
            if levels:
                levels[-1][2] = None
            continue
        if is_object and key is None:
            levels[-1][2] = json.loads(token)
            continue
        if is_object:
            place = f"{place}.{key}".lstrip(".")
        if token in (b"{", b"["):
            levels.append([place, token == b"{", None])
            continue
        if is_object:
            levels[-1][2] = None
        if is_object != token.startswith(b"["):  # a list right in an object is no list of lists
            yield place, token


def integers(row):
    return [int(number) for number in row.strip(b"[] \n").split(b",") if number]


def entry(row, index):
    """The number at `index` of a row."""
    return int(row[1:-1].split(b",", index + 1)[index])


def peak_usage(intervals, usages):
    """The greatest sum over time."""
    changes = {}
    for (begin, end), usage in zip(intervals, usages, strict=True):
        if begin < end:
            changes[begin] = changes.get(begin, 0) + usage
            changes[end] = changes.get(end, 0) - usage
    peak = now = 0
    for time in sorted(changes):
        now += changes[time]
        peak = max(peak, now)
    return peak


class Measured:
    """nodes, edges, and usage_limit (None: none) of a problem file; cost and peak of `choice`, which
    is None if there is no answer. Raises ValueError or IndexError if it is none of this problem."""

    def __init__(self, path, choice):
        answered = choice is not None
        counts, costs, usages, intervals, ends = [], [], [], [], []
        self.usage_limit = None
        for place, row in rows(path):
            if place == "problem.nodes.costs":
                costs.append(entry(row, choice[len(counts)]) if answered else 0)
                counts.append(row.count(b",") + 1)
            elif place == "problem.nodes.usages":
                usages.append(entry(row, choice[len(usages)]) if answered else 0)
            elif place == "problem.nodes.intervals":
                intervals.append(integers(row))
            elif place == "problem.edges.nodes":
                ends.append(integers(row))
            elif place == "problem.usage_limit":
                self.usage_limit = int(row)
        self.nodes, self.edges = len(counts), len(ends)
        self.cost = self.peak = None
        if answered:
            self.peak = peak_usage(intervals, usages)
            self.cost = sum(costs) + edge_cost(path, choice, counts, ends)
        if answered and len(choice) != self.nodes:
            raise ValueError(f"{len(choice)} strategies for {self.nodes} nodes")


def edge_cost(path, choice, counts, ends):
    """Of all edges, on a second way through the file: its lists may stand in any order."""
    matrices = (row for place, row in rows(path) if place == "problem.edges.costs")
    return sum(entry(row, choice[a] * counts[b] + choice[b])
               for (a, b), row in zip(ends, matrices, strict=True))
