# SPDX-License-Identifier: MPL-2.0
"""pyzmq: request and reply between one REQ and one REP."""

import time

import zmq

from parts import END, MEASURING, STOPPING, Board, Bodies, decode_arguments, require, run_workload


def main():
    arguments = decode_arguments(size=(64, "bytes of a body"))
    board = Board(2)
    bodies = Bodies(arguments.size)

    def answer(context):
        with context.socket(zmq.REP) as socket:
            socket.bind(arguments.endpoint)
            board.arrive()
            number = 0
            while number != END:
                question = socket.recv()
                number = bodies.check(question)
                socket.send(question)
            board.arrive()

    def ask(context):
        with context.socket(zmq.REQ) as socket:
            socket.connect(arguments.endpoint)
            board.arrive()
            round_trips = []
            number = 0
            while number != END:
                number = number + 1 if board.phase != STOPPING else END
                start = time.monotonic_ns()
                board.add(1, Board.SENT)
                socket.send(bodies.make(number))
                require(bodies.check(socket.recv()) == number, "the answer does not match the request")
                board.add(1, Board.DONE)
                if board.phase == MEASURING:
                    round_trips.append(time.monotonic_ns() - start)
            board.publish(round_trips)
            board.arrive()

    run_workload(arguments, board, [answer, ask])


main()
