// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/limits.hpp"

#include <algorithm>
#include <cstdint>

namespace zlink {

/// Notices that a reader is right behind its writer, so that both want the same cache lines at the
/// same time: then it had better pause now and then, until there is more. (docs/adr/0016.)
///
/// @threads One at a time.
class reader_distance {
public:
    /// Asked after each look that a reader takes who has read all that it had seen.
    /// @param found_bytes  What it found.
    /// @return Whether to pause and look again, and to say so by on_paused().
    bool is_short(std::uint64_t found_bytes) noexcept {
        if (found_bytes == 0 || found_bytes >= limits::short_look_bytes) {
            short_looks_ = 0;
            return false;
        }
        return ++short_looks_ > limits::short_looks_max << vain_pauses_;
    }

    /// @param in_vain  Nothing came during the pause: perhaps the writer is this thread.
    void on_paused(bool in_vain) noexcept {
        vain_pauses_ = in_vain ? std::min(vain_pauses_ + 1, limits::vain_pauses_max) : 0;
        short_looks_ = in_vain ? 0 : limits::short_looks_max;
    }

private:
    unsigned short_looks_ = 0; ///< In a row.
    unsigned vain_pauses_ = 0; ///< In a row.
};

} // namespace zlink
