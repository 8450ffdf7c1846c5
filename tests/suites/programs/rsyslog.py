"""rsyslog: omczmq sends messages to imczmq of another rsyslogd; both use czmq on libzmq."""

import socket

import harness

COUNT = 2000
SENDER = """global(workDirectory="{folder}")
module(load="imuxsock" SysSock.Use="off")
module(load="omczmq")
input(type="imuxsock" Socket="{folder}/in" ratelimit.interval="0")
template(name="text" type="string" string="%msg%")
action(type="omczmq" endpoints="{endpoint}" socktype="{kind}" template="text"{more})
"""
RECEIVER = """global(workDirectory="{folder}")
module(load="imczmq")
template(name="line" type="string" string="%rawmsg%\\n")
ruleset(name="write") {{ action(type="omfile" file="{folder}/out" template="line") }}
input(type="imczmq" endpoints="{endpoint}" socktype="{kind}" ruleset="write"{more})
"""


def install(place):
    place.command("rsyslogd", "-v")
    place.command("sh", "-c", "ls /usr/lib/*/rsyslog/omczmq.so")


def run(place):
    test(place, "push_pull", ("PUSH", ">tcp://127.0.0.1:15601"), ("PULL", "@tcp://127.0.0.1:15601"))
    test(place, "push_pull_bound", ("PUSH", "@tcp://127.0.0.1:15602"), ("PULL", ">tcp://127.0.0.1:15602"))
    test(place, "push_pull_ipc", ("PUSH", ">ipc://{folder}/s"), ("PULL", "@ipc://{folder}/s"))
    late(place, "push_pull_late", ("PUSH", ">tcp://127.0.0.1:15603"), ("PULL", "@tcp://127.0.0.1:15603"))
    topics = ' topics="{topic}"'
    subscriber = ("SUB", ">tcp://127.0.0.1:15604", topics.format(topic="log"))
    test(place, "pub_sub", ("PUB", "@tcp://127.0.0.1:15604", topics.format(topic="log")), subscriber)


def daemon(place, title, text, folder, kind, endpoint, more=""):
    """Starts an rsyslogd in the foreground."""
    file = folder / f"{title}.conf"
    endpoint = endpoint.format(folder=folder)
    file.write_text(text.format(folder=folder, kind=kind, endpoint=endpoint, more=more))
    return place.start(title, "rsyslogd", "-n", "-f", file, "-i", folder / f"{title}.pid")


def lines(folder):
    try:
        return (folder / "out").read_text().splitlines()
    except FileNotFoundError:
        return []


def log(folder, *messages):
    """Sends messages to the sender's rsyslogd."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        harness.wait_until(lambda: channel.connect(str(folder / "in")) is None, 20, "rsyslogd takes messages in")
        for message in messages:
            channel.send(f"<13>test: {message}".encode())


def test(place, name, sender, receiver):
    """Both daemons run; sends probes until one arrives, then all messages, each of which has to arrive."""
    folder = place.short_folder()
    daemon(place, f"{name}_receiver", RECEIVER, folder, *receiver)
    daemon(place, f"{name}_sender", SENDER, folder, *sender)

    def is_through():
        log(folder, "probe")
        return lines(folder)

    try:
        harness.wait_until(is_through, 30, "nothing is through")
        log(folder, *(f"number {i}" for i in range(COUNT)))
        check(place, name, folder)
    except harness.Failure as error:
        place.failed(name, error)


def late(place, name, sender, receiver):
    """The sender connects and accepts messages before there is a receiver."""
    folder = place.short_folder()
    daemon(place, f"{name}_sender", SENDER, folder, *sender)
    try:
        log(folder, *(f"number {i}" for i in range(COUNT // 4)))
        daemon(place, f"{name}_receiver", RECEIVER, folder, *receiver)
        log(folder, *(f"number {i}" for i in range(COUNT // 4, COUNT)))
        check(place, name, folder)
    except harness.Failure as error:
        place.failed(name, error)


def check(place, name, folder):
    def came():
        # In the other pattern the topic comes first.
        return [line[line.index("number") :] for line in lines(folder) if "number" in line]

    wanted = [f"number {i}" for i in range(COUNT)]
    try:
        harness.wait_until(lambda: came() == wanted, 30, "not all came in order")
        place.passed(name)
    except harness.Failure as error:
        place.failed(name, f"{error}: {len(came())}, the last is {came()[-1:]}")
