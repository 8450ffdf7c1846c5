# SPDX-License-Identifier: MPL-2.0
"""Makes the files that the suite http serves.

    make_files.py FOLDER SUMS

SUMS is a file with a line 'SHA256 BYTES NAME' for each of them that a client fetches as a whole.
"""

import gzip
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import brotli
import harness

SECONDS = 60
RATE = 25
MEBI = 1 << 20
RANDOM_MIB = 100
WRITTEN = 1_700_000_000  # The time of every file: a date that is long past.
WORDS = "a file of words for the server to send, again and again, in an order that chance decides".split()
NAMES = ("with space.txt", "grün 日本.txt", "a+b&c=d;e.txt", "100%.txt", "#1?.txt", "quote's \"double\".txt")
WHOLE = ("random.bin", "fast.mp4", "text.txt", "script.js", "empty.txt", *(f"names/{name}" for name in NAMES))


def make_texts(folder):
    chosen = random.Random(1)
    words = " ".join(chosen.choices(WORDS, k=20_000))
    (folder / "text.txt").write_text(words)
    (folder / "empty.txt").write_text("")
    (folder / "page.html").write_text(f"<!doctype html><title>page</title><p>{words[:500]}")
    (folder / "data.json").write_text('{"words": [1, 2, 3]}')
    (folder / "style.css").write_text("p { color: green }\n" * 100)
    script = f'const words = "{words}";\n'.encode()
    (folder / "script.js").write_bytes(script)
    (folder / "script.js.gz").write_bytes(gzip.compress(script))
    (folder / "script.js.br").write_bytes(brotli.compress(script))
    (folder / "style.css.gz").write_bytes(gzip.compress((folder / "style.css").read_bytes()))
    (folder / "names").mkdir()
    for name in NAMES:
        (folder / "names" / name).write_text(f"this is {name}")
    (folder / "sub").mkdir()
    (folder / "sub" / "index.html").write_text("<!doctype html><title>index</title>")
    with open(folder / "random.bin", "wb") as file:
        for _ in range(RANDOM_MIB):
            file.write(chosen.randbytes(MEBI))


def ffmpeg(*arguments):
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *map(str, arguments)], check=True)


def make_media(folder):
    """A film with its index at the front and at the end, and the same pictures for HLS and DASH."""
    picture = f"testsrc2=size=640x360:rate={RATE}:duration={SECONDS}"
    sound = f"sine=frequency=440:sample_rate=48000:duration={SECONDS}"
    sources = ("-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", sound)
    keys = ("-g", 2 * RATE, "-keyint_min", 2 * RATE, "-sc_threshold", 0)
    h264 = ("-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", *keys, "-c:a", "aac")
    fast = folder / "fast.mp4"
    ffmpeg(*sources, *h264, "-movflags", "+faststart", fast)
    copied = ("-i", fast, "-c", "copy")
    ffmpeg(*copied, folder / "late.mp4")
    vp9 = ("-s", "320x180", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", 8, "-g", 2 * RATE)
    ffmpeg("-i", fast, *vp9, "-c:a", "libopus", folder / "film.webm")
    for name in ("hls_ts", "hls_fmp4", "hls_single", "dash", "dash_single"):
        (folder / name).mkdir()
    hls = ("-f", "hls", "-hls_time", 4, "-hls_playlist_type", "vod")
    fragments = ("-hls_segment_type", "fmp4")
    ffmpeg(*copied, *hls, "-hls_segment_filename", folder / "hls_ts/%03d.ts", folder / "hls_ts/index.m3u8")
    ffmpeg(
        *copied, *hls, *fragments, "-hls_segment_filename", folder / "hls_fmp4/%03d.m4s", folder / "hls_fmp4/index.m3u8"
    )
    # The segments are ranges of one file.
    ffmpeg(*copied, *hls, *fragments, "-hls_flags", "single_file", folder / "hls_single/index.m3u8")
    dash = ("-f", "dash", "-seg_duration", 4)
    ffmpeg(*copied, *dash, folder / "dash/manifest.mpd")
    ffmpeg(*copied, *dash, "-single_file", 1, folder / "dash_single/manifest.mpd")


def main():
    folder, sums = map(Path, sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make_texts(folder)
    make_media(folder)
    for path in folder.rglob("*"):
        os.utime(path, (WRITTEN, WRITTEN))
    lines = (f"{harness.digest(folder / name)} {(folder / name).stat().st_size} {name}\n" for name in WHOLE)
    sums.write_text("".join(lines))


if __name__ == "__main__":
    main()
