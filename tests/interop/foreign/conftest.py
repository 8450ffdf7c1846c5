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


@pytest.fixture(scope="session")
def programs(programs):
    return programs | {name: (command, {}) for name, command in COMMANDS.items()}
