// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/ref_counted.hpp"
#include "pipe/mailbox.hpp"
#include "pipe/pipe.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace zlink::socket {

/// Delivers itself to a mailbox once several threads have called arrive().
///
/// @threads any
class countdown final : public pipe::letter, public ref_counted<countdown> {
public:
    explicit countdown(pipe::mailbox_ptr told) noexcept : told_(std::move(told)) {}

    /// @param count  Number of additional arrive() calls to expect.
    void expect(std::uint32_t count) noexcept { left_.fetch_add(count, std::memory_order_relaxed); }

    void arrive() noexcept {
        if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            told_->deliver(*this, pipe::event::arrived);
        }
    }

    bool is_over() const noexcept { return left_.load(std::memory_order_acquire) == 0; }

    void retain() noexcept override { intrusive_ptr_add_ref(this); }
    void release() noexcept override { intrusive_ptr_release(this); }

private:
    pipe::mailbox_ptr told_;
    std::atomic<std::uint32_t> left_{0};
};

using countdown_ptr = boost::intrusive_ptr<countdown>;

} // namespace zlink::socket
