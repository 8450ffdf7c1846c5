// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace zlink::pipe {

/// The mark of one side of a queue that it is parked.
///
/// A side that finds nothing to do sets its mark. The mark counts only after a fence: until the
/// fence and another check, a wake-up may have been missed. The other side, after it published or
/// returned something, and a fence, checks the mark and takes it. The side that takes the mark must
/// wake the parked side, once; if the parked side takes it back itself, nobody does.
///
/// @threads Any.
template<class Platform>
class basic_parked_mark {
public:
    /// Sets the mark, and passes a full fence. The parked side's.
    void set() noexcept {
        is_set_.store(1, std::memory_order_relaxed);
        Platform::fence::full();
    }

    /// The same, and lets the side that takes the mark use what the parked side wrote before.
    void set_and_share() noexcept {
        restore();
        Platform::fence::full();
    }

    /// Sets the mark again, for the side that has taken it and shall not wake the parked side. The
    /// next side that takes it may use what this one wrote before.
    void restore() noexcept { is_set_.store(1, std::memory_order_release); }

    /// Whether take() is worthwhile. Counts only after a fence.
    bool is_set() const noexcept { return is_set_.load(std::memory_order_relaxed) != 0; }

    /// @return Whether the mark was set, and the caller has taken it.
    bool take() noexcept { return is_set_.exchange(0, std::memory_order_acq_rel) != 0; }

    /// Passes the full fence that set() pairs with, and takes the mark.
    /// @return Whether the mark was set, and the caller has taken it.
    bool take_after_fence() noexcept {
        Platform::fence::full();
        return is_set() && take();
    }

private:
    typename Platform::template atomic<std::uint32_t> is_set_{0};
};

} // namespace zlink::pipe
