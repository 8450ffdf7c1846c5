// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/give_way.hpp"

#include <algorithm>
#include <chrono>

namespace zlink {

/// Looks again and again for what is waited for before its owner sleeps, if the last wait was that
/// short. Who is answered at once is then neither put to sleep nor woken, which takes several times
/// as long as the answer; who waits long looks no more until a wait is short again. Gives way to
/// other threads between two looks.
///
/// For conversations; streams have their stream_pace.
///
/// @threads One at a time.
class busy_poll {
public:
    using clock = std::chrono::steady_clock;

    /// @param longest  How long it looks; 0: never.
    explicit busy_poll(std::chrono::microseconds longest) noexcept : longest_(longest) {}

    /// Begins a wait, by looking until `found` says so where that is worth it.
    /// @param gives_way  Ends the looking when it says no.
    /// @return Whether `found` said so: the wait is over.
    template<class Found>
    bool begin(clock::time_point wait_end, Found&& found, bool (*gives_way)() noexcept = give_way) {
        begun_ = clock::now();
        if (!is_worth_it_) {
            return false;
        }
        const clock::time_point end = std::min(wait_end, begun_ + longest_);
        do {
            if (found()) {
                return true;
            }
        } while (gives_way() && clock::now() < end);
        return false;
    }

    /// The wait is over for which begin() did not suffice.
    /// @param was_conversation  Little was moved since the wait before.
    void end(bool was_conversation = true) noexcept {
        is_worth_it_ = was_conversation && clock::now() - begun_ < longest_;
    }

private:
    std::chrono::microseconds longest_;
    clock::time_point begun_{};
    bool is_worth_it_ = false;
};

} // namespace zlink
