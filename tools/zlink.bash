# SPDX-License-Identifier: MPL-2.0
#
# Completion of zlink(1) for bash.

_zlink() {
    local word=$2 before=$3
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "serve top --help --version" -- "$word")
        return
    fi
    if [ "${COMP_WORDS[1]}" = top ]; then
        case $before in
        --sort)
            mapfile -t COMPREPLY < <(compgen -W "sent received bytes queued dropped blocked peers connections reconnects failed http number" -- "$word")
            ;;
        --interval | --count) ;;
        *)
            if [[ $word == -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W "--count --help --interval --json --once --sort" -- "$word")
            else
                mapfile -t COMPREPLY < <(compgen -W "$(sed -n \
                    's/.* @zlink-metrics-\([0-9]*\)-[0-9]*$/\1/p' /proc/net/unix | sort -u)" -- "$word")
            fi
            ;;
        esac
        return
    fi
    case $before in
    --listen | --admin)
        mapfile -t COMPREPLY < <(compgen -W "http:// https://" -- "$word")
        compopt -o nospace
        return
        ;;
    --tls-cert | --tls-key | --access-log)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        compopt -o filenames
        return
        ;;
    --log-format)
        mapfile -t COMPREPLY < <(compgen -W "combined json" -- "$word")
        return
        ;;
    --trusted-proxy | --root | --index | --cors | --cache | --threads | --drain-delay | --grace | --max-connections | --max-connections-per-address)
        return
        ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "--access-log --admin --cache --cors --drain-delay --grace --help --index --list
            --listen --log-format --max-connections --max-connections-per-address --portable-etags --proxy-protocol
            --root --threads --tls-cert --tls-key --trusted-proxy --uncompressed" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        compopt -o filenames
    fi
}
complete -F _zlink zlink
