"""salt: a master and two minions, which accept jobs from a PUB socket and answer through REQ and REP sockets."""

import json
import re
import shutil

import harness

MINIONS = ("ant", "bee")
LINES = 50_000
MASTER = """root_dir: {root}
interface: 127.0.0.1
publish_port: 14505
ret_port: 14506
auto_accept: True
user: root
worker_threads: 2
log_level: info
file_roots:
  base:
    - {root}/files
pillar_roots:
  base:
    - {root}/pillar
"""
MINION = """root_dir: {root}/{name}
id: {name}
master: 127.0.0.1
master_port: 14506
publish_port: 14505
user: root
log_level: info
grains:
  kind: {name}
"""
STATE = """one file:
  file.managed:
    - name: {root}/made-by-{{{{ grains['id'] }}}}
    - source: salt://source.txt
"""


def install(place):
    place.venv("pyzmq==27.3.0", "salt==3008.4")


def run(place):
    place.use_library()
    root = place.short_folder()
    configure(root)
    for name in ("master", *MINIONS):
        program = place.cache / "venv" / "bin" / ("salt-master" if name == "master" else "salt-minion")
        place.start(name, program, "-c", root / "conf" / name, env=environment(place))
    try:
        for test in (ping, ping_again, one_minion, large_reply, state, event):
            place.check(test.__name__, *test(place, root))
    finally:
        keep_logs(place, root)


def configure(root):
    for folder in ("files", "pillar", *(f"conf/{name}" for name in ("master", *MINIONS))):
        (root / folder).mkdir(parents=True)
    (root / "conf" / "master" / "master").write_text(MASTER.format(root=root))
    for name in MINIONS:
        (root / "conf" / name / "minion").write_text(MINION.format(root=root, name=name))
    (root / "files" / "source.txt").write_text("a line\n" * 100_000)
    (root / "files" / "made.sls").write_text(STATE.format(root=root))


def environment(place):
    return place.environment(HOME=str(place.logs), SALT_MINION_CONFIG="", LC_ALL="C.UTF-8")


def salt(place, root, *arguments, program="salt"):
    """Runs a salt command. Returns what it printed as JSON, or as text if it is no JSON."""
    title = re.sub(r"\W+", "_", f"salt {' '.join(arguments)}")[:60]
    command = (place.cache / "venv" / "bin" / program, "-c", root / "conf" / "master", "--out=json", "--static")
    command = command[:-1] if program != "salt" else command
    place.run(title, *command, *arguments, env=environment(place), seconds=90)
    said = place.said(title)
    try:
        return json.loads(said[said.index("{") :])
    except ValueError:
        return said


def ping(place, root):
    """Waits until both minions are there."""
    told = None

    def is_answered():
        nonlocal told
        told = salt(place, root, "*", "test.ping", "-t", "5")
        return told == dict.fromkeys(MINIONS, True)

    try:
        harness.wait_until(is_answered, 120, "the minions answer")
    except harness.Failure:
        return False, told
    return True, ""


def ping_again(place, root):
    for _ in range(3):
        told = salt(place, root, "*", "test.ping")
        if told != dict.fromkeys(MINIONS, True):
            return False, told
    return True, ""


def one_minion(place, root):
    told = salt(place, root, "-G", "kind:bee", "test.echo", "hello")
    return told == {"bee": "hello"}, told


def large_reply(place, root):
    told = salt(place, root, "*", "cmd.run", f"seq {LINES}")
    right = "\n".join(str(i) for i in range(1, LINES + 1))
    return told == dict.fromkeys(MINIONS, right), f"{len(str(told))} characters"


def state(place, root):
    """A minion fetches a file from the master, and puts it at the path in the state."""
    told = salt(place, root, "*", "state.apply", "made")
    source = (root / "files" / "source.txt").read_text()
    made = [root / f"made-by-{name}" for name in MINIONS]
    return all(file.exists() and file.read_text() == source for file in made), told


def event(place, root):
    """A minion sends the master an event."""
    told = salt(place, root, "ant", "event.send", "from/ant", '{"a": 1}')
    return told == {"ant": True}, told


def keep_logs(place, root):
    for log in root.rglob("var/log/salt/*"):
        shutil.copy(log, place.logs / f"{log.parents[3].name}-{log.name}.log")
