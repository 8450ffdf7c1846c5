# SPDX-License-Identifier: MPL-2.0
"""A ROUTER in an asyncio loop with ZMQ_FD and add_reader. Many DEALERs of one thread send one request each, then
receive their answers."""

import asyncio
import time

import zmq

from parts import END, MEASURING, STOPPING, Board, Bodies, decode_arguments, require, run_workload


def main():
    arguments = decode_arguments(clients=(20, "DEALERs"))
    board = Board(2)
    bodies = Bodies(64)

    async def serve(socket):
        loop = asyncio.get_running_loop()
        has_ended = loop.create_future()

        # The descriptor reports changes only, so ZMQ_EVENTS is read until it no longer has POLLIN.
        def answer_all():
            while socket.events & zmq.POLLIN:
                client, question = socket.recv_multipart(zmq.DONTWAIT)
                socket.send_multipart([client, question])
                if bodies.check(question) == END:
                    has_ended.set_result(None)
                    return

        def on_ready():
            board.add(0, Board.WAKEUPS)
            answer_all()

        loop.add_reader(socket.fd, on_ready)
        answer_all()
        board.arrive()
        await has_ended
        loop.remove_reader(socket.fd)

    def answer(context):
        with context.socket(zmq.ROUTER) as socket:
            socket.bind(arguments.endpoint)
            asyncio.run(serve(socket))
        board.arrive()

    def ask_once(sockets, number, round_trips):
        starts = []
        for socket in sockets:
            starts.append(time.monotonic_ns())
            socket.send(bodies.make(number))
            board.add(1, Board.SENT)
        for socket, start in zip(sockets, starts):
            require(bodies.check(socket.recv()) == number, "the answer does not match the request")
            board.add(1, Board.DONE)
            if board.phase == MEASURING:
                round_trips.append(time.monotonic_ns() - start)

    def ask(context):
        sockets = [context.socket(zmq.DEALER) for _ in range(arguments.clients)]
        for socket in sockets:
            socket.connect(arguments.endpoint)
        board.arrive()
        round_trips = []
        number = 0
        while board.phase != STOPPING:
            ask_once(sockets, number, round_trips)
            number += 1
        ask_once(sockets[:1], END, round_trips)
        board.publish(round_trips)
        for socket in sockets:
            socket.close()
        board.arrive()

    run_workload(arguments, board, [answer, ask])


main()
