"""High-water marks, time-outs, linger, the end of a context, socket states, and the ways to wait."""

import socket
import time

import pytest

from driver import PeerError, encoded, eventually, is_blocked

KINDS = ["stock", "zlink"]
PAIRINGS = ["stock-zlink", "zlink-stock", "zlink-zlink"]
pairings = pytest.mark.parametrize("pairing", PAIRINGS)


def refusal_of(call):
    with pytest.raises(PeerError) as refusal:
        call()
    return refusal.value.errno


def unbound_endpoint():
    """A port without a listener; held, without listening, during the lifetime of the result."""
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    return holder, f"tcp://127.0.0.1:{holder.getsockname()[1]}"


@pytest.mark.parametrize("sender_kind", ["PUSH", "DEALER", "PAIR"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mark", [1, 2, 10, 1000])
def test_a_queue_without_a_peer_takes_its_mark(mark, kind, sender_kind, peers):
    holder, endpoint = unbound_endpoint()
    with holder:
        sender = peers(kind).socket(sender_kind, SNDHWM=mark)
        sender.connect(endpoint)
        assert sender.call("fill", size=10, count_max=5000) == mark


@pytest.mark.parametrize("kind", KINDS)
def test_a_multipart_message_counts_once_per_part_or_message(kind, peers):
    """libzmq counts messages, not parts."""
    holder, endpoint = unbound_endpoint()
    with holder:
        sender = peers(kind).socket("PUSH", SNDHWM=10)
        sender.connect(endpoint)
        count = 0
        try:
            for _ in range(100):
                sender.try_send(b"a", b"b", b"c")
                count += 1
        except PeerError as error:
            assert error.errno == "EAGAIN"
        assert count == 10


@pytest.mark.parametrize("marks", [(5, 7), (1, 1), (1000, 1000)])
@pytest.mark.parametrize("order", ["bind-first", "connect-first"])
@pytest.mark.parametrize("kind", KINDS)
def test_inproc_adds_both_marks(kind, order, marks, peers):
    peer = peers(kind)
    sender = peer.socket("PUSH", SNDHWM=marks[0])
    receiver = peer.socket("PULL", RCVHWM=marks[1])
    if order == "bind-first":
        receiver.bind("inproc://marks")
        sender.connect("inproc://marks")
    else:
        sender.connect("inproc://marks")
        receiver.bind("inproc://marks")
    assert sender.call("fill", size=10, count_max=5000) == sum(marks)
    assert receiver.call("drain", timeout=0) == sum(marks)
    eventually(lambda: sender.call("fill", size=10, count_max=5000) > 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_mark_of_zero_on_either_side_is_no_limit(kind, peers):
    peer = peers(kind)
    sender = peer.socket("PUSH", SNDHWM=0)
    receiver = peer.socket("PULL", RCVHWM=1)
    receiver.bind("inproc://unlimited")
    sender.connect("inproc://unlimited")
    assert sender.call("fill", size=10, count_max=20000) == 20000
    assert receiver.call("drain", timeout=0) == 20000


@pairings
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_a_full_queue_opens_again_when_it_is_read(transport, pairing, peers, wildcard):
    sender_kind, receiver_kind = pairing.split("-")
    receiver = peers(receiver_kind).socket("PULL", RCVHWM=10, RCVBUF=8192)
    endpoint = receiver.bind(wildcard(transport))
    process = peers(sender_kind)
    sender = process.socket("PUSH", SNDHWM=10, SNDBUF=8192)
    sender.connect(endpoint)
    total = 0
    for _ in range(5):
        filled = []

        def is_full():
            process.await_idle()
            filled.append(sender.call("fill", size=5000, count_max=20000))
            return filled[-1] == 0

        eventually(is_full)
        total += sum(filled)
        assert sum(filled) < 20000
        sending = sender.start_send(b"waits for room")
        received = 0
        while received < sum(filled) + 1:
            assert receiver.recv()
            received += 1
        sending.result()
    assert total >= 50


@pytest.mark.parametrize("kind", KINDS)
def test_timeouts_are_kept(kind, peers, wildcard):
    peer = peers(kind)
    pull = peer.socket("PULL", RCVTIMEO=100)
    pull.bind(wildcard("tcp"))
    started = time.monotonic()
    assert refusal_of(lambda: pull.call("recv")) == "EAGAIN"
    assert 0.09 <= time.monotonic() - started < 3
    push = peer.socket("PUSH", SNDTIMEO=100)
    started = time.monotonic()
    assert refusal_of(lambda: push.call("send", parts=["eA=="])) == "EAGAIN"
    assert 0.09 <= time.monotonic() - started < 3
    assert refusal_of(lambda: pull.call("recv", wait=False)) == "EAGAIN"
    assert refusal_of(lambda: push.try_send(b"x")) == "EAGAIN"


@pytest.mark.parametrize("kind", KINDS)
def test_linger_of_zero_forgets_and_ends_at_once(kind, peers):
    holder, endpoint = unbound_endpoint()
    with holder:
        peer = peers(kind)
        push = peer.socket("PUSH", LINGER=-1)
        push.connect(endpoint)
        push.call("send_numbered", count=100, size=100)
        push.close(linger=0)
        assert peer.call("term") < 5


@pytest.mark.parametrize("kind", KINDS)
def test_linger_ends_after_its_time(kind, peers):
    holder, endpoint = unbound_endpoint()
    with holder:
        peer = peers(kind)
        push = peer.socket("PUSH", LINGER=300)
        push.connect(endpoint)
        push.send(b"x")
        push.close()
        assert 0.25 <= peer.call("term") < 5


@pairings
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.parametrize("linger", [-1, 30000])
def test_linger_delivers_what_was_sent_before_close(linger, transport, pairing, peers, wildcard):
    sender_kind, receiver_kind = pairing.split("-")
    pull = peers(receiver_kind).socket("PULL")
    endpoint = pull.bind(wildcard(transport))
    peer = peers(sender_kind)
    push = peer.socket("PUSH", LINGER=linger, SNDHWM=0)
    push.connect(endpoint)
    push.call("send_numbered", count=3000, size=2000)
    push.close()
    ending = peer.start("term")
    pull.call("recv_numbered", count=3000, size=2000)
    ending.result()


@pairings
def test_linger_waits_for_a_peer_that_comes_later(pairing, peers):
    sender_kind, receiver_kind = pairing.split("-")
    holder, endpoint = unbound_endpoint()
    peer = peers(sender_kind)
    push = peer.socket("PUSH", LINGER=30000, RECONNECT_IVL=20)
    push.connect(endpoint)
    push.call("send_numbered", count=100, size=100)
    push.close()
    ending = peer.start("term")
    assert pytest.raises(AssertionError, ending.result, 0.2)
    holder.close()
    pull = peers(receiver_kind).socket("PULL")
    pull.bind(endpoint)
    pull.call("recv_numbered", count=100, size=100)
    ending.result()


@pytest.mark.parametrize("receiver_kind", ["PULL", "SUB", "REP", "ROUTER", "DEALER", "PAIR"])
def test_the_end_of_a_context_wakes_a_blocked_thread(receiver_kind, peers, wildcard):
    peer = peers("zlink")
    receiver = peer.socket(receiver_kind)
    receiver.bind(wildcard("tcp"))
    thread = receiver.call("native_id")
    holding = receiver.start("hold_until_term")
    eventually(lambda: is_blocked(peer.process.pid, thread))
    assert peer.call("term") < 5
    assert holding.result() == "ETERM"


def test_a_context_ends_only_when_its_sockets_are_closed(peers):
    peer = peers("zlink")
    pull = peer.socket("PULL")
    push = peer.socket("PUSH")
    ending = peer.start("term")
    # Every later call fails with ETERM, and close still works.
    eventually(lambda: refusal_of(lambda: pull.call("recv", timeout=0)) == "ETERM")
    assert refusal_of(lambda: push.try_send(b"x")) == "ETERM"
    pull.close()
    assert not ending.is_done()
    push.close()
    ending.result()


def test_a_context_can_follow_another(peers, wildcard):
    peer = peers("zlink")
    threads = peer.call("thread_count")
    for _ in range(20):
        pull = peer.socket("PULL")
        push = peer.socket("PUSH")
        push.connect(pull.bind("tcp://127.0.0.1:*"))
        push.send(b"x")
        assert pull.recv() == [b"x"]
        pull.close()
        push.close()
        peer.call("term")
        peer.call("context")
    # The peer itself adds two threads per round, for its two sockets.
    assert peer.call("thread_count") <= threads + 40


@pytest.mark.parametrize("kind", KINDS)
def test_request_and_reply_take_turns(kind, peers, wildcard):
    peer = peers(kind)
    replier = peer.socket("REP")
    requester = peer.socket("REQ")
    requester.connect(replier.bind(wildcard("tcp")))
    assert refusal_of(lambda: requester.recv(0)) == "EFSM"
    assert refusal_of(lambda: replier.send(b"x")) == "EFSM"
    requester.send(b"x")
    assert refusal_of(lambda: requester.send(b"y")) == "EFSM"
    assert replier.recv() == [b"x"]
    assert refusal_of(lambda: replier.recv(0)) == "EFSM"


@pytest.mark.parametrize("kind", KINDS)
def test_one_way_sockets_refuse_the_other_way(kind, peers):
    peer = peers(kind)
    assert refusal_of(lambda: peer.socket("PULL").send(b"x")) == "ENOTSUP"
    assert refusal_of(lambda: peer.socket("PUSH").recv(0)) == "ENOTSUP"
    assert refusal_of(lambda: peer.socket("PUB").recv(0)) == "ENOTSUP"
    assert refusal_of(lambda: peer.socket("SUB").send(b"x")) == "ENOTSUP"


@pytest.mark.parametrize("kinds", ["PUSH-SUB", "REQ-PULL", "PAIR-DEALER", "PUB-PULL"])
@pairings
def test_incompatible_sockets_do_not_meet(pairing, kinds, peers, wildcard):
    """The connection is refused, and the listener continues to serve others."""
    first_kind, second_kind = pairing.split("-")
    wrong_kind, kind = kinds.split("-")
    listening = peers(second_kind)
    bound = listening.socket(kind)
    if kind == "SUB":
        bound.set("SUBSCRIBE", b"")
    endpoint = bound.bind(wildcard("tcp"))
    connecting = peers(first_kind)
    wrong = connecting.socket(wrong_kind, SNDTIMEO=100)
    wrong.connect(endpoint)
    try:
        wrong.try_send(b"wrong")
    except PeerError as error:
        assert error.errno == "EAGAIN"
    # libzmq takes a new connection in from a call on the socket, so such a call is pending.
    receiving = bound.start("recv", timeout=20000)
    right = connecting.socket({"SUB": "XPUB", "PULL": "PUSH", "DEALER": "DEALER"}[kind])
    right.connect(endpoint)
    if kind == "SUB":
        assert right.recv() == [b"\x01"]
    right.send(b"right")
    assert receiving.result() == encoded([b"right"])
    assert bound.try_recv(50) is None


@pairings
def test_poll_sees_sockets_and_descriptors_together(pairing, peers, wildcard):
    first, second = [peers(kind) for kind in pairing.split("-")]
    pull = first.socket("PULL")
    push = second.socket("PUSH")
    push.connect(pull.bind(wildcard("tcp")))
    assert pull.call("poll_mixed", timeout=50) == [[False, True], [False, False]]
    polling = pull.start("poll", timeout=20000, flags=1)
    push.send(b"x")
    assert polling.result() == 1
    assert pull.call("poll_mixed", timeout=50) == [[True, True], [True, False]]
    assert pull.recv() == [b"x"]
    assert push.call("poll", timeout=5000, flags=2) == 2


@pairings
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_an_event_loop_on_the_descriptor_misses_nothing(transport, pairing, peers, wildcard):
    first, second = [peers(kind) for kind in pairing.split("-")]
    pull = first.socket("PULL")
    push = second.socket("PUSH")
    push.connect(pull.bind(wildcard(transport)))
    receiving = pull.start("fd_loop", count=20000)
    push.call("send_numbered", count=20000, size=50)
    receiving.result()
    for _ in range(50):
        receiving = pull.start("fd_loop", count=1)
        push.send(b"one at a time")
        receiving.result()


@pairings
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_a_conflating_receiver_keeps_the_last(transport, pairing, peers, wildcard):
    first, second = [peers(kind) for kind in pairing.split("-")]
    pull = first.socket("PULL", CONFLATE=1)
    push = second.socket("PUSH")
    push.connect(pull.bind(wildcard(transport)))
    push.call("send_numbered", count=500, size=20)
    push.send(b"last")
    first.await_idle()
    second.await_idle()
    eventually(lambda: pull.try_recv(1000) == [b"last"])
    assert pull.try_recv(50) is None


@pairings
def test_a_conflating_sender_keeps_the_last(pairing, peers, wildcard):
    first, second = [peers(kind) for kind in pairing.split("-")]
    endpoint = wildcard("ipc")
    push = second.socket("PUSH", CONFLATE=1, RECONNECT_IVL=20)
    push.connect(endpoint)
    push.call("send_numbered", count=500, size=20)
    push.send(b"last")
    pull = first.socket("PULL")
    pull.bind(endpoint)
    assert pull.recv() == [b"last"]
    assert pull.try_recv(50) is None


@pairings
def test_a_conflating_subscriber_hears_the_last(pairing, peers, wildcard):
    first, second = [peers(kind) for kind in pairing.split("-")]
    sub = first.socket("SUB", CONFLATE=1)
    sub.set("SUBSCRIBE", b"")
    pub = second.socket("PUB", CONFLATE=1)
    sub.connect(pub.bind(wildcard("tcp")))
    eventually(lambda: pub.send(b"early") or sub.try_recv(20))
    pub.call("send_numbered", count=500, size=20)
    pub.send(b"last")
    eventually(lambda: sub.try_recv(1000) == [b"last"])
