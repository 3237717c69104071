# SPDX-License-Identifier: GPL-3.0-or-later
"""Random strategy-selection problems, each kind of which takes another way through the solver."""
import dataclasses

FORBIDDEN = 10**18


@dataclasses.dataclass
class Problem:
    intervals: list = dataclasses.field(default_factory=list)
    costs: list = dataclasses.field(default_factory=list)
    usages: list = dataclasses.field(default_factory=list)
    pairs: list = dataclasses.field(default_factory=list)
    edge_costs: list = dataclasses.field(default_factory=list)
    limit: int | None = None

    def json(self, name):
        """As bench/solver and meshwright-solve read it."""
        problem = {"name": name,
                   "nodes": {"intervals": self.intervals, "costs": self.costs,
                             "usages": self.usages},
                   "edges": {"nodes": self.pairs, "costs": self.edge_costs}}
        return {"problem": problem if self.limit is None else problem | {"usage_limit": self.limit}}

    def loads(self, of_strategies):
        """At every time, the sum of what `of_strategies` takes of the usages of the live nodes."""
        loads = {}
        for (begin, end), usages in zip(self.intervals, self.usages):
            for time in range(begin, end):
                loads[time] = loads.get(time, 0) + of_strategies(usages)
        return loads


def thrift(draw, nodes, edges, span, share, forbidden=0.0, begin=0):
    """Costs fall as usages rise, nodes near in index share edges, and a node lives for at most
    `span` times. The limit is `share` of the way from the least peak of the nodes one by one to the
    greatest: no prices of memory make a bound tight, so it takes branch and bound to close the
    gap."""
    problem, times = Problem(), max(2, nodes // 3)
    for node in range(nodes):
        first = node * times // nodes
        usages = sorted(draw.randrange(1, 1000) for _ in range(draw.randint(2, 6)))
        end = min(times, first + 1 + draw.randrange(span))
        problem.intervals.append([begin + first, begin + end])
        problem.usages.append(usages)
        problem.costs.append([3 * (1000 - usage) + draw.randrange(400) for usage in usages])
    for _ in range(edges):
        a = draw.randrange(nodes)
        b = min(nodes - 1, max(0, a + draw.choice([-1, 1]) * (1 + int(draw.expovariate(1 / 4)))))
        if a != b:
            problem.pairs.append([a, b])
            problem.edge_costs.append([
                FORBIDDEN if draw.random() < forbidden else draw.choice([0, draw.randrange(1500)])
                for _ in range(len(problem.costs[a]) * len(problem.costs[b]))])
    least = max(problem.loads(min).values())
    problem.limit = int(least + share * (max(problem.loads(max).values()) - least))
    return problem


def apart(problems):
    """The problems as one, in as many components: without a common edge, and, if they begin late
    enough after one another, without a common time."""
    joined = Problem(limit=max(problem.limit for problem in problems))
    for problem in problems:
        first = len(joined.costs)
        joined.intervals += problem.intervals
        joined.costs += problem.costs
        joined.usages += problem.usages
        joined.edge_costs += problem.edge_costs
        joined.pairs += [[a + first, b + first] for a, b in problem.pairs]
    return joined


def grid(draw, side):
    """Without memory, but too wide to be solved by elimination of its nodes."""
    problem, strategies = Problem(), 5
    for node in range(side * side):
        problem.intervals.append([0, 0])
        problem.costs.append([draw.randrange(100) for _ in range(strategies)])
        problem.usages.append([0] * strategies)
        right = [node + 1] * ((node + 1) % side > 0)
        below = [node + side] * (node + side < side * side)
        for other in right + below:
            problem.pairs.append([node, other])
            problem.edge_costs.append([draw.randrange(200) for _ in range(strategies**2)])
    return problem


def contradiction(draw, nodes, edges):
    """So many forbidden pairs that no choice is left, whatever the limit."""
    problem, strategies = Problem(), 4
    for _ in range(nodes):
        problem.intervals.append([0, 1])
        problem.costs.append([draw.randrange(100) for _ in range(strategies)])
        problem.usages.append([1] * strategies)
    for _ in range(edges):
        problem.pairs.append(draw.sample(range(nodes), 2))
        problem.edge_costs.append([FORBIDDEN if draw.random() < 0.35 else draw.randrange(50)
                                   for _ in range(strategies**2)])
    return problem
