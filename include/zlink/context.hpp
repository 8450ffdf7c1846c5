// SPDX-License-Identifier: MPL-2.0
//
// The context: I/O threads and sockets.
#pragma once

#include <zlink/error.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zlink {

/// Types of sockets.
enum class pattern : int {
    pair = ZLINK_PAIR,
    pub = ZLINK_PUB,
    sub = ZLINK_SUB,
    req = ZLINK_REQ,
    rep = ZLINK_REP,
    dealer = ZLINK_DEALER,
    router = ZLINK_ROUTER,
    pull = ZLINK_PULL,
    push = ZLINK_PUSH,
    xpub = ZLINK_XPUB,
    xsub = ZLINK_XSUB,
    raw_stream = ZLINK_RAW_STREAM,
    stream = ZLINK_STREAM,
};

/// A duration of an option that stands for "without limit".
inline constexpr std::chrono::milliseconds no_limit{-1};

namespace detail {

template<int Number, class Value>
struct context_option {};

} // namespace detail

/// The options of a context, for context::set() and context::get(). zlink.h describes them at
/// zlink_ctx_set.
namespace context_option {
inline constexpr detail::context_option<ZLINK_IO_THREADS, int> io_threads{};
inline constexpr detail::context_option<ZLINK_MAX_SOCKETS, int> max_sockets{};
inline constexpr detail::context_option<ZLINK_MAX_MSGSZ, int> max_message_bytes{};
inline constexpr detail::context_option<ZLINK_THREAD_PRIORITY, int> thread_priority{};
inline constexpr detail::context_option<ZLINK_THREAD_SCHED_POLICY, int> thread_scheduling_policy{};
inline constexpr detail::context_option<ZLINK_THREAD_NAME_PREFIX, int> thread_name_prefix{};
inline constexpr detail::context_option<ZLINK_THREAD_AFFINITY_CPU_ADD, int> add_processor{};
inline constexpr detail::context_option<ZLINK_THREAD_AFFINITY_CPU_REMOVE, int> remove_processor{};
inline constexpr detail::context_option<ZLINK_BUSY_POLL, std::chrono::microseconds> busy_poll{};
inline constexpr detail::context_option<ZLINK_IPV6, bool> ipv6{};
inline constexpr detail::context_option<ZLINK_BLOCKY, bool> blocky{};
} // namespace context_option

/// An object that terminating a context waits for: an open socket, or a connection of a closed one
/// that still has something to send.
struct blocker {
    const void* socket; ///< Null: the socket is closed. For comparison with native_handle().
    pattern type;
    std::string endpoint;
    std::optional<std::chrono::milliseconds> linger; ///< Nothing: no limit.
    std::uint64_t messages;
    std::uint64_t bytes;
};

/// Owns the I/O threads. Outlives its sockets.
///
/// @threads Any, except its destruction.
class context {
public:
    /// With one I/O thread.
    /// @throws std::system_error  The system refuses it.
    context() : handle_(zlink_ctx_new()) {
        if (handle_ == nullptr) {
            detail::raise(last_error());
        }
    }

    /// @param io_threads  0: the threads that wait in calls do the I/O, or run_ready().
    /// @throws std::system_error
    explicit context(int io_threads) : context() {
        set(zlink::context_option::io_threads, io_threads, throws);
    }

    context(context&& from) noexcept : handle_(std::exchange(from.handle_, nullptr)) {}
    context& operator=(context&& from) noexcept {
        if (this != &from) {
            end();
            handle_ = std::exchange(from.handle_, nullptr);
        }
        return *this;
    }
    context(const context&) = delete;
    context& operator=(const context&) = delete;

    /// @blocks  As terminate(), also while a signal handler runs.
    ~context() { end(); }

    /// Makes every call that blocks, now and later, fail with errc::terminated.
    result<void> shut_down() noexcept { return detail::checked(zlink_ctx_shutdown(handle_)); }

    /// Waits until all sockets are closed, and their messages sent. Then this object is empty.
    /// @error EINTR  A signal handler ran; call again.
    result<void> terminate() noexcept {
        if (zlink_ctx_term(handle_) != 0) {
            return last_error();
        }
        handle_ = nullptr;
        return {};
    }

    template<int Number, class Value>
    result<void> set(detail::context_option<Number, Value>,
                     std::type_identity_t<Value> value) noexcept {
        return detail::with_int(number_of(value),
                                [&](int number) { return zlink_ctx_set(handle_, Number, number); });
    }
    template<int Number, class Value>
    void set(detail::context_option<Number, Value> which, std::type_identity_t<Value> value,
             throws_t) {
        detail::unwrap(set(which, value));
    }

    template<int Number, class Value>
    result<Value> get(detail::context_option<Number, Value>) const noexcept {
        errno = 0; // An option may be -1.
        const int value = zlink_ctx_get(handle_, Number);
        if (value == -1 && errno == EINVAL) {
            return last_error();
        }
        return static_cast<Value>(value);
    }

    /// @throws std::bad_alloc
    result<std::vector<blocker>> blockers() const {
        std::vector<zlink_blocker_t> raw;
        int count = zlink_ctx_blockers(handle_, nullptr, 0);
        while (count > static_cast<int>(raw.size())) {
            raw.resize(static_cast<std::size_t>(count));
            count = zlink_ctx_blockers(handle_, raw.data(), raw.size());
        }
        if (count < 0) {
            return last_error();
        }
        std::vector<blocker> made;
        for (int index = 0; index < count; ++index) {
            const zlink_blocker_t& each = raw[static_cast<std::size_t>(index)];
            made.push_back({each.socket, static_cast<pattern>(each.type), each.endpoint,
                            each.linger < 0 ? std::nullopt
                                            : std::optional{std::chrono::milliseconds{each.linger}},
                            each.messages, each.bytes});
        }
        return made;
    }

    /// A descriptor that is readable while run_ready() has something to do, of a context without
    /// I/O threads: zlink_ctx_fd.
    result<zlink_fd_t> descriptor() noexcept {
        const zlink_fd_t opened = zlink_ctx_fd(handle_);
        return opened < 0 ? result<zlink_fd_t>{last_error()} : result<zlink_fd_t>{opened};
    }
    /// Does the I/O that is possible now: zlink_ctx_run.
    result<void> run_ready() noexcept { return detail::checked(zlink_ctx_run(handle_)); }

    /// For functions of zlink.h. Null: terminated, or moved from.
    void* native_handle() const noexcept { return handle_; }

private:
    static std::int64_t number_of(int value) noexcept { return value; }
    static std::int64_t number_of(bool value) noexcept { return value ? 1 : 0; }
    static std::int64_t number_of(std::chrono::microseconds value) noexcept {
        return value.count();
    }

    void end() noexcept {
        while (handle_ != nullptr && zlink_ctx_term(handle_) != 0 && errno == EINTR) {
        }
        handle_ = nullptr;
    }

    void* handle_;
};

} // namespace zlink
