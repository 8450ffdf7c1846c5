// SPDX-License-Identifier: MPL-2.0
#include "serve.hpp"
#include "top.hpp"
#include "zlink.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>

namespace {

std::string version_text() {
    int major = 0;
    int minor = 0;
    int patch = 0;
    zlink_library_version(&major, &minor, &patch);
    return "zlink " + std::to_string(major) + "." + std::to_string(minor) + "." +
           std::to_string(patch);
}

/// @return The exit status.
int run(int count, char** words) {
    CLI::App program{
        "Serves files with zlink, a socket library from the browser to the backend, and "
        "shows the sockets of a program.",
        "zlink"};
    program.set_version_flag("--version", version_text());
    program.require_subcommand(1);

    zlink_tool::serve_arguments asked;
    std::string log_format = "combined";
    CLI::App& serve = *program.add_subcommand(
        "serve", "Serves the files of a folder over HTTP and HTTPS, until SIGINT or SIGTERM");
    serve.add_option("DIR", asked.folder, "The folder, at the path /")->required();
    serve
        .add_option("--listen", asked.endpoints,
                    "Where to listen: http://HOST:PORT or https://HOST:PORT; * stands for every "
                    "address, or for a free port. May be repeated")
        ->default_str("http://127.0.0.1:8080");
    serve.add_option("--root", asked.roots,
                     "Another folder at a path of its own: /PREFIX/=DIR. May be repeated");
    serve.add_option("--index", asked.index, "The file that is sent for a folder; empty: none")
        ->capture_default_str();
    serve.add_flag("--list", asked.lists, "List folders that have no index");
    serve.add_option("--cors", asked.cors,
                     "The origin whose pages may read the files, or * for all of them");
    serve.add_option("--cache", asked.cache,
                     "Cache-Control by name: '*.js: public, max-age=3600; *.html: no-cache'");
    serve.add_flag("--uncompressed", asked.uncompressed,
                   "Do not send FILE.br or FILE.gz in place of FILE, nor compress listings");
    serve.add_flag("--portable-etags", asked.portable_etags,
                   "Entity tags of size and time alone: equal on servers with copies of the files");
    serve.add_option(
        "--tls-cert", asked.certificate,
        "The certificates for https, PEM, the server's own first; SIGHUP reloads them");
    serve.add_option("--tls-key", asked.key,
                     "The server's key, PEM; default: in the file of --tls-cert");
    serve.add_option("--access-log", asked.access_log,
                     "A file for a line per request, or - for standard output; SIGHUP reopens it");
    serve.add_option("--log-format", log_format, "combined, or json: an object per line")
        ->check(CLI::IsMember({"combined", "json"}))
        ->capture_default_str();
    serve.add_option("--admin", asked.admin,
                     "Where /metrics, for Prometheus, and /healthz are: http://HOST:PORT");
    serve
        .add_option("--grace", asked.grace_seconds,
                    "After SIGTERM: seconds for answers that are under way")
        ->check(CLI::Range(0, 30))
        ->capture_default_str();
    serve
        .add_option("--drain-delay", asked.drain_delay_seconds,
                    "After SIGTERM, before --grace: seconds in which all is served, while "
                    "/healthz answers 503")
        ->check(CLI::Range(0, 3600))
        ->capture_default_str();
    serve.add_option("--max-connections", asked.max_connections, "0: no limit")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    serve
        .add_option("--max-connections-per-address", asked.max_connections_per_address,
                    "0: no limit")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    serve.add_flag("--proxy-protocol", asked.proxied,
                   "Connections come through a proxy that sends its client's address");
    serve.add_option("--trusted-proxy", asked.trusted_proxies,
                     "A proxy whose X-Forwarded-For or Forwarded names the client: ADDRESS, "
                     "ADDRESS/BITS or unix; may be repeated");
    serve.add_option("--threads", asked.threads, "I/O threads")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    zlink_tool::top_arguments shown;
    bool once = false;
    CLI::App& top =
        *program.add_subcommand("top", "Shows the sockets of a running program, with their rates");
    top.add_option("TARGET", shown.target,
                   "A process id, of a program that has set ZLINK_METRICS_ENDPOINT, or "
                   "http://HOST:PORT")
        ->required();
    top.add_option("--interval", shown.interval, "Seconds between two updates")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    top.add_option("--count", shown.count, "End after so many updates; 0: no limit")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    top.add_flag("--once", once, "As --count 1");
    top.add_option("--sort", shown.sort, zlink_tool::top_orders)
        ->check([](const std::string& name) {
            return zlink_tool::is_top_order(name)
                       ? std::string{}
                       : "it has to be one of " + std::string{zlink_tool::top_orders};
        })
        ->capture_default_str();
    top.add_flag("--json", shown.json, "One object in a line for each update, in place of a table");
    try {
        program.parse(count, words);
    } catch (const CLI::ParseError& failure) {
        constexpr int wrong_usage = 2;
        return program.exit(failure) == 0 ? 0 : wrong_usage; // 0: --help.
    }
    if (top.parsed()) {
        shown.count = once ? 1 : shown.count;
        return zlink_tool::top(shown);
    }
    if (asked.endpoints.empty()) {
        asked.endpoints.emplace_back("http://127.0.0.1:8080");
    }
    asked.logs_json = log_format == "json";
    return zlink_tool::serve(asked);
}

} // namespace

int main(int count, char** words) {
    try {
        return run(count, words);
    } catch (const std::exception& failure) { // No memory.
        std::fputs(failure.what(), stderr);
        return 1;
    }
}
