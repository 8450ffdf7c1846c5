// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <ucontext.h>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define ZLINK_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ZLINK_FIBER_ASAN 1
#endif
#endif
#ifdef ZLINK_FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

namespace zlink::testing {

/// A stack on which a function runs until it switches to another fiber.
///
/// @threads One.
class fiber {
public:
    static constexpr std::size_t stack_bytes = std::size_t{64} * 1024;

    /// Stands for the stack that the caller is on.
    fiber() noexcept = default;

    /// @param body  Runs from the first switch on, and ends with leave().
    explicit fiber(std::function<void()> body)
        : body_(std::move(body)), stack_(new std::byte[stack_bytes]), bottom_(stack_.get()),
          bytes_(stack_bytes) {
        getcontext(&context_);
        context_.uc_stack.ss_sp = stack_.get();
        context_.uc_stack.ss_size = stack_bytes;
        context_.uc_link = nullptr;
        makecontext(&context_, &fiber::enter, 0);
    }
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;

    /// Goes on with `to`. Returns when somebody switches back to this fiber, which is the running
    /// one.
    void switch_to(fiber& to) noexcept { switch_from(this, to); }

    /// As switch_to, for good.
    void leave(fiber& to) noexcept { switch_from(nullptr, to); }

private:
    /// @param kept  This fiber, or null if it never runs again.
    void switch_from([[maybe_unused]] fiber* kept, fiber& to) noexcept {
        from_ = this;
        to_ = &to;
#ifdef ZLINK_FIBER_ASAN
        __sanitizer_start_switch_fiber(kept != nullptr ? &kept->fake_stack_ : nullptr, to.bottom_,
                                       to.bytes_);
#endif
        swapcontext(&context_, &to.context_);
        arrive(fake_stack_);
    }

    static void enter() noexcept {
        arrive(nullptr);
        to_->body_();
    }

    static void arrive([[maybe_unused]] void* fake_stack) noexcept {
#ifdef ZLINK_FIBER_ASAN
        __sanitizer_finish_switch_fiber(fake_stack, &from_->bottom_, &from_->bytes_);
#endif
    }

    static inline fiber* from_ = nullptr;
    static inline fiber* to_ = nullptr;

    std::function<void()> body_;
    std::unique_ptr<std::byte[]> stack_;
    const void* bottom_ = nullptr;
    std::size_t bytes_ = 0;
    void* fake_stack_ = nullptr; ///< The address sanitizer's.
    ucontext_t context_{};
};

} // namespace zlink::testing
