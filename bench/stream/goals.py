# SPDX-License-Identifier: MPL-2.0
"""The goals of STREAM, and published figures to compare it with, as ratios of runs.

The entrants of a group run in turns; a bound is a ratio of products of throughputs of runs of the same turn.
"""

import dataclasses

from programs import PROFILE, SERVERS, Load

TCP_SIZES = (64, 256, 1024, 4096, 65536)
WEBSOCKET_SIZES = (64, 1024, 65536, 262144)
CCUS = (1000, 10000)
INFLIGHT = 30
WINDOWS_PER_RUN = 6
WINDOWS_PER_SITTING = 2 * WINDOWS_PER_RUN
RUNS_OF_LARGE_LOAD = 5


@dataclasses.dataclass(frozen=True)
class Entrant:
    """One server under one load."""

    server: str
    load: Load

    def label(self):
        return f"{self.server} {self.load.transport} x{self.load.ccu}"


@dataclasses.dataclass(frozen=True)
class Bound:
    """`over` divided by `under` must reach `least`; each is a product of throughputs."""

    table: str  # "goal" or "claim".
    name: str
    over: tuple
    under: tuple
    least: float
    is_exceeded: bool = False  # The ratio must exceed `least`.

    def reached_by(self, ratio):
        return ratio > self.least if self.is_exceeded else ratio >= self.least


@dataclasses.dataclass
class Group:
    """Entrants that run in turns, and the bounds on their results.

    With bounds, entrants keep their connections for some windows, of which several make a run: turns
    are short, so a drift in the machine's speed affects all entrants alike. Then all of them are
    restarted, so that the placement of processes in memory varies between runs.
    """

    entrants: list
    bounds: list = dataclasses.field(default_factory=list)

    @property
    def _is_large(self):
        return any(entrant.load.changes == _LARGE_LOAD for entrant in self.entrants)

    @property
    def windows_per_run(self):
        return WINDOWS_PER_RUN if self.bounds and not self._is_large else 1

    @property
    def windows_per_sitting(self):
        return WINDOWS_PER_SITTING if self.bounds else 1

    @property
    def tcp_bytes(self):
        """The TCP memory that all buffers of a large load need; 0 for other loads."""
        return max(map(_buffer_bytes, self.entrants)) if self._is_large else 0

    def runs(self, asked):
        """The number of runs of an entrant; runs of a large load are long, so fewer of them suffice."""
        return min(asked, RUNS_OF_LARGE_LOAD) if self._is_large else asked

    def windows(self, asked):
        """The number of windows of an entrant in these runs."""
        return self.runs(asked) * self.windows_per_run

    def turns(self, asked):
        """Yields (window, entrant); every second window is in reverse order, so that drift favours none."""
        for index in range(self.windows(asked)):
            for entrant in self.entrants[:: -1 if index % 2 else 1]:
                yield index, entrant

    def narrowed(self, keeps):
        """The group without entrants that `keeps` rejects, and without the bounds that need them."""
        entrants = [entrant for entrant in self.entrants if keeps(entrant)]
        left = set(entrants)
        bounds = [bound for bound in self.bounds if left.issuperset(bound.over + bound.under)]
        needed = {entrant for bound in bounds for entrant in bound.over + bound.under}
        return Group([entrant for entrant in entrants if entrant in needed], bounds)


# Full buffers of this many connections exceed the kernel's limit for TCP memory (net.ipv4.tcp_mem, by
# default a tenth of the memory): it then drops segments, and the result measures how it does that. So
# the buffers are smaller, and the limit is raised (tcp_bytes). Buffers take long to drain, and four to
# six seconds to fill, during which the rate varies by half, so the profile's windows apply even if
# shorter ones were requested.
_LARGE_LOAD = (("sndbuf", 65536), ("rcvbuf", 65536), ("drain_timeout", 60.0),
               ("warmup", PROFILE["warmup"]), ("measure", PROFILE["measure"]))


def _buffer_bytes(entrant):
    profile = entrant.load.profile(PROFILE)
    # The kernel doubles the requested size, and there are two ends.
    return 4 * entrant.load.ccu * (profile["sndbuf"] + profile["rcvbuf"])


def _entrant(server, transport, ccu, size):
    assert transport in SERVERS[server].transports
    changes = _LARGE_LOAD if ccu * size >= 10000 * 65536 else ()
    return Entrant(server, Load("s2", transport, ccu, INFLIGHT, size, changes))


def _tcp_group(size):
    few, many = (
        {name: _entrant(name, "tcp", ccu, size) for name in ("zlink-io", "asio", "zlink", "epoll")}
        for ccu in CCUS
    )
    # Entrants that are compared run next to each other.
    group = Group([*few.values(), *reversed(many.values())])
    for found in (few, many):
        for name, over, under, least in (
            ("caller-driven / Asio sessions", "zlink", "asio", 1.0),
            ("caller-driven / plain epoll", "zlink", "epoll", 0.85),
            ("I/O threads / Asio sessions", "zlink-io", "asio", 0.6),
        ):
            group.bounds.append(Bound("goal", name, (found[over],), (found[under],), least))
    group.bounds.append(
        Bound(
            "goal",
            "share kept from 1,000 to 10,000 / plain epoll's",
            (many["zlink"], few["epoll"]),
            (few["zlink"], many["epoll"]),
            1.0,
        )
    )
    if size <= 1024:
        websocket = _entrant("zlink", "ws", CCUS[0], size)
        group.entrants.insert(0, websocket)
        group.bounds.append(Bound("goal", "ws / own tcp", (websocket,), (few["zlink"],), 0.7))
    return group


# (transport, size): ratios over Beast's defaults, of the goals and of claims A5 and A6.
_WEBSOCKET_GOALS = {
    "ws": {64: 5.0, 1024: 5.0, 65536: 2.5, 262144: 2.5},
    "wss": {64: 2.0, 1024: 2.0, 65536: 1.4, 262144: 1.4},
}
_CLAIM_A6 = {
    "ws": {64: 1.11, 1024: 1.50, 65536: 1.97, 262144: 2.39},
    "wss": {64: 1.13, 1024: 1.37, 65536: 1.54, 262144: 1.62},
}
_CLAIM_A5 = {"ws": 1.50, "wss": 1.37}
_CLAIM_A7 = {"tcp": 1.05, "ws": 1.29}


def _websocket_group(transport, size):
    names = ("beast", "beast-tuned", "zlink")
    group = Group([_entrant(name, transport, 1, size) for name in names])
    default, tuned, ours = group.entrants

    def add(table, name, under, least, is_exceeded=False):
        group.bounds.append(Bound(table, name, (ours,), (under,), least, is_exceeded))

    add("goal", "one connection / Beast", default, _WEBSOCKET_GOALS[transport][size])
    if transport == "ws":
        add("goal", "one connection / tuned Beast", tuned, 1.0, is_exceeded=True)
    if size == 1024:
        add("claim", "A5: 1 KiB, over Beast's defaults", default, _CLAIM_A5[transport])
    add("claim", "A6: by size, over Beast's defaults", default, _CLAIM_A6[transport][size])
    if size == 1024 and transport in _CLAIM_A7:
        add("claim", "A7: against standalone Beast", default, _CLAIM_A7[transport])
    return group


def _claim_tcp_group():
    # Beast adds nothing to Asio on tcp, so the Asio session server stands for it.
    asio, ours = (_entrant(name, "tcp", 1, 1024) for name in ("asio", "zlink"))
    bound = Bound(
        "claim", "A7: against standalone Asio", (ours,), (asio,), _CLAIM_A7["tcp"]
    )
    return Group([asio, ours], [bound])


def groups(tables):
    """The groups that these tables ("goal", "claim") need."""
    every = [_tcp_group(size) for size in TCP_SIZES]
    every += [
        _websocket_group(transport, size) for transport in ("ws", "wss") for size in WEBSOCKET_SIZES
    ]
    every.append(_claim_tcp_group())
    for group in every:
        group.bounds = [bound for bound in group.bounds if bound.table in tables]
    return [group.narrowed(lambda entrant: True) for group in every if group.bounds]
