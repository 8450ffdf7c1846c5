#!/usr/bin/env bash
# SPDX-License-Identifier: MPL-2.0
#
# Builds the C library of the crate omq-libzmq with cargo and installs it as DEST/libzmq.so.5. If DEST has a file of
# that name, or a VERSION, that this script did not create, nothing is changed and the exit status is 1.
set -euo pipefail

readonly version="0.8.0"

if [ "$#" -ne 1 ]; then
    echo "usage: build_omq.sh DEST" >&2
    exit 2
fi
if ! command -v cargo >/dev/null; then
    echo "build_omq.sh: cargo is needed" >&2
    exit 1
fi

dest="$1"
mkdir -p "$dest"
dest="$(cd "$dest" && pwd)"
if [ -e "$dest/libzmq.so.5" ] && [ "$(cat "$dest/VERSION" 2>/dev/null)" = "$version" ]; then
    echo "$dest/libzmq.so.5 is up to date"
    exit 0
fi

if [ -e "$dest/libzmq.so.5" ] || [ -e "$dest/VERSION" ]; then
    if [ ! -e "$dest/libzmq.so.5" ] || ! grep -qxE '[0-9]+\.[0-9]+\.[0-9]+' "$dest/VERSION" 2>/dev/null; then
        echo "build_omq.sh: $dest has a libzmq.so.5 or VERSION that this script did not create; choose another folder" >&2
        exit 1
    fi
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
: >"$work/src/lib.rs"
cat >"$work/Cargo.toml" <<TOML
[package]
name = "omq-subject"
version = "0.0.0"
edition = "2021"

[dependencies]
omq-libzmq = "=$version"
TOML

cd "$work"
cargo build --release --package omq-libzmq --target-dir "$work/target"
install -m 755 "$work/target/release/libomq_zmq.so" "$dest/libzmq.so.5"
echo "$version" >"$dest/VERSION"
echo "built $dest/libzmq.so.5"
