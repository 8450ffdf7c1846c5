# SPDX-License-Identifier: MPL-2.0
"""ffprobe and ffmpeg: they read the same over HTTP as from the files."""

import functools
import json
import re

import make_files
from harness import equal, expect, note, test

FILMS = ("fast.mp4", "late.mp4", "film.webm")
# Without dash_single: ffmpeg 5.1 does not end, or gets nothing from a part, also when it reads the file itself.
LISTS = ("hls_ts/index.m3u8", "hls_fmp4/index.m3u8", "hls_single/index.m3u8", "dash/manifest.mpd")
# ffmpeg 5.1 finds no frame if it seeks in these as it opens them, also when it reads the files themselves.
DECODED_TO_THE_SECOND = ("hls_fmp4/index.m3u8", "hls_single/index.m3u8")
SECOND = make_files.SECONDS - 3  # Where seeks go.


def run(place, server):
    for scheme in ("http", "https"):
        for name in FILMS + LISTS:
            run_one(place, name, scheme, server.url(scheme, name))
        with test(f"ffmpeg/{scheme}/one connection for all requests"):
            options = ("-multiple_requests", 1, *trust(place, scheme, "late.mp4"))
            found = frames(place, *options, *late("late.mp4", server.url(scheme, "late.mp4")))
            same_frames(found, local_late_frames(place, "late.mp4"))


def trust(place, scheme, name):
    """ffmpeg checks a certificate only if it is told to; its demuxers of lists do not pass that on."""
    return ("-tls_verify", 1, "-ca_file", place.authority) if scheme == "https" and name in FILMS else ()


def run_one(place, name, scheme, url):
    options = trust(place, scheme, name)
    with test(f"ffprobe/{scheme}/{name}"):
        found = probe(place, *options, url)
        equal(found, probe(place, place.folder / name), "what it tells")
        expect(abs(float(found["format"]["duration"]) - make_files.SECONDS) < 0.1, f"it tells {found}")
        counts = [stream["nb_read_packets"] for stream in found["streams"] if stream["codec_type"] == "video"]
        equal(counts, [str(make_files.SECONDS * make_files.RATE)], "the number of pictures")
    with test(f"ffmpeg/{scheme}/{name}"):
        same_frames(frames(place, *options, "-i", url), local_frames(place, name))
    with test(f"ffmpeg/{scheme}/{name} from second {SECOND}"):
        found = frames(place, *options, *late(name, url))
        same_frames(found, local_late_frames(place, name))
        count = (make_files.SECONDS - SECOND) * make_files.RATE
        pictures = sum(line.startswith("0,") for line in found)
        expect(abs(pictures - count) <= 1, f"there are {pictures} pictures, not {count}")
    if name in FILMS:
        with test(f"ffmpeg/{scheme}/{name} from second {SECOND} is not read as a whole"):
            command = ("ffmpeg", "-nostdin", "-v", "debug", *options, "-ss", SECOND, "-i", url, "-c", "copy")
            said = place.run("ffmpeg", *command, "-f", "null", "-").stderr.decode(errors="replace")
            counted = re.findall(r"Statistics: (\d+) bytes read, (\d+) seeks", said)
            read = sum(int(count) for count, _ in counted)
            size = (place.folder / name).stat().st_size
            note(f"ffmpeg/{scheme}/{name} from second {SECOND}: {read} of {size} bytes read")
            expect(0 < read < size / 2, f"{read} of {size} bytes were read")


def probe(place, *source):
    shown = "format=duration,nb_streams:stream=codec_type,codec_name,width,height,sample_rate,nb_read_packets"
    command = ("ffprobe", "-v", "error", "-count_packets", "-show_entries", shown, "-of", "json", *source)
    found = json.loads(place.run("ffprobe", *command).stdout)
    return {"format": found["format"], "streams": found["streams"]}


def late(name, source):
    """The arguments for a file from SECOND on."""
    seek, file = ("-ss", SECOND), ("-i", source)
    return (*file, *seek) if name in DECODED_TO_THE_SECOND else (*seek, *file)


@functools.cache
def local_frames(place, name):
    return frames(place, "-i", place.folder / name)


@functools.cache
def local_late_frames(place, name):
    return frames(place, *late(name, place.folder / name))


def frames(place, *source):
    """A line with a checksum for each decoded frame."""
    command = ("ffmpeg", "-nostdin", "-v", "error", *source, "-f", "framemd5", "-")
    lines = place.run("ffmpeg", *command).stdout.decode().splitlines()
    return [line for line in lines if not line.startswith("#")]


def same_frames(found, expected):
    for number, (one, other) in enumerate(zip(found, expected)):
        expect(one == other, f"frame {number} is '{one}', not '{other}'")
    equal(len(found), len(expected), "the number of frames")
    expect(expected, "there is no frame")
