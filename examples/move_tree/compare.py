#!/usr/bin/env python3
"""Runs move_tree.py with two libraries, one after the other, and prints both rates.

    compare.py --stock PYTHON --candidate PYTHON [TREE] [--chunk 256] [--limit 256M] [--rounds 3]

PYTHON is the interpreter of an environment with pyzmq (scripts/make_venv). The two differ only in the file
that their pyzmq loads as libzmq; program, tree, destination and options are the same.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from tree import list_tree, byte_count

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "move_tree.py")
DEFAULT_TREES = ("/usr/include", "/usr/share")
SECONDS_MAX = 900


class Failed(Exception):
    """One of the two processes failed; it has reported the reason itself."""


def parse():
    parser = argparse.ArgumentParser(description="Transfers a tree with two libraries and compares the rates.")
    parser.add_argument("tree", nargs="?", metavar="TREE", help="a folder (/usr/include)")
    parser.add_argument("--stock", required=True, metavar="PYTHON")
    parser.add_argument("--candidate", required=True, metavar="PYTHON")
    parser.add_argument("--chunk", default="256", metavar="BYTES", help="bytes per message (256)")
    parser.add_argument("--limit", type=byte_count, default=byte_count("256M"), metavar="BYTES",
                        help="omit files beyond this total size (256M)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N",
                        help="libzmq and zlink alternately, N times; prints medians (3)")
    parser.add_argument("--destination", metavar="FOLDER",
                        help="folder for the temporary copies (memory if it has room, else the temporary folder)")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    if arguments.tree is None:
        arguments.tree = next((tree for tree in DEFAULT_TREES if os.path.isdir(tree)), None)
        if arguments.tree is None:
            parser.error(f"none of {', '.join(DEFAULT_TREES)} exists; name a TREE")
    if not os.path.isdir(arguments.tree):
        parser.error(f"{arguments.tree} is not a folder")
    return arguments


def warm_up(listing):
    """Reads every file once, so that both libraries find the files in the page cache."""
    for name, _, _ in listing.files:
        try:
            with open(os.path.join(listing.root, name), "rb", buffering=0) as source:
                while source.read(1 << 20):
                    pass
        except OSError:
            pass  # The sender reports it.


def destination_parent(chosen, listing):
    """A folder with room for the copy; in memory if possible, because a disk's speed varies."""
    # A small file takes a block or a page.
    needed = listing.bytes + 4096 * (len(listing.files) + len(listing.folders)) + (64 << 20)
    candidates = [chosen] if chosen else ["/dev/shm", tempfile.gettempdir()]
    for folder in candidates:
        if os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > needed:
            return folder
    raise Failed(
        f"no room for {needed / 1e6:.0f} MB in {' or '.join(candidates)}; "
        "choose another --destination or a smaller --limit"
    )


def move(label, python, arguments, parent):
    """Runs one transfer with one library; returns its figures."""
    with tempfile.TemporaryDirectory(prefix="move_tree-", dir=parent) as folder:
        copy = os.path.join(folder, "copy")
        receiver = subprocess.Popen(
            [python, PROGRAM, "receive", copy, "--listen", "tcp://127.0.0.1:*", "--chunk", arguments.chunk],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
        )
        sender = None
        try:
            first = receiver.stdout.readline()
            if not first.startswith("listening on "):
                raise Failed(f"{label}: the receiver did not start (status {receiver.wait()})")
            sender = subprocess.Popen(
                [python, PROGRAM, "send", arguments.tree, "--to", first.split()[-1], "--chunk",
                 arguments.chunk, "--limit", str(arguments.limit), "--label", label, "--json"],
                stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
            )
            output, _ = sender.communicate(timeout=SECONDS_MAX)
            if sender.returncode == 0:
                receiver.wait(timeout=30)
        except subprocess.TimeoutExpired:
            raise Failed(f"{label}: not finished after {SECONDS_MAX} s") from None
        finally:
            for process in (sender, receiver):
                if process is not None and process.poll() is None:
                    process.kill()
                    process.wait()
            receiver.stdout.close()
        if sender.returncode != 0 or receiver.returncode != 0:
            raise Failed(
                f"{label}: the sender ended with status {sender.returncode}, "
                f"the receiver with {receiver.returncode}"
            )
        return json.loads(output)


def show(results, stock, candidate):
    def median(label, key):
        return statistics.median(figures[key] for figures in results[label])

    print(f"{'':8}{'files':>8}{'MB':>9}{'seconds':>9}{'MB/s':>9}{'messages/s':>12}{'CPU s':>8}  library")
    rates = {}
    for label in (stock, candidate):
        last = results[label][-1]
        seconds = median(label, "seconds")
        rates[label] = last["messages"] / seconds
        cpu = statistics.median(
            figures["cpu_seconds"] + figures["receiver_cpu_seconds"] for figures in results[label]
        )
        print(
            f"{label:8}{last['files']:>8}{last['bytes'] / 1e6:>9.1f}{seconds:>9.2f}"
            f"{last['bytes'] / 1e6 / seconds:>9.1f}{rates[label]:>12.0f}{cpu:>8.2f}"
            f"  {os.path.basename(last['library'])}"
        )
    ratios = [a["seconds"] / b["seconds"] for a, b in zip(results[stock], results[candidate])]
    spread = f" (median of {len(ratios)}, {min(ratios):.2f} to {max(ratios):.2f})" if len(ratios) > 1 else ""
    print(f"{candidate} is {statistics.median(ratios):.2f} times as fast as {stock} here{spread}")
    unread = results[candidate][-1]["unread"]
    print(f"all checksums match{f'; {unread} entries not moved, named above' if unread else ''}")


def main():
    arguments = parse()
    stock, candidate = "libzmq", "zlink"
    listing = list_tree(arguments.tree, arguments.limit)
    parent = destination_parent(arguments.destination, listing)
    print(
        f"{len(listing.files)} files, {listing.bytes / 1e6:.1f} MB of {arguments.tree}, "
        f"{arguments.chunk} bytes per message, over tcp into {parent}",
        flush=True,
    )
    warm_up(listing)
    results = {stock: [], candidate: []}
    pythons = {stock: arguments.stock, candidate: arguments.candidate}
    for _ in range(arguments.rounds):
        for label in (stock, candidate):
            results[label].append(move(f"{label:6}", pythons[label], arguments, parent))
    if results[stock][-1]["library"] == results[candidate][-1]["library"]:
        raise Failed(f"both environments load {results[stock][-1]['library']}; nothing was compared")
    show(results, stock, candidate)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, OSError) as failure:
        print(f"compare: {failure}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("\ncompare: interrupted", file=sys.stderr)
        sys.exit(130)
