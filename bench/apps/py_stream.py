# SPDX-License-Identifier: MPL-2.0
"""pyzmq: one PUSH sends bytes to one PULL at full rate, with or without copies."""

import zmq

from parts import END, STOPPING, Board, Bodies, decode_arguments, require, run_workload


def main():
    arguments = decode_arguments(
        size=(64, "bytes of a body"), copy=(1, "0: copy=False on both sides")
    )
    board = Board(2)
    bodies = Bodies(arguments.size)
    copies = bool(arguments.copy)

    def receive(context):
        with context.socket(zmq.PULL) as socket:
            socket.bind(arguments.endpoint)
            board.arrive()
            expected = 0
            while True:
                body = socket.recv(copy=copies)
                number = bodies.check(body if copies else body.buffer)
                if number == END:
                    break
                require(number == expected, "a message was lost or came out of order")
                expected += 1
                board.add(0, Board.DONE)
            board.arrive()

    def send(context):
        with context.socket(zmq.PUSH) as socket:
            socket.connect(arguments.endpoint)
            board.arrive()
            number = 0
            while board.phase != STOPPING:
                socket.send(bodies.make(number), copy=copies)
                number += 1
                board.add(1, Board.SENT)
            socket.send(bodies.make(END))
            board.arrive()

    run_workload(arguments, board, [receive, send])


main()
