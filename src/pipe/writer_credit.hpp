// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "pipe/publication_fence.hpp"
#include "pipe/queue_limits.hpp"
#include "pipe/returned_credit.hpp"

#include <algorithm>
#include <cstdint>

namespace zlink::pipe {

/// The messages that the writer of a queue has pushed, and how far it may go before it must look at
/// the credit that the reader has returned.
///
/// @threads The writer's.
template<class Platform>
class basic_writer_credit {
public:
    /// Whether another message may begin.
    /// @param position  The total of bytes so far.
    bool allows_another(std::uint64_t position) const noexcept {
        return pushed_count_ < count_limit_ && position < position_limit_;
    }

    /// How many messages may begin, as far as their number is limited. Needs allows_another().
    std::uint64_t left() const noexcept { return count_limit_ - pushed_count_; }

    std::uint64_t pushed_count() const noexcept { return pushed_count_; }
    void count(std::uint64_t messages) noexcept { pushed_count_ += messages; }
    /// Takes back count() for messages that were replaced.
    void uncount(std::uint64_t messages) noexcept { pushed_count_ -= messages; }

    /// Takes over what the reader has returned, and the present limits.
    /// @param fence  Credit ends when it must decide again.
    void renew(const basic_returned_credit<Platform>& returned,
               const basic_credit_limits<Platform>& allowed,
               basic_publication_fence<Platform>& fence) noexcept {
        fence.on_credit_needed(pushed_count_);
        const queue_progress credit = returned.credit();
        count_limit_ = std::min(credit.message_count + allowed.messages_max(),
                                fence.credit_max(pushed_count_));
        position_limit_ = credit.position + allowed.bytes_max();
    }

    /// No message may begin until renew().
    void close() noexcept { count_limit_ = 0; }

private:
    std::uint64_t pushed_count_ = 0;
    std::uint64_t count_limit_ = 0;
    std::uint64_t position_limit_ = 0;
};

} // namespace zlink::pipe
