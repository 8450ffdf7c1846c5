// SPDX-License-Identifier: MPL-2.0
//
// The content of the files that are served: every octet follows from its position, so a client can
// check any part of a file without having the file.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace media_bench {

/// The eight octets at `index * 8`, in this machine's byte order: the finaliser of SplitMix64.
inline std::uint64_t word_at(std::uint64_t index) noexcept {
    std::uint64_t word = (index + 1) * 0x9e3779b97f4a7c15U;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebU;
    return word ^ (word >> 31);
}

/// Writes what a file has from `position` on.
inline void fill_content(char* target, std::size_t bytes, std::uint64_t position) noexcept {
    constexpr std::size_t word_bytes = sizeof(std::uint64_t);
    for (std::size_t done = 0; done < bytes;) {
        const std::uint64_t word = word_at((position + done) / word_bytes);
        const std::size_t skipped = (position + done) % word_bytes;
        const std::size_t part = std::min(word_bytes - skipped, bytes - done);
        std::memcpy(target + done, reinterpret_cast<const char*>(&word) + skipped, part);
        done += part;
    }
}

/// Compares received octets with what a file has at their position.
class content_check {
public:
    bool matches(const char* data, std::size_t bytes, std::uint64_t position) {
        expected_.resize(std::max(expected_.size(), bytes));
        fill_content(expected_.data(), bytes, position);
        return std::memcmp(expected_.data(), data, bytes) == 0;
    }

private:
    std::vector<char> expected_;
};

} // namespace media_bench
