// SPDX-License-Identifier: MPL-2.0
//
// The settings of a run of the load client.

#pragma once

#include "../stream/arguments.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace media_bench {

struct load_settings {
    std::uint16_t port = 0;
    std::string path = "/video.bin"; // With {} for a number from 0 to file_count - 1.
    std::uint64_t file_count = 1;
    std::uint64_t file_bytes = std::uint64_t{1} << 30;
    std::uint64_t chunk_bytes = 65536; // 0: the whole file, without a range.
    std::size_t user_count = 100;
    double pause_seconds = 0;
    bool is_persistent = true; // Keep the connection from one request to the next.
    bool is_secure = false;
    bool copies = false;   // Read responses into memory instead of having the kernel discard them.
    bool verifies = false; // Compare the content.
    double warmup_seconds = 1;
    double measure_seconds = 3;
    double drain_seconds = 10;
    std::uint64_t seed = 1;
    std::vector<int> server_processes;
    unsigned limit_seconds = 0;
    std::string made_file; // Instead of a run, make this file.
};

inline std::vector<int> to_processes(const std::string& text) {
    std::vector<int> processes;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        processes.push_back(
            static_cast<int>(stream_bench::to_number(text.substr(begin, end - begin))));
        begin = end + 1;
    }
    return processes;
}

inline load_settings decode_load_settings(int argument_count, char** arguments) {
    using stream_bench::number_option;
    using stream_bench::text_option;
    load_settings run;
    stream_bench::decode_options(
        argument_count, arguments,
        {number_option("--port", "the server's, on 127.0.0.1", run.port),
         text_option("--path", "of the file; {} stands for a random number below --files",
                     run.path),
         number_option("--files", "number of files (1)", run.file_count),
         number_option("--file-size", "bytes of a file (1 GiB)", run.file_bytes),
         number_option("--chunk", "bytes of a range; 0: the whole file, without a range (65536)",
                       run.chunk_bytes),
         number_option("--users", "virtual users, each with one request at a time (100)",
                       run.user_count),
         number_option("--pause", "seconds between a response and the user's next request (0)",
                       run.pause_seconds),
         number_option("--persistent", "1: keep connections, 0: a new one for each request (1)",
                       run.is_persistent),
         number_option("--tls", "1: https (0)", run.is_secure),
         number_option("--copy",
                       "1: read bodies into memory; 0: let the kernel discard them (0; with TLS "
                       "and --verify always 1)",
                       run.copies),
         number_option("--verify", "1: compare every byte with what --make writes (0)",
                       run.verifies),
         number_option("--warmup", "seconds before measuring (1)", run.warmup_seconds),
         number_option("--measure", "seconds (3)", run.measure_seconds),
         number_option("--drain-timeout", "seconds to wait for the last responses (10)",
                       run.drain_seconds),
         number_option("--seed", "of the random positions (1)", run.seed),
         {"--server-pids", "processes whose CPU time to report, separated by commas",
          [&run](const std::string& text) { run.server_processes = to_processes(text); }},
         number_option("--limit", "end with status 3 after so many seconds (0: never)",
                       run.limit_seconds),
         text_option("--make", "write a file of --file-size bytes, and end", run.made_file)});
    if (run.made_file.empty() && run.port == 0) {
        stream_bench::reject("--port is needed");
    }
    if (run.user_count < 1 || run.file_count < 1 || run.file_bytes < 1 ||
        run.measure_seconds <= 0) {
        stream_bench::reject("--users, --files and --file-size are at least 1, --measure above 0");
    }
    if (run.made_file.empty() && run.chunk_bytes > run.file_bytes) {
        stream_bench::reject("--chunk is larger than the file");
    }
    stream_bench::raise_descriptor_limit();
    stream_bench::limit_time(run.limit_seconds);
    return run;
}

} // namespace media_bench
