# SPDX-License-Identifier: MPL-2.0
"""Errors, wrong arguments, closed sockets, threads."""

import copy
import errno
import math
import pickle
import threading

import pytest

import zlink
from conftest import DEADLINE


def test_errors_are_os_errors_with_a_number_and_a_text(context):
    with pytest.raises(zlink.InvalidValue) as raised:
        zlink.Pull(context).bind("tcp://nonsense")
    assert isinstance(raised.value, OSError) and isinstance(raised.value, ValueError)
    assert raised.value.errno == errno.EINVAL
    assert "Pull.bind: " in str(raised.value) and "tcp://nonsense" in str(raised.value)


def test_an_address_in_use(context):
    pull = zlink.Pull(context)
    endpoint = pull.bind("tcp://127.0.0.1:*")
    with pytest.raises(zlink.AddressInUse, match=endpoint):
        zlink.Pull(context).bind(endpoint)


def test_a_transport_that_does_not_exist(context):
    with pytest.raises(zlink.Unsupported):
        zlink.Pull(context).bind("udp://127.0.0.1:1")
    with pytest.raises(zlink.Unsupported):
        zlink.Stream(context).connect("inproc://x")


def test_a_text_with_a_zero_byte(context, tmp_path):
    pull, stream = zlink.Pull(context), zlink.Stream(context)
    for call in (
        lambda: pull.bind("tcp://127.0.0.1:*\0x"),
        lambda: pull.connect("inproc://a\0b"),
        lambda: pull.unbind("inproc://a\0b"),
        lambda: pull.disconnect("inproc://a\0b"),
        lambda: stream.serve("/a\0/", tmp_path),
        lambda: stream.serve("/", f"{tmp_path}\0"),
        lambda: stream.serve("/", tmp_path, index="a\0"),
        lambda: stream.route("/a\0b"),
        lambda: stream.close_peer(1, reason="a\0b"),
        lambda: stream.upgrade(1, subprotocol="a\0b"),
        lambda: pull.set_option(zlink.Option.PLAIN_USERNAME, "a\0b"),
        lambda: zlink.curve_public("a\0b"),
        lambda: zlink.has("ipc\0"),
    ):
        with pytest.raises(ValueError, match="embedded null character"):
            call()
    subscriber = zlink.Sub(context)
    subscriber.subscribe("topic\0")  # A topic is bytes.


def test_a_folder_that_is_not_there(context, tmp_path):
    with pytest.raises(zlink.Error, match="the folder of the socket's file does not exist"):
        zlink.Pull(context).bind(f"ipc://{tmp_path}/none/socket")


def test_unbind_and_disconnect(context):
    pull, push = zlink.Pull(context), zlink.Push(context)
    endpoint = pull.bind("tcp://127.0.0.1:*")
    push.connect(endpoint)
    push.disconnect(endpoint)
    pull.unbind(endpoint)
    for call in (pull.unbind, push.disconnect):
        with pytest.raises(zlink.Error) as raised:
            call(endpoint)
        assert raised.value.errno == errno.ENOENT


def test_texts_name_options_as_this_package_does(context, tmp_path):
    push, stream = zlink.Push(context), zlink.Stream(context)
    for call, expected in (
        (lambda: push.set_option(zlink.Option.SNDHWM, -1), r"Option\.SNDHWM: -1 is out of range"),
        (lambda: push.set_option(zlink.Option.TYPE, 1), r"Option\.TYPE: cannot be set"),
        (lambda: stream.set_option(zlink.Option.WS_ORIGINS, "example.org"), r'Option\.WS_ORIGINS: "example\.org" can'),
        (lambda: context.set_option(zlink.ContextOption.MAX_SOCKETS, -1), r"ContextOption\.MAX_SOCKETS: .* to -1"),
        (lambda: stream.serve("/", tmp_path, cors_origin="ZLINK_SNDHWM/"), 'cors_origin "ZLINK_SNDHWM/" can never'),
    ):
        with pytest.raises(zlink.InvalidValue, match=expected) as raised:
            call()
        assert "ZLINK_" not in str(raised.value).replace('"ZLINK_SNDHWM/"', "")


@pytest.mark.parametrize("timeout", [0, 0.01])
def test_a_timeout(pipeline, timeout):
    _, pull = pipeline
    with pytest.raises(zlink.Again, match="Pull.recv: no message arrived in time"):
        pull.recv(timeout=timeout)
    pull.recv_timeout = timeout
    for call in (pull.recv, pull.recv_multipart, pull.recv_frame, lambda: pull.recv_into(bytearray(1))):
        with pytest.raises(zlink.Again):
            call()


def test_a_send_without_a_peer_times_out(context):
    push = zlink.Push(context)
    with pytest.raises(zlink.Again, match="Push.send: no peer had room in time"):
        push.send(b"x", timeout=0.01)
    with pytest.raises(zlink.Again):
        push.send(bytes(100_000), timeout=0)
    with pytest.raises(zlink.Again):
        push.send_multipart([b"x", b"y"], timeout=0)


@pytest.mark.parametrize(("timeout", "error"), [(-1, ValueError), (math.nan, ValueError), ("1", TypeError), (1e10, ValueError)])
def test_a_timeout_that_is_none(pipeline, timeout, error):
    with pytest.raises(error, match="timeout"):
        pipeline[1].recv(timeout=timeout)


@pytest.mark.parametrize("data", ["text", 5, None, [b"x"], object()])
def test_data_that_is_none(pipeline, data):
    with pytest.raises(TypeError, match="expected bytes or another object with a buffer, got"):
        pipeline[0].send(data)


def test_a_buffer_with_gaps(pipeline):
    with pytest.raises(BufferError):
        pipeline[0].send(memoryview(b"abcd")[::2])


def test_frames_that_are_none(pipeline):
    push, _ = pipeline
    for frames in (b"one", "one", 5, None):
        with pytest.raises(TypeError):
            push.send_multipart(frames)
    with pytest.raises(ValueError, match="at least one frame"):
        push.send_multipart([])


def test_arguments_of_wrong_types(context):
    pull = zlink.Pull(context)
    with pytest.raises(TypeError, match="bind"):
        pull.bind(5)
    with pytest.raises(TypeError, match="takes a Context, not str"):
        zlink.Pull("context")
    with pytest.raises(TypeError):
        zlink.Context("one")
    with pytest.raises(TypeError):
        zlink.proxy(1, 2)
    with pytest.raises(TypeError, match="sockets whose calls wait, not aio.Router"):
        zlink.proxy(zlink.aio.Router(context), zlink.Dealer(context))
    with pytest.raises(TypeError, match="not aio.Pull"):
        zlink.Poller().register(zlink.aio.Pull(context))
    for kind in (zlink.Socket, zlink.aio.Socket):
        with pytest.raises(TypeError, match="has no pattern"):
            kind()


def test_a_context_with_a_negative_number_of_threads():
    with pytest.raises(zlink.InvalidValue, match="io_threads is -1"):
        zlink.Context(io_threads=-1)


def test_a_closed_socket(context):
    push = zlink.Push(context)
    push.close()
    push.close()
    assert push.closed and "closed" in repr(push)
    for call in (
        lambda: push.send(b"x"),
        lambda: push.send_multipart([b"x"]),
        lambda: push.bind("inproc://x"),
        lambda: push.linger,
        lambda: setattr(push, "linger", 1),
        push.peers,
        push.drain,
        push.poll,
        push.monitor,
    ):
        with pytest.raises(zlink.Closed, match="the socket is closed"):
            call()


def test_an_iteration_ends_when_the_socket_is_closed(context):
    pull, stream = zlink.Pull(context), zlink.Stream(context)
    pull.close()
    stream.close()
    assert list(pull) == list(stream) == []


def test_a_generator_that_closes_the_socket(context):
    push = zlink.Push(context)

    def frames():
        push.close()
        yield b"x"

    with pytest.raises(zlink.Closed):
        push.send_multipart(frames())


def test_a_file_that_uses_the_socket(context):
    pull = zlink.Pull(context)
    poller = zlink.Poller()
    raised = []

    class File:
        def fileno(self):
            with pytest.raises(zlink.InUse, match="this thread is using the socket") as info:
                pull.close()
            raised.append(info.value)
            return 0

    poller.register(pull)
    poller.register(File())
    poller.poll(timeout=0)
    assert len(raised) == 1


def test_what_a_socket_says_that_it_is(context):
    pull = zlink.Pull(context)
    assert repr(pull) == "<zlink.Pull>"
    endpoint = pull.bind("tcp://127.0.0.1:*")
    assert repr(pull) == f"<zlink.Pull {endpoint}>"
    assert repr(zlink.aio.Pull(context)) == "<zlink.aio.Pull>"
    pull.close()
    assert repr(pull) == "<zlink.Pull (closed)>"


def test_a_monitor_that_another_thread_closes(context):
    pull = zlink.Pull(context)
    monitor = pull.monitor()
    begun = threading.Event()
    ended = threading.Event()

    def follow():
        for _ in monitor:
            begun.set()
        ended.set()

    thread = threading.Thread(target=follow)
    thread.start()
    pull.bind("tcp://127.0.0.1:*")
    assert begun.wait(DEADLINE)
    monitor.close()
    assert ended.wait(DEADLINE)
    thread.join()
    with pytest.raises(zlink.Closed):
        monitor.recv()


def test_with_closes(context):
    with zlink.Push(context) as push:
        assert not push.closed
    assert push.closed


def test_a_terminated_context():
    with zlink.Context() as context:
        push = zlink.Push(context)
    assert context.closed and push.closed
    context.term()
    context.shutdown()
    for call in (lambda: zlink.Push(context), context.blockers, lambda: context.max_sockets):
        with pytest.raises(zlink.ContextTerminated):
            call()


def test_a_socket_that_waits_gets_the_end_of_its_context():
    context = zlink.Context()
    raised = []
    pull = zlink.Pull(context)

    def wait():
        try:
            pull.recv()
        except zlink.Error as error:
            raised.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    context.term()
    thread.join(DEADLINE)
    assert pull.closed
    assert isinstance(raised[0], (zlink.ContextTerminated, zlink.Closed))


def test_shutdown_without_term(context):
    pull = zlink.Pull(context)
    context.shutdown()
    with pytest.raises(zlink.ContextTerminated, match="the context was shut down"):
        pull.recv()
    with pytest.raises(zlink.ContextTerminated):
        zlink.Pull(context)


def test_a_socket_that_another_thread_uses(context):
    pull, push = zlink.Pull(context), zlink.Push(context)
    push.connect(pull.bind("inproc://used"))
    received = []
    thread = threading.Thread(target=lambda: received.append(pull.recv()))
    thread.start()
    while True:  # Until the other thread is in the call.
        try:
            pull.linger
        except zlink.InUse as error:
            assert "another thread is using the socket" in str(error)
            break
    with pytest.raises(zlink.InUse):
        pull.close()
    push.send(b"x")
    thread.join(DEADLINE)
    assert received == [b"x"]


def test_too_many_sockets():
    with zlink.Context() as context:
        context.max_sockets = 2
        assert context.max_sockets == 2
        _kept = [zlink.Push(context), zlink.Push(context)]
        with pytest.raises(zlink.Error, match="Push: Context.max_sockets, 2, are open") as raised:
            zlink.Push(context)
        assert raised.value.errno == errno.EMFILE


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_nothing_can_be_pickled_or_copied(context, duplicate):
    monitor = zlink.Push(context).monitor()
    for thing in (context, zlink.Push(context), zlink.Stream(context), zlink.aio.Push(context), monitor):
        with pytest.raises(TypeError, match="cannot pickle or copy"):
            duplicate(thing)


def test_an_unclosed_socket_warns(context):
    socket = zlink.Push(context)
    with pytest.warns(ResourceWarning, match="unclosed zlink socket Push"):
        del socket


def test_keys():
    public, secret = zlink.curve_keypair()
    assert zlink.curve_public(secret) == public
    assert zlink.z85_encode(zlink.z85_decode(public)) == public
    with pytest.raises(ValueError):
        zlink.z85_encode(b"123")
    with pytest.raises(ValueError):
        zlink.z85_decode("123")
    with pytest.raises(zlink.InvalidValue):
        zlink.curve_public("short")
