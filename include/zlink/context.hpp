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
#ifdef ZLINK_BUILD_DRAFT_API
    server = ZLINK_SERVER,
    client = ZLINK_CLIENT,
    radio = ZLINK_RADIO,
    dish = ZLINK_DISH,
    gather = ZLINK_GATHER,
    scatter = ZLINK_SCATTER,
    dgram = ZLINK_DGRAM,
    peer = ZLINK_PEER,
    channel = ZLINK_CHANNEL,
#endif
};

/// libzmq's draft types, whose names pattern has in builds with them only. Types of options depend
/// on them, and are the same in both.
namespace detail::drafts {
inline constexpr pattern server{12};
inline constexpr pattern client{13};
inline constexpr pattern radio{14};
inline constexpr pattern dish{15};
inline constexpr pattern gather{16};
inline constexpr pattern scatter{17};
inline constexpr pattern dgram{18};
inline constexpr pattern peer{19};
inline constexpr pattern channel{20};
#ifdef ZLINK_BUILD_DRAFT_API
static_assert(server == pattern::server && client == pattern::client && radio == pattern::radio &&
              dish == pattern::dish && gather == pattern::gather && scatter == pattern::scatter &&
              dgram == pattern::dgram && peer == pattern::peer && channel == pattern::channel);
#endif
} // namespace detail::drafts

/// A duration of an option that stands for "without limit".
inline constexpr std::chrono::milliseconds no_limit{-1};

namespace detail {

template<int Number, class Value>
struct context_option {};
template<int Number>
struct context_text_option {};

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
inline constexpr detail::context_text_option<ZLINK_METRICS_ENDPOINT> metrics_endpoint{};
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

/// A value of a metric (zlink_metric_t).
struct metric {
    enum class sort : int {
        counter = ZLINK_METRIC_COUNTER,
        gauge = ZLINK_METRIC_GAUGE,
        histogram = ZLINK_METRIC_HISTOGRAM,
    };

    std::string name;
    std::string family; ///< Of a histogram: `name` without its ending.
    std::string help;
    sort kind;
    std::vector<std::pair<std::string, std::string>> labels;
    double value;
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
    template<int Number>
    result<void> set(detail::context_text_option<Number>, const std::string& value) {
        return detail::with_texts(
            {value}, [&] { return zlink_ctx_set_text(handle_, Number, value.c_str()); });
    }
    template<int Number>
    void set(detail::context_text_option<Number> which, const std::string& value, throws_t) {
        detail::unwrap(set(which, value), true);
    }

    /// @throws std::bad_alloc
    template<int Number>
    result<std::string> get(detail::context_text_option<Number>) const {
        std::string text(64, '\0');
        for (;;) {
            std::size_t bytes = text.size();
            if (zlink_ctx_get_text(handle_, Number, text.data(), &bytes) == 0) {
                text.resize(bytes - 1);
                return text;
            }
            if (errno != EINVAL || bytes <= text.size()) {
                return last_error();
            }
            text.resize(bytes);
        }
    }

    /// Everything that is counted, those values of a family behind each other: zlink_metrics.
    /// @param with_peers  Also of each peer.
    /// @throws std::bad_alloc
    result<std::vector<metric>> metrics(bool with_peers = false) const {
        struct collection {
            std::vector<metric> all;
            bool lacks_memory = false;
        } found;
        const auto take = [](const zlink_metric_t* each, void* hint) {
            auto& to = *static_cast<collection*>(hint);
            try {
                metric made{each->name, each->family,
                            each->help, static_cast<metric::sort>(each->kind),
                            {},         each->value};
                for (std::size_t index = 0; index < each->label_count; ++index) {
                    made.labels.emplace_back(each->labels[index].name, each->labels[index].value);
                }
                to.all.push_back(std::move(made));
            } catch (const std::bad_alloc&) { // It must not pass through the library.
                to.lacks_memory = true;
            }
        };
        if (zlink_metrics(handle_, with_peers ? ZLINK_METRICS_PEERS : 0, take, &found) < 0) {
            return last_error();
        }
        if (found.lacks_memory) {
            throw std::bad_alloc{};
        }
        return std::move(found.all);
    }

    /// The same in Prometheus' text format 0.0.4.
    /// @throws std::bad_alloc
    result<std::string> metrics_text(bool with_peers = false) const {
        zlink_msg_t text;
        zlink_msg_init(&text);
        const struct closing {
            zlink_msg_t& closed;
            ~closing() { zlink_msg_close(&closed); }
        } at_the_end{text};
        if (zlink_metrics_text(handle_, with_peers ? ZLINK_METRICS_PEERS : 0, &text) != 0) {
            return last_error();
        }
        return std::string(static_cast<const char*>(zlink_msg_data(&text)), zlink_msg_size(&text));
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
