// SPDX-License-Identifier: MPL-2.0
#include "trial.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>

namespace robustness {

int chosen(int full, int quick, int sanitized) noexcept {
    return is_full() ? full : is_sanitized ? sanitized : quick;
}

std::ptrdiff_t memory_bytes() {
    std::ifstream status{"/proc/self/status"};
    std::string word;
    std::ptrdiff_t kibibytes = 0;
    while (status >> word) {
        if (word == "RssAnon:") {
            status >> kibibytes;
        }
    }
    return kibibytes * 1024;
}

int descriptor_count() {
    const std::filesystem::directory_iterator all{"/proc/self/fd"};
    // One of them belongs to the iterator.
    return static_cast<int>(std::distance(begin(all), end(all))) - 1;
}

void allow_many_descriptors() noexcept {
    rlimit limit;
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

} // namespace robustness
