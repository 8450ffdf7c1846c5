"""The programs that speak through other implementations; tests/suites/foreign builds them.

They lie in the folder that ZLINK_FOREIGN_PEERS names, each in a folder of its implementation's name.
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
    """Skips the tests of what was not built, because its tools are missing."""

    def __missing__(self, kind):
        pytest.skip(f"{kind} is not built")


@pytest.fixture(scope="session")
def programs(programs):
    built = {name: (command, {}) for name, command in COMMANDS.items() if (BUILT / name).is_dir()}
    return Programs(programs | built)
