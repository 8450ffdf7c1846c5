# SPDX-License-Identifier: MPL-2.0
"""zmq.asyncio: a ROUTER in one event loop answers DEALERs in another, one task per DEALER."""

import asyncio
import time

import zmq
import zmq.asyncio

from parts import END, MEASURING, STOPPING, Board, Bodies, decode_arguments, require, run_workload


def main():
    arguments = decode_arguments(
        size=(64, "bytes of a body"), clients=(20, "DEALERs, each with one request in flight")
    )
    board = Board(2)
    bodies = Bodies(arguments.size)

    async def answer(context):
        with context.socket(zmq.ROUTER) as socket:
            socket.bind(arguments.endpoint)
            board.arrive()
            ended_count = 0
            while ended_count < arguments.clients:
                client, question = await socket.recv_multipart()
                ended_count += bodies.check(question) == END
                await socket.send_multipart([client, question])

    async def ask(context, round_trips):
        with context.socket(zmq.DEALER) as socket:
            socket.connect(arguments.endpoint)
            number = 0
            while number != END:
                number = number + 1 if board.phase != STOPPING else END
                start = time.monotonic_ns()
                board.add(1, Board.SENT)
                await socket.send(bodies.make(number))
                require(bodies.check(await socket.recv()) == number, "the answer does not match the request")
                board.add(1, Board.DONE)
                if board.phase == MEASURING:
                    round_trips.append(time.monotonic_ns() - start)

    async def ask_all(context):
        round_trips = []
        board.arrive()
        await asyncio.gather(*(ask(context, round_trips) for _ in range(arguments.clients)))
        board.publish(round_trips)

    def play(part):
        def run(context):
            asyncio.run(part(zmq.asyncio.Context(context)))
            board.arrive()

        return run

    run_workload(arguments, board, [play(answer), play(ask_all)])


main()
