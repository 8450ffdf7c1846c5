// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/give_way.hpp"
#include "base/limits.hpp"
#include "base/runnable_threads.hpp"

#include <algorithm>
#include <chrono>

namespace zlink {

/// Looks again and again for what is waited for before its owner sleeps, if the last wait was that
/// short. Who is answered at once is then neither put to sleep nor woken, which takes several times
/// as long as the answer; who waits long looks no more until a wait is short again. Gives way to
/// other threads between two looks.
///
/// Where it takes the system long to wake a thread, the waits of a conversation whose threads all
/// sleep are longer than that, but would be short if all of them looked. So of waits of a middle
/// length some count as short, those at the beginning of a conversation among them.
///
/// For conversations; streams have their stream_pace.
///
/// @threads One at a time.
template<class Clock>
class basic_busy_poll {
public:
    using clock = Clock;

    /// @param longest  How long it looks; 0: never.
    explicit basic_busy_poll(std::chrono::microseconds longest) noexcept : longest_(longest) {}

    /// Begins a wait, by looking until `found` says so where that is worth it.
    /// @param gives_way   Ends the looking when it says no.
    /// @param is_crowded  Ends it when it says yes: other threads of the process need the
    /// processor.
    /// @return Whether `found` said so: the wait is over.
    template<class Found>
    bool begin(typename clock::time_point wait_end, Found&& found,
               bool (*gives_way)() noexcept = give_way,
               bool (*is_crowded)() noexcept = runnable_threads::exceed_processors) {
        begun_ = clock::now();
        if (!is_worth_it_) {
            return false;
        }
        const runnable_threads::spinning counted;
        const typename clock::time_point end = std::min(wait_end, begun_ + longest_);
        do {
            if (found()) {
                middle_count_ = 0;
                return true;
            }
        } while (!is_crowded() && gives_way() && clock::now() < end);
        return false;
    }

    /// The wait is over for which begin() did not suffice.
    /// @param was_conversation  Little was moved since the wait before.
    void end(bool was_conversation = true) noexcept {
        const typename clock::duration length = clock::now() - begun_;
        if (was_conversation && length >= longest_ &&
            length < limits::middle_wait_factor * longest_) {
            is_worth_it_ = middle_count_ % limits::middle_waits_per_trial < limits::trial_looks;
            ++middle_count_;
        } else {
            is_worth_it_ = was_conversation && length < longest_;
            middle_count_ = 0;
        }
    }

private:
    std::chrono::microseconds longest_;
    typename clock::time_point begun_{};
    bool is_worth_it_ = false;
    unsigned middle_count_ = 0; ///< Waits of a middle length, one after the other.
};

using busy_poll = basic_busy_poll<std::chrono::steady_clock>;

} // namespace zlink
