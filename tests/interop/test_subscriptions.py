"""A subscriber gets the messages that match its subscriptions, and the publisher knows these."""

import pytest

from driver import eventually
from exchange import await_subscription, subscribe, unsubscribe

PAIRINGS = ["stock-zlink", "zlink-stock", "zlink-zlink", "inproc"]
pairings = pytest.mark.parametrize("pairing", PAIRINGS)


@pytest.fixture
def joined(pairing, peers, wildcard):
    """Makes a connected publisher and subscriber of given kinds."""

    def make(publisher_kind, subscriber_kind, **options):
        if pairing == "inproc":
            first = second = peers("zlink")
        else:
            first, second = [peers(kind) for kind in pairing.split("-")]
        publisher = first.socket(publisher_kind, **options)
        endpoint = publisher.bind(wildcard("inproc" if pairing == "inproc" else "tcp"))
        subscriber = second.socket(subscriber_kind)
        subscriber.connect(endpoint)
        return publisher, subscriber

    return make


@pairings
@pytest.mark.parametrize("subscriber_kind", ["SUB", "XSUB"])
def test_only_prefixes_that_were_asked_for_arrive(subscriber_kind, joined):
    publisher, subscriber = joined("PUB", subscriber_kind)
    for topic in (b"apple", b"\x00\xff", b"z" * 300):
        subscribe(subscriber, topic)
        await_subscription(publisher, subscriber, topic)
    for message in (b"appl", b"apple", b"apples", b"\x00", b"\x00\xff\x00", b"z" * 299, b"z" * 301, b""):
        publisher.send(message)
    publisher.send(b"apple", b"", b"second part")
    received = [subscriber.recv() for _ in range(5)]
    expected = [[b"apple"], [b"apples"], [b"\x00\xff\x00"], [b"z" * 301], [b"apple", b"", b"second part"]]
    assert received == expected


@pairings
def test_nothing_arrives_without_a_subscription(joined):
    publisher, subscriber = joined("XPUB", "SUB")
    subscribe(subscriber, b"a")
    assert publisher.recv() == [b"\x01a"]
    unsubscribe(subscriber, b"a")
    assert publisher.recv() == [b"\x00a"]
    publisher.send(b"a")
    subscribe(subscriber, b"b")
    assert publisher.recv() == [b"\x01b"]
    publisher.send(b"b")
    assert subscriber.recv() == [b"b"]


@pairings
def test_a_topic_counts_as_often_as_it_was_asked_for(joined):
    publisher, subscriber = joined("XPUB", "SUB")
    for _ in range(3):
        subscribe(subscriber, b"a")
    assert publisher.recv() == [b"\x01a"]
    for _ in range(2):
        unsubscribe(subscriber, b"a")
    assert publisher.try_recv(50) is None
    publisher.send(b"a1")
    assert subscriber.recv() == [b"a1"]
    unsubscribe(subscriber, b"a")
    assert publisher.recv() == [b"\x00a"]


@pairings
def test_overlapping_prefixes_deliver_once(joined):
    publisher, subscriber = joined("XPUB", "SUB")
    for topic in (b"", b"a", b"ab"):
        subscribe(subscriber, topic)
        assert publisher.recv() == [b"\x01" + topic]
    publisher.send(b"abc")
    publisher.send(b"end")
    assert [subscriber.recv(), subscriber.recv()] == [[b"abc"], [b"end"]]
    unsubscribe(subscriber, b"")
    assert publisher.recv() == [b"\x00"]
    publisher.send(b"end")
    publisher.send(b"ab")
    assert subscriber.recv() == [b"ab"]


@pairings
def test_xpub_hears_of_new_topics_only_unless_verbose(joined):
    publisher, subscriber = joined("XPUB", "XSUB", XPUB_VERBOSE=1)
    for _ in range(2):
        subscribe(subscriber, b"a")
        assert publisher.recv() == [b"\x01a"]


@pairings
def test_xsub_messages_reach_xpub(joined):
    publisher, subscriber = joined("XPUB", "XSUB")
    subscriber.send(b"\x02not a subscription", b"two parts")
    assert publisher.recv() == [b"\x02not a subscription", b"two parts"]


@pairings
def test_a_subscriber_that_leaves_takes_its_topics_along(joined):
    publisher, subscriber = joined("XPUB", "SUB")
    for topic in (b"a", b"b"):
        subscribe(subscriber, topic)
        assert publisher.recv() == [b"\x01" + topic]
    subscriber.close(0)
    assert {publisher.recv()[0] for _ in range(2)} == {b"\x00a", b"\x00b"}


@pairings
def test_topics_are_counted_over_all_subscribers(pairing, peers, wildcard):
    if pairing == "inproc":
        first = second = peers("zlink")
    else:
        first, second = [peers(kind) for kind in pairing.split("-")]
    publisher = first.socket("XPUB")
    endpoint = publisher.bind(wildcard("inproc" if pairing == "inproc" else "tcp"))
    subscribers = [second.socket("SUB") for _ in range(2)]
    for subscriber in subscribers:
        subscriber.connect(endpoint)
        subscribe(subscriber, b"a")
        subscribe(subscriber, b"")
    seen = [publisher.recv()[0] for _ in range(2)]
    assert sorted(seen) == [b"\x01", b"\x01a"]
    for subscriber in subscribers:
        await_subscription(publisher, subscriber, b"a")
    subscribers[0].close(0)
    assert publisher.try_recv(100) is None
    publisher.send(b"a2")
    # Messages that probed the other subscriber matched both.
    eventually(lambda: subscribers[1].recv() == [b"a2"])
    subscribers[1].close(0)
    assert {publisher.recv()[0] for _ in range(2)} == {b"\x00", b"\x00a"}


@pairings
def test_thousands_of_topics(joined):
    publisher, subscriber = joined("XPUB", "XSUB", RCVHWM=0)
    topics = [b"topic/%d" % number for number in range(2000)]
    for topic in topics:
        subscriber.send(b"\x01" + topic)
    assert {publisher.recv()[0] for _ in topics} == {b"\x01" + topic for topic in topics}
    publisher.send(b"topic/1999/x")
    publisher.send(b"topic/x")
    publisher.send(b"topic/0")
    assert [subscriber.recv(), subscriber.recv()] == [[b"topic/1999/x"], [b"topic/0"]]
    for topic in topics:
        subscriber.send(b"\x00" + topic)
    assert {publisher.recv()[0] for _ in topics} == {b"\x00" + topic for topic in topics}


def test_a_proxy_forwards_both_ways(peers, ipc_folder):
    """XSUB and XPUB around zmq_proxy, with the other library outside."""
    broker = peers("zlink")
    outside = peers("stock")
    frontend = broker.socket("XSUB")
    publish_to = frontend.bind("tcp://127.0.0.1:*")
    subscribe_at = f"ipc://{ipc_folder}/proxy"
    running = frontend.start("proxy", backend={"kind": "XPUB", "endpoint": subscribe_at})
    publisher = outside.socket("PUB", SNDHWM=0)
    publisher.connect(publish_to)
    subscriber = outside.socket("SUB", RCVHWM=0)
    subscribe(subscriber, b"")
    subscriber.connect(subscribe_at)
    await_subscription(publisher, subscriber)
    for count in range(10):
        publisher.call("send_numbered", count=100, size=64, first=count * 100)
        # The proxy's sockets have high-water marks, so the number in flight is limited to these.
        eventually(lambda: subscriber.call("poll", timeout=1000, flags=1))
        for index in range(100):
            assert int.from_bytes(subscriber.recv()[0][4:12], "big") == count * 100 + index
    broker.call("term")
    assert running.result() == "ETERM"
