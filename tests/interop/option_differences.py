"""The options in which zlink differs from libzmq 4.3.5, with the reasons. test_options.py finds the differences, and
fails for one that no rule allows and, if it runs all combinations, for a rule that allows nothing.
"""

import dataclasses
import re
from collections.abc import Callable

EINVAL = "E22"
CURVE_KEYS = {"CURVE_PUBLICKEY", "CURVE_SECRETKEY", "CURVE_SERVERKEY"}


@dataclasses.dataclass
class Difference:
    """The behaviour of a combination in libzmq and in zlink, in option_probe.c's words."""

    what: str  # "set", "get", "ctx_set", "ctx_get", "message"
    option: str  # Its name, or its number if it has none.
    value: str  # The value that is set, or how it is read.
    theirs: str
    ours: str

    def refused(self):
        """libzmq accepts it, and zlink answers with EINVAL and changes nothing."""
        return self.ours == EINVAL and self.theirs != EINVAL


@dataclasses.dataclass
class Rule:
    what: str  # As in docs/compatibility.md.
    reason: str
    allows: Callable[[Difference], bool]


def bytes_in(value):
    found = re.fullmatch(r"(\d+) x", value)
    return int(found[1]) if found else 0


RULES = [
    Rule(
        "an option that ends the process",
        "nothing that a caller says may do that",
        lambda found: found.theirs == "killed" and found.ours == EINVAL,
    ),
    Rule(
        "an option set to a null pointer of some size",
        "libzmq takes what lies there for the value, or nothing for ZMQ_SOCKS_USERNAME and ZMQ_SOCKS_PASSWORD",
        lambda found: found.what == "set" and found.value.startswith("NULL, size") and found.refused(),
    ),
    Rule(
        "a CURVE key that is not Z85",
        "EINVAL in both; in libzmq the key is another one all the same",
        lambda found: found.what == "set"
        and found.option in CURVE_KEYS
        and found.ours == EINVAL
        and found.theirs.startswith(EINVAL + ";"),
    ),
    Rule(
        "a CURVE key whose Z85 ends early",
        "the rest would be zeros",
        lambda found: found.option in CURVE_KEYS and found.value == "Z85 that ends early" and found.refused(),
    ),
    Rule(
        "ports such as `5601x`, `65537`, and ZMQ_TCP_ACCEPT_FILTER `127.0.0.1/8x`",
        "a mistake is told where it is made",
        lambda found: found.option == "TCP_ACCEPT_FILTER" and found.value == "'127.0.0.1/8x'" and found.refused(),
    ),
    Rule(
        "a ZMQ_CONNECT_ROUTING_ID above 255 bytes",
        "no routing id is longer on the wire",
        lambda found: found.option == "CONNECT_ROUTING_ID" and bytes_in(found.value) > 255 and found.refused(),
    ),
    Rule(
        "ZMQ_THREAD_SAFE",
        "several threads may use any socket that is told so",
        lambda found: found.option == "THREAD_SAFE" and (found.theirs == EINVAL or found.what == "get"),
    ),
    Rule(
        "ZMQ_PRIORITY, a draft",
        "libzmq's stable library knows the number and refuses it",
        lambda found: found.option == "PRIORITY" and (found.theirs == EINVAL or found.what == "get"),
    ),
    Rule(
        "ZMQ_UNSUBSCRIBE of a topic that begins with the byte 1",
        "libzmq takes it for a subscription to what follows",
        lambda found: found.option == "UNSUBSCRIBE" and (found.theirs, found.ours) == ("0; 116 reads 0100*3,", "0"),
    ),
]
