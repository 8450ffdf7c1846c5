// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/brief_pause.hpp"
#include "base/limits.hpp"

#include <algorithm>
#include <cstdint>

namespace zlink {

/// How far the writer of a queue is ahead of its reader.
struct writer_lead {
    std::uint64_t bytes;
    bool is_long; ///< As many messages as the reader lets come before it returns credit.
};

/// Keeps a reader from staying right behind its writer, so that both want the same cache lines at
/// the same time: then it pauses now and then, until there is more. (docs/adr/0016.)
///
/// @threads One at a time.
class reader_distance {
public:
    /// For a reader that has read all that it had seen: looks at what there is now, and lets more
    /// come where that is little each time.
    /// @param look  Gives a `writer_lead`.
    template<class Look>
    void keep(Look&& look, void (*pause)() noexcept = brief_pause) noexcept {
        const writer_lead first = look();
        if (first.bytes == 0 || is_enough(first)) {
            return lose();
        }
        if (++short_looks_ <= limits::short_looks_max << vain_pauses_) {
            return;
        }
        writer_lead found = first;
        for (unsigned pauses = 0; pauses < limits::brief_pauses_max && !is_enough(found);
             ++pauses) {
            pause();
            const std::uint64_t seen_bytes = found.bytes;
            found = look();
            if (found.bytes == seen_bytes) {
                break;
            }
        }
        const bool in_vain = found.bytes == first.bytes; // Perhaps the writer is this thread.
        vain_pauses_ = in_vain ? std::min(vain_pauses_ + 1, limits::vain_pauses_max) : 0;
        short_looks_ = in_vain ? 0 : limits::short_looks_max;
    }

    /// There are several writers, or it is another one now.
    void lose() noexcept { short_looks_ = 0; }

private:
    static bool is_enough(const writer_lead& found) noexcept {
        return found.is_long || found.bytes >= limits::short_look_bytes;
    }

    unsigned short_looks_ = 0; ///< In a row.
    unsigned vain_pauses_ = 0; ///< In a row.
};

} // namespace zlink
