// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <ucontext.h>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define ZLINK_FIBER_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define ZLINK_FIBER_TSAN 1
#elif defined(__has_feature) // Clang has no macros for sanitizers.
#if __has_feature(address_sanitizer)
#define ZLINK_FIBER_ASAN 1
#elif __has_feature(thread_sanitizer)
#define ZLINK_FIBER_TSAN 1
#endif
#endif
#if defined(ZLINK_FIBER_ASAN)
#include <sanitizer/common_interface_defs.h>
#elif defined(ZLINK_FIBER_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace zlink::testing {

#ifdef ZLINK_FIBER_TSAN
inline constexpr bool has_thread_sanitizer = true;
#else
inline constexpr bool has_thread_sanitizer = false;
#endif

/// A stack on which a function runs until it switches to another fiber. The sanitizers are
/// notified.
///
/// @threads One.
class fiber {
public:
    static constexpr std::size_t stack_bytes = std::size_t{64} * 1024;

    /// Stands for the caller's stack.
    fiber() noexcept {
#ifdef ZLINK_FIBER_TSAN
        state_ = __tsan_get_current_fiber();
#endif
    }

    /// @param body  Runs from the first switch on, and ends with leave().
    explicit fiber(std::function<void()> body)
        : body_(std::move(body)), stack_(new std::byte[stack_bytes]), bottom_(stack_.get()),
          bytes_(stack_bytes) {
        getcontext(&context_);
        context_.uc_stack.ss_sp = stack_.get();
        context_.uc_stack.ss_size = stack_bytes;
        context_.uc_link = nullptr;
        makecontext(&context_, &fiber::enter, 0);
#ifdef ZLINK_FIBER_TSAN
        state_ = __tsan_create_fiber(0);
#endif
    }
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;

    ~fiber() {
#ifdef ZLINK_FIBER_TSAN
        if (stack_ != nullptr) {
            __tsan_destroy_fiber(state_);
        }
#endif
    }

    /// Continues `to`. Must be called on this fiber; returns when another fiber switches back to
    /// it.
    void switch_to(fiber& to) noexcept {
        switch_from(this, to);
    }

    /// As switch_to, but never returns.
    void leave(fiber& to) noexcept {
        switch_from(nullptr, to);
    }

private:
    /// @param kept  The fiber left, or null if it never runs again.
    void switch_from([[maybe_unused]] fiber* kept, fiber& to) noexcept {
        from_ = this;
        to_ = &to;
#if defined(ZLINK_FIBER_ASAN)
        __sanitizer_start_switch_fiber(kept != nullptr ? &kept->state_ : nullptr, to.bottom_,
                                       to.bytes_);
#elif defined(ZLINK_FIBER_TSAN)
        __tsan_switch_to_fiber(to.state_, 0);
#endif
        swapcontext(&context_, &to.context_);
        arrive(state_);
    }

    static void enter() noexcept {
        arrive(nullptr);
        to_->body_();
    }

    static void arrive([[maybe_unused]] void* state) noexcept {
#ifdef ZLINK_FIBER_ASAN
        __sanitizer_finish_switch_fiber(state, &from_->bottom_, &from_->bytes_);
#endif
    }

    static inline fiber* from_ = nullptr;
    static inline fiber* to_ = nullptr;

    std::function<void()> body_;
    std::unique_ptr<std::byte[]> stack_;
    const void* bottom_ = nullptr;
    std::size_t bytes_ = 0;
    void* state_ = nullptr; ///< The sanitizer's.
    ucontext_t context_{};
};

} // namespace zlink::testing
