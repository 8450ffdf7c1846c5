"""Several peers at one socket: the order in which they are served, and the messages that each gets."""

from collections import Counter

import pytest

from driver import eventually
from exchange import await_subscription, subscribe

PAIRINGS = ["stock-zlink", "zlink-stock", "zlink-zlink"]
pairings = pytest.mark.parametrize("pairing", PAIRINGS)
transports = pytest.mark.parametrize("transport", ["tcp", "ipc"])


def fan_in(kind, receiver, sender_peers, endpoint, count, size, **options):
    senders = []
    for peer in sender_peers:
        sender = peer.socket(kind, **options)
        sender.connect(endpoint)
        senders.append(sender)
    return [
        sender.start("send_numbered", count=count, size=size, stream=number)
        for number, sender in enumerate(senders)
    ]


@pairings
@transports
@pytest.mark.parametrize("kinds", ["PUSH-PULL", "DEALER-ROUTER", "DEALER-DEALER"])
def test_many_senders_are_all_heard_in_order(kinds, transport, pairing, peers, wildcard):
    senders, receiver_kind = pairing.split("-")
    sender_kind, kind = kinds.split("-")
    receiver = peers(receiver_kind).socket(kind)
    endpoint = receiver.bind(wildcard(transport))
    processes = [peers(senders) for _ in range(3)]
    # Two sockets in each process.
    sending = fan_in(sender_kind, receiver, processes * 2, endpoint, 2000, 64)
    outcome = receiver.call("recv_numbered", count=12000, size=64, skip=kind == "ROUTER")
    assert outcome["streams"] == {str(number): 2000 for number in range(6)}
    for call in sending:
        call.result()


@pairings
@pytest.mark.parametrize("kinds", ["PUSH-PULL", "DEALER-ROUTER", "DEALER-DEALER"])
def test_waiting_senders_take_turns(kinds, pairing, peers, wildcard):
    """With messages from all available, no sender is served twice before every other sender was served once."""
    senders, receiver_kind = pairing.split("-")
    sender_kind, kind = kinds.split("-")
    process = peers(receiver_kind)
    receiver = process.socket(kind)
    endpoint = receiver.bind(wildcard("tcp"))
    processes = [peers(senders) for _ in range(4)]
    sending = fan_in(sender_kind, receiver, processes, endpoint, 400, 64, LINGER=-1)
    for call in sending:
        call.result()
    for sender in processes:
        sender.call("close", f"{sender_kind}-0")
        sender.call("term")
    # All messages were written to the connections, and they are fewer than the high-water marks.
    process.await_idle()
    turns = receiver.call("recv_numbered", count=1600, size=64, skip=kind == "ROUTER")["turns"]
    middle = turns[16:-16]
    longest = max(len(run) for run in runs(middle))
    assert longest <= 2, f"a sender was served {longest} times in a row"
    for start in range(0, len(middle), 100):
        assert min(Counter(middle[start : start + 100]).values()) >= 15


def runs(values):
    current = []
    for value in values:
        if current and current[-1] != value:
            yield current
            current = []
        current.append(value)
    yield current


@pairings
@transports
@pytest.mark.parametrize("kinds", ["PUSH-PULL", "DEALER-DEALER", "DEALER-REP"])
def test_a_sender_spreads_over_its_receivers(kinds, transport, pairing, peers, wildcard):
    one, many = pairing.split("-")
    kind, receiver_kind = kinds.split("-")
    sender = peers(one).socket(kind)
    endpoint = sender.bind(wildcard(transport))
    prefix = [b""] if receiver_kind == "REP" else []
    receivers = []
    for _ in range(3):
        receiver = peers(many).socket(receiver_kind)
        receiver.connect(endpoint)
        receivers.append(receiver)
    # A receiver takes part once the sender knows it.
    known = set()

    def are_all_known():
        sender.send(*prefix, b"probe")
        for index, receiver in enumerate(receivers):
            if receiver.try_recv(20):
                known.add(index)
                if receiver_kind == "REP":
                    receiver.send(b"ok")
        return len(known) == 3

    eventually(are_all_known)
    for receiver in receivers:
        while receiver.try_recv(50):
            if receiver_kind == "REP":
                receiver.send(b"ok")
    for _ in range(30):
        sender.send(*prefix, b"work")
    for receiver in receivers:
        for _ in range(10):
            assert receiver.recv() == [b"work"]
            if receiver_kind == "REP":
                receiver.send(b"ok")
        assert receiver.try_recv(20) is None


@pairings
def test_a_busy_receiver_is_passed_over(pairing, peers, wildcard):
    one, many = pairing.split("-")
    process = peers(one)
    sender = process.socket("PUSH", SNDHWM=5, SNDBUF=4096)
    endpoint = sender.bind(wildcard("tcp"))
    busy_process = peers(many)
    busy = busy_process.socket("PULL", RCVHWM=5, RCVBUF=4096)
    busy.connect(endpoint)
    body = bytes(20000)
    sender.send(body)
    assert busy.recv() == [body]

    def is_full():
        process.await_idle()
        busy_process.await_idle()
        return sender.call("fill", size=20000, count_max=5000) == 0

    eventually(is_full)
    idle = peers(many).socket("PULL")
    idle.connect(endpoint)
    for _ in range(50):
        sender.send(body)
    # The kernel may still have held some of the busy receiver's messages; its two queues hold ten.
    received = idle.call("drain", timeout=1000)
    assert received >= 35


@pairings
@transports
def test_every_subscriber_gets_everything(pairing, transport, peers, wildcard):
    one, many = pairing.split("-")
    publisher = peers(one).socket("PUB", SNDHWM=0)
    endpoint = publisher.bind(wildcard(transport))
    subscribers = []
    process = peers(many)
    for index in range(8):
        subscriber = process.socket("SUB", RCVHWM=0)
        subscribe(subscriber, b"")
        subscriber.connect(endpoint)
        subscribers.append(subscriber)
    for subscriber in subscribers:
        await_subscription(publisher, subscriber)
    publisher.send(b"begin")
    for subscriber in subscribers:
        eventually(lambda: subscriber.recv() == [b"begin"])
    publisher.call("send_numbered", count=3000, size=100)
    for subscriber in subscribers:
        subscriber.call("recv_numbered", count=3000, size=100)


@pairings
def test_a_slow_subscriber_loses_and_a_quick_one_does_not(pairing, peers, wildcard):
    one, many = pairing.split("-")
    publisher = peers(one).socket("PUB", SNDHWM=100, SNDBUF=8192)
    endpoint = publisher.bind(wildcard("tcp"))
    slow = peers(many).socket("SUB", RCVHWM=10, RCVBUF=8192)
    quick = peers(many).socket("SUB", RCVHWM=0)
    for subscriber in (slow, quick):
        subscribe(subscriber, b"")
        subscriber.connect(endpoint)
        await_subscription(publisher, subscriber)
    while quick.try_recv(50):
        pass
    while slow.try_recv(50):
        pass
    body = bytes(4000)
    for _ in range(100):
        for _ in range(30):
            publisher.send(body)
        for _ in range(30):
            assert quick.recv() == [body]
    lost = 3000 - slow.call("drain", timeout=300)
    assert 0 < lost < 3000


def test_pair_takes_one_peer_at_a_time(peers, wildcard):
    bound = peers("zlink").socket("PAIR")
    endpoint = bound.bind(wildcard("tcp"))
    process = peers("stock")
    first = process.socket("PAIR")
    first.connect(endpoint)
    first.send(b"mine")
    assert bound.recv() == [b"mine"]
    second = process.socket("PAIR", RECONNECT_IVL=20)
    second.connect(endpoint)
    bound.send(b"to the first")
    assert first.recv() == [b"to the first"]
    assert second.try_recv(100) is None
