# shellcheck shell=bash
# Shared by the suites; sourced, not run. A suite is called with a PREFIX, which holds include/zmq.h and
# lib/libzmq.so.5. It prints one line per test, 'PASS NAME', 'FAIL NAME' or 'SKIP NAME', and ends with 'N passed, M
# failed, K skipped'. Its downloads and builds stay in a folder of its own under ZLINK_CACHE.

suite=$(basename "$0")
suites=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$suites")")
cache=${ZLINK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/zlink}/$suite
logs=$cache/logs/$(cksum <<<"${1:-}" | cut -d " " -f 1) # One folder per PREFIX.
passed=0
failed=0
skipped=0

die() {
    echo "$suite: $*" >&2
    exit 2
}

# A suite that sets takes_packages may be given a folder with the package libzlink-zmq5 instead of a PREFIX.
packages=
if [ -n "${takes_packages:-}" ] && compgen -G "${1:-}/libzlink-zmq5_*.deb" >/dev/null; then
    packages=$(cd "$1" && pwd)
else
    [ -e "${1:-}/lib/libzmq.so.5" ] || die "usage: $0 PREFIX, which holds include/zmq.h and lib/libzmq.so.5"
fi
prefix=$(cd "$1" && pwd)
mkdir -p "$logs"

# Runs a command in a network namespace of its own, if that is allowed: suites use fixed ports.
if unshare -n sh -c 'ip link set lo up' 2>/dev/null; then
    # shellcheck disable=SC2016
    isolated() { unshare -n sh -c 'ip link set lo up; exec "$@"' sh "$@"; }
else
    isolated() { "$@"; }
fi

pass() {
    echo "PASS $1"
    passed=$((passed + 1))
}

skip() { # NAME REASON
    echo "SKIP $1  $2"
    skipped=$((skipped + 1))
}

# Runs one test with the library in PREFIX. Its output is in logs, under the test's name.
check() { # SECONDS NAME COMMAND...
    local seconds=$1 name=$2 status=0
    local log=$logs/${name//[^A-Za-z0-9_-]/_}.log
    shift 2
    LD_LIBRARY_PATH=$prefix/lib isolated timeout -k 5 "$seconds" "$@" >"$log" 2>&1 </dev/null || status=$?
    if [ "$status" -eq 0 ]; then
        pass "$name"
    else
        echo "FAIL $name  status $status: $(grep -aE 'Assertion|FAILED|rror' "$log" | head -1 | cut -c 1-120)"
        failed=$((failed + 1))
    fi
}

# Runs a program that prints the results of tests, one per line, 'PASS NAME' or 'FAIL NAME  REASON'. Its other output is
# in logs.
run_lines() { # SECONDS COMMAND...
    local seconds=$1 line status
    local said=$logs/$suite.lines
    shift
    isolated timeout -k 5 "$seconds" "$@" >"$said" 2>"$logs/$suite.log" </dev/null
    status=$?
    while IFS= read -r line; do
        echo "$line"
        case $line in
        PASS\ *) passed=$((passed + 1)) ;;
        FAIL\ *) failed=$((failed + 1)) ;;
        esac
    done <"$said"
    if [ "$status" -ne 0 ] || [ $((passed + failed)) -eq 0 ]; then
        echo "FAIL the end of all tests  status $status: $(tail -1 "$logs/$suite.log")"
        failed=$((failed + 1))
    fi
}

# Prints and counts the results of one program of tests/suites/programs: those in its file of the logs.
tell() { # NAME STATUS
    local line
    while IFS= read -r line; do
        case $line in
        PASS\ *) passed=$((passed + 1)) ;;
        FAIL\ *) failed=$((failed + 1)) ;;
        SKIP\ *) skipped=$((skipped + 1)) ;;
        LOADED\ *) ;;
        *) continue ;;
        esac
        echo "$line"
    done <"$logs/$1.lines"
    if [ "$2" -ne 0 ]; then
        echo "FAIL $1/end  status $2: $(tail -1 "$logs/$1.stderr")"
        failed=$((failed + 1))
    fi
}

# Ends a suite whose tools are missing.
require() { # COMMAND...
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || die "$tool is not there; scripts/install_dependencies suites installs it"
    done
}

# Compiles a program of these folders with the headers and the library in PREFIX, into the cache.
compile() { # SOURCE PROGRAM
    cc -std=c99 -O1 -I"$prefix/include" "$1" -o "$2" "$prefix/lib/libzlink.so" -Wl,-rpath,"$prefix/lib" \
        >"$logs/build.log" 2>&1 || die "could not build $1; see $logs/build.log"
}

# Compiles a program of examples/ as its users do, into the folder EXAMPLES.
compile_example() { # SOURCE
    local compiler=(cc) program=${1##*/}
    [ "${1##*.}" = c ] || compiler=(c++ -std=c++20)
    "${compiler[@]}" -O1 -I"$prefix/include" "$1" -o "$EXAMPLES/${program%.*}" "$prefix/lib/libzlink.so" \
        -Wl,-rpath,"$prefix/lib" >"$logs/build.log" 2>&1 || die "could not build $1; see $logs/build.log"
}

# Sets variables for the programs of tests/suites/web: zlink's side, web_peer, and the folder with its certificate.
build_web_peer() {
    export WEB_PEER=$cache/web_peer CERTIFICATES=$cache/certificates
    compile "$suites/web/web_peer.c" "$WEB_PEER"
    mkdir -p "$CERTIFICATES"
    python3 -B -c 'import sys; sys.path[:0] = sys.argv[1:2]; import tls_echo; tls_echo.make_certificates(sys.argv[2])' \
        "$root/tests/interop" "$CERTIFICATES" || die "could not make certificates"
}

# Installs npm packages of given versions in NODE_FOLDER.
export NODE_FOLDER=$cache/node
install_npm() { # PACKAGE...
    mkdir -p "$NODE_FOLDER" && npm install --silent --no-fund --no-audit --prefix "$NODE_FOLDER" "$@"
}

close() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] && exit 0
    exit 1
}

# Runs a step of a build unless it was run before with the same command.
once() { # STAMP COMMAND...
    local stamp=$cache/$1.done
    shift
    [ "$(cat "$stamp" 2>/dev/null)" = "$*" ] && return
    "$@" >"$logs/build.log" 2>&1 </dev/null || {
        tail -20 "$logs/build.log" >&2
        die "could not $*; all of it is in $logs/build.log"
    }
    echo "$*" >"$stamp"
}

# Unpacks a Debian source package, of this system's release or the one given.
debian_source() { # PACKAGE FOLDER [RELEASE]
    local archives status=0
    archives=$(mktemp -d)
    rm -rf "$2"
    { fetch_source "$archives" "$1" "${3:-}" && dpkg-source --no-check -x "$archives"/*.dsc "$2"; } || status=$?
    rm -rf "$archives"
    return $status
}

# Unpacks the original of a Debian source package, without Debian's changes.
debian_original() { # PACKAGE FOLDER [RELEASE]
    local archives status=0
    archives=$(mktemp -d)
    rm -rf "$2" && mkdir -p "$2"
    { fetch_source "$archives" "$1" "${3:-}" --tar-only && tar -xf "$archives"/*.orig.tar.* -C "$2"; } || status=$?
    rm -rf "$archives"
    return $status
}

# Fetches the archives of a Debian source package without changing the system's own lists.
fetch_source() { # FOLDER PACKAGE RELEASE [OPTION-OF-APT]
    local lists options status=0
    lists=$(mktemp -d)
    mkdir -p "$lists"/{parts,state/partial,cache/archives/partial}
    deb_src "$3" >"$lists/parts/source.sources"
    options=(-q -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$lists/parts"
        -o "Dir::State::Lists=$lists/state" -o "Dir::Cache=$lists/cache" -o APT::Sandbox::User=root)
    (cd "$1" && apt-get "${options[@]}" update &&
        apt-get "${options[@]}" --download-only ${4:+"$4"} source "$2") || status=$?
    rm -rf "$lists"
    return $status
}

# The source packages for the binary packages that this system uses, as an entry of apt's lists.
deb_src() { # [RELEASE]
    local entry
    entry=$(awk -v RS= '/URIs:[^\n]*\/debian\/?(\n|$)/ { print; exit }' /etc/apt/sources.list.d/*.sources)
    [ -n "$entry" ] || die "no entry for Debian in /etc/apt/sources.list.d/*.sources"
    sed -E -e '/^#/d' -e 's/^Types:.*/Types: deb-src/' ${1:+-e "s/^Suites:.*/Suites: $1/"} <<<"$entry"
}

# Runs tests of tests/interop with PREFIX's library as zlink, and prints their results at the end.
run_pytest() { # PYTEST-ARGUMENT...
    local junit=$logs/junit.xml pytest
    pytest=("$root/.venv/pytest/bin/python" -m pytest -q -p no:cacheprovider --confcutdir "$root")
    export ZLINK_LIBRARY=$prefix/lib/libzmq.so.5 PYTHONDONTWRITEBYTECODE=1
    "$root/scripts/make_venv" "$root/.venv/pytest" pytest || die "no environment for pytest"
    # First two tests, which fetch the environments of the others. They may fail (status 1).
    "${pytest[@]}" "$root/tests/interop" --ignore "$root/tests/interop/foreign" \
        -k "test_version_is or test_both_libraries_have_ws" >"$logs/environments.log" 2>&1 </dev/null
    if [ $? -gt 1 ] || grep -q "make_venv: " "$logs/environments.log"; then
        die "no environment for the tests; why is in $logs/environments.log"
    fi
    rm -f "$junit"
    isolated timeout -k 10 1800 "${pytest[@]}" -n $(($(nproc) * 2)) --junitxml "$junit" "$@" \
        >"$logs/pytest.log" 2>&1 </dev/null
    [ -s "$junit" ] || die "pytest wrote no result; its words are in $logs/pytest.log"
    "$root/scripts/sum_tests.py" --list "$junit"
}
