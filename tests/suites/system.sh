# shellcheck shell=bash
# A Debian system of its own for a suite, in a folder of the cache; sourced, not run, behind common.sh. It has programs that
# cannot be installed beside those that zlink is built with (gnuradio needs another Boost), and libzlink-zmq5 may take
# libzmq5's place in it. Needs root and mmdebstrap.

# Makes a system of this system's release, with apt's packages. It is kept until their list changes.
make_system() { # FOLDER PACKAGE...
    local folder=$1 release sources=()
    shift
    [ "$(id -u)" -eq 0 ] || die "needs root, because it makes a system with files of several users"
    require mmdebstrap unshare
    # shellcheck source=/dev/null
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    [ ! -e /etc/apt/sources.list.d/debian.sources ] || sources=(/etc/apt/sources.list.d/debian.sources)
    # The list is a part of the command, so `once` makes the system again when it has changed.
    once "${folder##*/}" make_new_system "$folder" "$release" "${sources[*]}" "$@"
}

make_new_system() { # FOLDER RELEASE SOURCES PACKAGE...
    local folder=$1 release=$2 sources=$3 packages
    shift 3
    packages=$*
    rm -rf --one-file-system "$folder"
    # shellcheck disable=SC2086
    unshare --mount --propagation private mmdebstrap --quiet --mode=root --variant=apt --dpkgopt=force-unsafe-io --aptopt='APT::Install-Recommends "false"' \
        --include="${packages// /,}" "$release" "$folder" $sources
}

# Runs a command in a system, as enter_system says, with the folders of the suites, the PREFIX and the cache in their
# places.
in_system() { # SYSTEM COMMAND...
    local system=$1
    shift
    unshare --mount --pid --net --fork --kill-child --propagation private \
        "$suites/enter_system" "$system" "$root/tests" "$prefix" "${logs%%/logs/*}" "${packages:--}" "$@"
}
