"""The contents of a folder, as a list for the sender."""

import argparse
import os
import stat
from dataclasses import dataclass, field


@dataclass
class Listing:
    """The contents of a tree, each folder before its contents. All names are bytes, relative to root."""

    root: bytes
    folders: list = field(default_factory=list)  # (name, mode)
    files: list = field(default_factory=list)  # (name, mode, size)
    links: list = field(default_factory=list)  # (name, target)
    skipped: list = field(default_factory=list)  # (name, reason)
    bytes: int = 0
    cut: bool = False  # files were omitted because of the limit


def shown(name):
    """A file name as text that any terminal can print."""
    return os.fsdecode(name).encode("utf-8", "backslashreplace").decode()


def byte_count(text):
    """The value of 300, 64K, 300M or 2G; for argparse."""
    scale = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper())
    value = int(text[:-1]) * scale if scale else int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number of bytes")
    return value


def list_tree(root, bytes_max=None):
    """Lists a folder without following links; omits files beyond bytes_max, if given.

    Entries that cannot be read or are not a file, folder or link are in `skipped`, with the reason.
    Raises OSError if root itself cannot be listed.
    """
    listing = Listing(os.fsencode(root))
    pending = [b""]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(os.path.join(listing.root, folder)) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            if not folder:
                raise
            listing.skipped.append((folder, error.strerror))
            continue
        subfolders = []
        for entry in entries:
            _add(listing, os.path.join(folder, entry.name), entry, bytes_max, subfolders)
        pending.extend(reversed(subfolders))
    return listing


def _add(listing, name, entry, bytes_max, subfolders):
    try:
        status = entry.stat(follow_symlinks=False)
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISLNK(status.st_mode):
            listing.links.append((name, os.readlink(entry.path)))
        elif stat.S_ISDIR(status.st_mode):
            listing.folders.append((name, mode))
            subfolders.append(name)
        elif not stat.S_ISREG(status.st_mode):
            listing.skipped.append((name, "not a file, folder or link"))
        elif bytes_max is not None and listing.bytes + status.st_size > bytes_max:
            listing.cut = True
        else:
            listing.files.append((name, mode, status.st_size))
            listing.bytes += status.st_size
    except OSError as error:
        listing.skipped.append((name, error.strerror))
