"""The programs that use other implementations; tests/suites/foreign builds them.

They lie in the folder ZLINK_FOREIGN_PEERS, each in a folder with its implementation's name.
"""

import os
from pathlib import Path

import pytest

BUILT = Path(os.environ["ZLINK_FOREIGN_PEERS"])
COMMANDS = {
    "jeromq": ["java", "-cp", f"{BUILT}/jeromq/classes:{BUILT}/jeromq/dependency/*", "Peer"],
    "zmq4": [BUILT / "zmq4" / "peer"],
    "zeromq.rs": [BUILT / "zeromq.rs" / "release" / "peer"],
}


class Programs(dict):
    """Skips the tests of programs that were not built, because their tools are missing."""

    def __missing__(self, kind):
        pytest.skip(f"{kind} is not built")


@pytest.fixture(scope="session")
def programs(programs):
    built = {name: (command, {}) for name, command in COMMANDS.items() if (BUILT / name).is_dir()}
    return Programs(programs | built)
