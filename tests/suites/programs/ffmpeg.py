"""ffmpeg: a stream sent over its zmq protocol (PUB and SUB), and the filters zmq and azmq (REP) that take commands."""

import re

import harness

SENDER = "testsrc=size=64x64:rate=25"
# Sends one command to a filter until it is answered. It calls libzmq directly: nothing else is installed for this.
COMMAND = """
import ctypes, sys, time
zmq = ctypes.CDLL(sys.argv[1], use_errno=True)
zmq.zmq_ctx_new.restype = zmq.zmq_socket.restype = ctypes.c_void_p
socket = ctypes.c_void_p(zmq.zmq_socket(ctypes.c_void_p(zmq.zmq_ctx_new()), 3))
timeout = ctypes.c_int(20000)
zmq.zmq_setsockopt(socket, 27, ctypes.byref(timeout), ctypes.sizeof(timeout))
zmq.zmq_connect(socket, sys.argv[2].encode())
for command in sys.argv[3:]:
    zmq.zmq_send(socket, command.encode(), len(command), 0)
    reply = ctypes.create_string_buffer(500)
    size = zmq.zmq_recv(socket, reply, 500, 0)
    print(reply.raw[:size].decode() if size >= 0 else "none", flush=True)
    if size < 0:
        sys.exit(1)
"""


def install(place):
    place.command("ffmpeg", "-version")


def run(place):
    protocol(place)
    video_filter(place)
    audio_filter(place)


def protocol(place):
    """Ten seconds of MPEG-TS, sent in real time; the receiver joins later and takes two seconds of it."""
    quiet = ("ffmpeg", "-nostdin", "-hide_banner")
    source = ("-re", "-f", "lavfi", "-i", f"{SENDER}:duration=30")
    place.start("sender", *quiet, *source, "-c:v", "mpeg2video", "-f", "mpegts", "zmq:tcp://127.0.0.1:15555")
    command = (*quiet, "-i", "zmq:tcp://127.0.0.1:15555", "-frames:v", "50", "-f", "framecrc", "-")
    status = place.run("receiver", *command, seconds=60)
    frames = len(re.findall(r"^0,.*0x[0-9a-f]+", place.said("receiver"), re.M))
    place.check("protocol", status == 0 and frames >= 50, f"status {status}, {frames} frames")


def video_filter(place):
    graph = f"{SENDER}:duration=30,zmq=bind_address=tcp\\\\://127.0.0.1\\\\:15556,drawbox=x=0:y=0:w=10:h=10"
    command = ("ffmpeg", "-nostdin", "-hide_banner", "-re", "-f", "lavfi", "-i", graph, "-f", "null", "-")
    place.start("video", *command)
    replies = ask(place, "video", "tcp://127.0.0.1:15556", "Parsed_drawbox_2 x 5", "Parsed_drawbox_2 y 7", "nobody x 1")
    right = replies[:2] == ["0 Success", "0 Success"] and len(replies) == 3 and replies[2].startswith("38 ")
    place.check("filter_zmq", right, replies)


def audio_filter(place):
    graph = "sine=duration=30,azmq=bind_address=tcp\\\\://127.0.0.1\\\\:15558,volume=1"
    command = ("ffmpeg", "-nostdin", "-hide_banner", "-re", "-f", "lavfi", "-i", graph, "-f", "null", "-")
    place.start("audio", *command)
    replies = ask(place, "audio", "tcp://127.0.0.1:15558", *["Parsed_volume_2 volume 0.5"] * 20)
    place.check("filter_azmq", replies == ["0 Success"] * 20, replies)


def ask(place, title, address, *commands):
    """Sends the commands, each after the reply to the previous one."""
    program = ("/usr/bin/python3", "-c", COMMAND, place.library, address)
    status = place.run(f"{title}_commands", *program, *commands, seconds=60)
    if status is None:
        raise harness.Failure(f"{title}: the commands took too long")
    return [line for line in place.said(f"{title}_commands").splitlines() if line]
