"""The other end for a binding's program: stock pyzmq on the system's libzmq.

    peer.py connect|bind PREFIX

Connects to or binds PREFIX01, PREFIX02, ...; a program of the binding does the opposite there, with these sockets:

    01 PUSH, 02 PULL     what comes from the one goes to the other
    03 SUB               "red N" and "blue N" are published
    04 PUB, 05 PULL      messages that begin with "red" go from the one to the other
    06 REQ               the same frames come back
    07 REP               is asked "question N"; a second frame has its last answer
    08 DEALER            the same frames come back
    09 ROUTER            gets "part N", an empty frame and its last answer, until it has answered the last time
    10 REQ, 11 REP       as 06 and 07, with CURVE; the server is the REP socket

The keys are in the environment: SERVER_PUBLIC, SERVER_SECRET, CLIENT_PUBLIC, CLIENT_SECRET. Prints "ready" once all
endpoints are there, and ends when it is killed.
"""

import contextlib
import os
import sys

import zmq

PUBLISH_MS = 5


def main():
    role, prefix = sys.argv[1:]
    context = zmq.Context()

    def open_socket(number, kind, **options):
        socket = context.socket(kind)
        socket.linger = 0
        for name, value in options.items():
            setattr(socket, name, value)
        (socket.bind if role == "bind" else socket.connect)(f"{prefix}{number:02}")
        return socket

    names = ("SERVER_PUBLIC", "SERVER_SECRET", "CLIENT_PUBLIC", "CLIENT_SECRET")
    keys = {name: os.environ[name].encode() for name in names}
    server = {"curve_server": 1, "curve_secretkey": keys["SERVER_SECRET"], "curve_publickey": keys["SERVER_PUBLIC"]}
    client = {
        "curve_serverkey": keys["SERVER_PUBLIC"],
        "curve_publickey": keys["CLIENT_PUBLIC"],
        "curve_secretkey": keys["CLIENT_SECRET"],
    }
    pull, push = open_socket(1, zmq.PULL), open_socket(2, zmq.PUSH)
    pub = open_socket(3, zmq.PUB)
    sub, heard = open_socket(4, zmq.SUB), open_socket(5, zmq.PUSH)
    sub.subscribe(b"red")
    echoes = {open_socket(6, zmq.REP), open_socket(8, zmq.ROUTER), open_socket(10, zmq.REP, **server)}
    asking = {open_socket(7, zmq.REQ): question, open_socket(9, zmq.DEALER): part}
    asking[open_socket(11, zmq.REQ, **client)] = question
    asked = dict.fromkeys(asking, 0)
    # What each of these sends next, as soon as the program is there.
    unsent = {socket: frames(0, b"") for socket, frames in asking.items()}
    poller = zmq.Poller()
    for socket in (pull, sub, *echoes, *asking):
        poller.register(socket, zmq.POLLIN)

    def on_message(socket, frames):
        if socket is pull:
            pulled.append(frames)
        elif socket is sub:
            heard.send_multipart(frames, zmq.NOBLOCK)
        elif socket in echoes:
            socket.send_multipart(frames, zmq.NOBLOCK)
        else:
            asked[socket] += 1
            unsent[socket] = asking[socket](asked[socket], frames[-1])

    print("ready", flush=True)
    pulled = []
    published = 0
    while True:
        while pulled and push.poll(0, zmq.POLLOUT):
            push.send_multipart(pulled.pop(0))
        for socket in [socket for socket in unsent if socket.poll(0, zmq.POLLOUT)]:
            with contextlib.suppress(zmq.Again):
                socket.send_multipart(unsent[socket], zmq.NOBLOCK)
                del unsent[socket]
        for socket, _ in poller.poll(PUBLISH_MS):
            # Programs end when they like, so nothing may wait for them here.
            with contextlib.suppress(zmq.Again):
                on_message(socket, socket.recv_multipart(zmq.NOBLOCK))
        for colour in (b"red", b"blue"):
            pub.send(b"%s %d" % (colour, published))
        published += 1


def question(count, answer):
    return [b"question %d" % count, answer]


def part(count, answer):
    return [b"part %d" % count, b"", answer]


if __name__ == "__main__":
    main()
