#!/usr/bin/env python3
# SPDX-License-Identifier: MPL-2.0
"""Makes a small video with ffmpeg, serves it with `zlink serve`, fetches a part of it and compares. On a terminal the
server then goes on until Ctrl+C.

    serve_video.py PROGRAM [FOLDER]

PROGRAM  zlink
FOLDER   where the video is made; a temporary one if it is left out
"""

import http.client
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS_MAX = 60
PAGE = """<!doctype html>
<meta charset="utf-8">
<title>zlink serve</title>
<h1>A video, served by zlink</h1>
<p><video src="video.mp4" controls autoplay muted loop width="640"></video>
<p>Seek in it: the player asks for ranges.
"""


def make_video(folder):
    (folder / "index.html").write_text(PAGE)
    video = folder / "video.mp4"
    sources = ("-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25", "-f", "lavfi", "-i", "sine=frequency=440")
    coding = ("-t", "20", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "aac")
    command = ("ffmpeg", "-v", "error", "-y", *sources, *coding, "-movflags", "+faststart", str(video))
    subprocess.run(command, check=True, timeout=SECONDS_MAX)
    return video


def check_range(endpoint, video):
    content = video.read_bytes()
    first, last = len(content) // 3, len(content) // 3 + 99_999
    client = http.client.HTTPConnection(endpoint.split("//")[1].rstrip("/"), timeout=SECONDS_MAX)
    client.request("GET", "/video.mp4", headers={"Range": f"bytes={first}-{last}"})
    response = client.getresponse()
    part = response.read()
    client.close()
    if response.status != 206 or part != content[first : last + 1]:
        sys.exit(f"serve_video: status {response.status}, {len(part)} bytes: not the part of the file asked for")
    print(f"fetched bytes {first} to {last} of {len(content)}: equal", flush=True)


def serve(program, folder):
    video = make_video(folder)
    server = subprocess.Popen((program, "serve", folder, "--listen", "http://127.0.0.1:*"), stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline()
        if not line:
            sys.exit("serve_video: the server did not begin")
        endpoint = line.split()[-1]
        check_range(endpoint, video)
        print(f"the video is at {endpoint.rstrip('/')}/", flush=True)
        if sys.stdin.isatty() and sys.stdout.isatty():
            print("Ctrl+C ends the server", flush=True)
            signal.sigwait({signal.SIGINT, signal.SIGTERM})
    finally:
        server.send_signal(signal.SIGTERM)
        status = server.wait(SECONDS_MAX)
    if status != 0:
        sys.exit(f"serve_video: the server ended with {status}")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    if len(sys.argv) == 3:
        serve(sys.argv[1], Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        serve(sys.argv[1], Path(folder))


if __name__ == "__main__":
    main()
