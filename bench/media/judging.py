# SPDX-License-Identifier: MPL-2.0
"""The published figures of the experiment, the goals, and the rules by which both are judged.

All functions take the results as a dict from (cell, server) to the results of its runs, by turn.
"""

import dataclasses
import statistics

from loads import SMALL_BYTES, Cell
from servers import BASELINES, SERVERS

KIB = 1024
MIB = 1024 * KIB
SIZES = (64 * KIB, 256 * KIB, MIB)
USERS = (100, 300, 500, 2000)
TLS_USERS = (100, 500)

OURS = "zlink"
# The original's Java server answered with a ResourceRegion; its third server with transferTo.
JAVA = "spring"
JAVA_TRANSFER = "spring-transfer"

# Published figures per server, size and users, shown beside ours.
PUBLISHED = {
    (OURS, 64 * KIB, 100): {"avg_ms": 0.95, "p95_ms": 2.85, "megabytes_per_second": 69},
    (OURS, MIB, 100): {"avg_ms": 1.61, "p95_ms": 2.7, "megabytes_per_second": 1100},
    (JAVA, 64 * KIB, 100): {"avg_ms": 2.6, "p95_ms": 3.66, "megabytes_per_second": 68},
    (JAVA, MIB, 100): {"avg_ms": 4.13, "p95_ms": 9.38, "megabytes_per_second": 1100},
    (JAVA, 256 * KIB, 100): {"p95_ms": 3.6},
    (JAVA, 256 * KIB, 500): {"p95_ms": 154.9},
    (OURS, 256 * KIB, 500): {
        "p95_ms": 3.8, "megabytes_per_second": 1200, "requests_per_second": 4390
    },
    (JAVA_TRANSFER, 256 * KIB, 500): {"p95_ms": 110.9},
}

# A measured ratio within this share of the published one is a reproduction.
TOLERANCE = 0.1
# "No worse": the median of the pairs may be short by this much.
SAME = 0.03


@dataclasses.dataclass(frozen=True)
class Term:
    """A figure of a server under a load."""

    server: str
    cell: Cell
    figure: str

    def values(self, results):
        return [result[self.figure] for result in results.get((self.cell, self.server), [])]


@dataclasses.dataclass(frozen=True)
class Claim:
    """A published ratio of two figures; absolute figures depend on the machine."""

    experiment: str
    name: str
    over: Term
    under: object  # A Term or a number.
    published: float
    is_less_better: bool = True
    is_about_java: bool = False  # That Java is so much worse, or changes so much.

    def terms(self):
        return [term for term in (self.over, self.under) if isinstance(term, Term)]

    def without(self, unavailable):
        return None if any(map(unavailable, self.terms())) else self

    def values(self, results):
        over = self.over.values(results)
        if not isinstance(self.under, Term):
            return [value / self.under for value in over]
        pairs = zip(over, self.under.values(results))
        return [mine / theirs for mine, theirs in pairs if mine > 0 and theirs > 0]

    def verdict(self, median):
        """Beaten: more than a tenth beyond the published ratio, in the claimed direction. Reproduced:
        at most a tenth short of it; a claim about Java cannot be beaten. Refuted: everything else,
        with a word on whether the direction holds, that is on which side of 1 the ratio is."""
        # From here on less is better.
        measured, published = (
            (median, self.published) if self.is_less_better else (1 / median, 1 / self.published)
        )
        if measured <= published * (1 - TOLERANCE) and not self.is_about_java:
            return "beaten"
        if measured <= published * (1 + TOLERANCE):
            return "reproduced"
        if published < 1 and measured < 1:
            return "refuted, but the direction holds"
        return "refuted"


@dataclasses.dataclass(frozen=True)
class RatioGoal:
    """The ratio to nginx, as the median of the pairs, is at most or at least `bound`. Of several
    configurations of nginx the one with the best median of this figure counts."""

    name: str
    over: Term
    baselines: tuple
    bound: float
    is_upper: bool

    unit = "x"

    def terms(self):
        return [self.over, *self.baselines]

    def without(self, unavailable):
        """The goal without the configurations of nginx that are not measured, or None."""
        left = tuple(term for term in self.baselines if not unavailable(term))
        if unavailable(self.over) or not left:
            return None
        return dataclasses.replace(self, baselines=left)

    def under(self, results):
        best = min if self.is_upper else max
        return best(self.baselines, key=lambda term: statistics.median(term.values(results)))

    def values(self, results):
        pairs = zip(self.over.values(results), self.under(results).values(results))
        return [mine / theirs for mine, theirs in pairs if theirs > 0]

    def reached_by(self, median):
        return median <= self.bound if self.is_upper else median >= self.bound


@dataclasses.dataclass(frozen=True)
class GrowthGoal:
    """Between two loads a latency grows less than that of another server: the difference of the two
    growths in milliseconds, as the median of the pairs, is above 0."""

    name: str
    figure: str
    small: Cell
    large: Cell
    other: str

    bound = 0.0
    is_upper = False
    unit = "ms"

    def terms(self):
        return [
            Term(server, cell, self.figure)
            for server in (OURS, self.other)
            for cell in (self.small, self.large)
        ]

    def without(self, unavailable):
        return None if any(map(unavailable, self.terms())) else self

    def values(self, results):
        ours_small, ours_large, small, large = (term.values(results) for term in self.terms())
        return [
            (theirs_after - theirs_before) - (ours_after - ours_before)
            for ours_before, ours_after, theirs_before, theirs_after in zip(
                ours_small, ours_large, small, large
            )
        ]

    def reached_by(self, median):
        return median > self.bound


# --- the claims of the three experiments ---


def _growth(name, experiment, server, figure, small, large, **more):
    published = PUBLISHED[(server, large.size, large.users)][figure] / (
        PUBLISHED[(server, small.size, small.users)][figure]
    )
    return Claim(experiment, name, Term(server, large, figure), Term(server, small, figure),
                 published, **more)


def _beside(name, experiment, cell, figure, over, under, **more):
    published = PUBLISHED[(over, cell.size, cell.users)][figure] / (
        PUBLISHED[(under, cell.size, cell.users)][figure]
    )
    return Claim(experiment, name, Term(over, cell, figure), Term(under, cell, figure), published, **more)


def claims(pause_seconds):
    """All claims; the users of the loads pause for so long after each response."""
    small, large = (Cell(size, 100, "paced") for size in (64 * KIB, MIB))
    few, many = (Cell(256 * KIB, users, "paced") for users in (100, 500))
    found = []
    for figure, name in (("avg_ms", "average"), ("p95_ms", "p95")):
        found.append(_growth(f"B1: {name} of sendfile, 1 MiB / 64 KiB", "1", OURS, figure, small, large))
        found.append(
            _growth(f"B2: {name} of Java, 1 MiB / 64 KiB", "1", JAVA, figure, small, large,
                    is_less_better=False, is_about_java=True)
        )
        for cell, size in ((small, "64 KiB"), (large, "1 MiB")):
            found.append(
                _beside(f"B1, B2: {name}, sendfile / Java, {size}", "1", cell, figure, OURS, JAVA)
            )
    found.append(
        _growth("B1: MB/s of sendfile, 1 MiB / 64 KiB", "1", OURS, "megabytes_per_second", small,
                large, is_less_better=False)
    )
    found.append(
        _growth("B3: p95 of Java, 500 / 100 users", "2", JAVA, "p95_ms", few, many,
                is_less_better=False, is_about_java=True)
    )
    found.append(_beside("B3: p95, sendfile / Java, 500 users", "2", many, "p95_ms", OURS, JAVA))
    # 4,390 requests/s are 88 % of what 500 users with a pause of 0.1 s and no latency would make.
    found.append(
        Claim("2", "B3: requests/s of sendfile / those offered, 500 users",
              Term(OURS, many, "requests_per_second"), many.users / pause_seconds,
              PUBLISHED[(OURS, many.size, many.users)]["requests_per_second"] / (many.users / 0.1),
              is_less_better=False)
    )
    found.append(
        _beside("B4: p95 of Java, transferTo / ResourceRegion, 500 users", "3", many, "p95_ms",
                JAVA_TRANSFER, JAVA, is_about_java=True)
    )
    found.append(
        _beside("B4: p95, sendfile / Java transferTo, 500 users", "3", many, "p95_ms", OURS,
                JAVA_TRANSFER)
    )
    return found


def experiment_cells(experiment, modes):
    """The loads of an experiment; it is made with pauses, so other modes only add to it."""
    loads = {
        "1": [(64 * KIB, 100), (MIB, 100)],
        "2": [(256 * KIB, users) for users in (100, 300, 500)],
        "3": [(256 * KIB, 500)],
    }[experiment]
    return [Cell(size, users, mode) for mode in modes for size, users in loads]


# --- the goals ---

_CPU_BOUNDS = {64 * KIB: 0.75, 256 * KIB: 0.9, MIB: 0.75}
_CPU_BOUND_TLS = 0.9
_SMALL_RATE_BOUND = 1.2


def goals():
    """All goals."""
    found = []
    for is_secure, all_users in ((False, USERS), (True, TLS_USERS)):
        for size in SIZES:
            for users in all_users:
                for mode in ("paced", "saturated"):
                    found += _goals_of(Cell(size, users, mode, is_secure))
    small = Cell(SMALL_BYTES, 100, "saturated", is_whole=True)
    found.append(_ratio("requests/s of small files", small, "requests_per_second", _SMALL_RATE_BOUND, False))
    for name, before, after in (
        ("64 KiB to 1 MiB", Cell(64 * KIB, 100, "paced"), Cell(MIB, 100, "paced")),
        ("100 to 500 users", Cell(256 * KIB, 100, "paced"), Cell(256 * KIB, 500, "paced")),
    ):
        for server in SERVERS.values():
            if server.is_java:
                found.append(
                    GrowthGoal(f"p95 growth, {name}, less than {server.name}", "p95_ms", before, after,
                               server.name)
                )
    return found


def _goals_of(cell):
    cpu_bound = _CPU_BOUND_TLS if cell.is_secure else _CPU_BOUNDS[cell.size]
    return [
        _ratio("server CPU per request", cell, "server_cpu_us_per_request", cpu_bound, True),
        _ratio("requests/s", cell, "requests_per_second", 1 - SAME, False),
        _ratio("p95", cell, "p95_ms", 1 + SAME, True),
    ]


def _ratio(name, cell, figure, bound, is_upper):
    baselines = tuple(
        Term(server, cell, figure)
        for server in BASELINES
        if SERVERS[server].has_tls or not cell.is_secure
    )
    return RatioGoal(name, Term(OURS, cell, figure), baselines, bound, is_upper)


# --- judging ---


def summarise_values(values):
    return {"median": statistics.median(values), "minimum": min(values), "maximum": max(values)}


def _why_unjudged(terms, results, failed):
    for term in terms:
        key = (term.cell, term.server)
        if key in failed:
            return f"{term.server} failed"
        if not results.get(key):
            return f"{term.server} was not measured"
    return None


def _not_passed(terms, results):
    """The servers of which a run had failures: their figures prove nothing."""
    return sorted({
        term.server
        for term in terms
        for result in results[(term.cell, term.server)]
        if not result["pass"]
    })


def judge(item, results, failed):
    """What is to be reported of a goal or claim: the ratio or difference, and the verdict."""
    why = _why_unjudged(item.terms(), results, failed)
    is_claim = isinstance(item, Claim)
    made = {"name": item.name, "reached": False, "pairs": 0}
    if is_claim:
        made.update(experiment=item.experiment, published=item.published, unit="x")
    else:
        made.update(goal=item.bound, is_upper=item.is_upper, unit=item.unit)
    values = [] if why else item.values(results)
    if not values:
        return dict(made, verdict=f"not judged: {why or 'a figure is 0'}")
    made.update(summarise_values(values), values=values, pairs=len(values), medians={
        f"{term.server} {describe_cell(term.cell)}": statistics.median(term.values(results))
        for term in item.terms()
    })
    broken = _not_passed(item.terms(), results)
    if broken:
        return dict(made, verdict=f"not judged: runs of {', '.join(broken)} had failures")
    if is_claim:
        verdict = item.verdict(made["median"])
        return dict(made, verdict=verdict, reached=not verdict.startswith("refuted"))
    reached = item.reached_by(made["median"])
    return dict(made, verdict="reached" if reached else "missed", reached=reached)


def describe_cell(cell):
    size = f"{cell.size // MIB} MiB" if cell.size >= MIB else f"{cell.size / KIB:g} KiB"
    kind = "whole files" if cell.is_whole else "ranges"
    return f"{size} {kind}, {cell.users} users, {cell.mode}{', TLS' if cell.is_secure else ''}"
