// SPDX-License-Identifier: MPL-2.0
#include "api/boundary.hpp"
#include "api/handles.hpp"
#include "api/socket_types.hpp"
#include "api/symbols.hpp"
#include "api/text.hpp"
#include "base/error_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace {

using zlink::errc;
using zlink::result;
using zlink::api::at_context;
using zlink::api::at_system_boundary;
using zlink::socket::context_options;

/// The maximum that libzmq reports for ZMQ_MAX_SOCKETS, although it accepts more.
constexpr int sockets_max_limit = 65535;

/// From libzmq's draft API; its stable library accepts it, too.
constexpr int zero_copy_recv = 10;

/// The maximum spinning time of a blocked call, in microseconds.
constexpr int busy_poll_limit = 1000;

/// The most bytes of a text that the names of threads begin with, as in libzmq.
constexpr std::size_t prefix_bytes_max = 16;

/// Null if there is no such option.
const char* name_of(int option) noexcept {
    constexpr std::array names{
        std::pair{ZLINK_IO_THREADS, "ZLINK_IO_THREADS"},
        std::pair{ZLINK_MAX_SOCKETS, "ZLINK_MAX_SOCKETS"},
        std::pair{ZLINK_MAX_MSGSZ, "ZLINK_MAX_MSGSZ"},
        std::pair{ZLINK_MSG_T_SIZE, "ZLINK_MSG_T_SIZE"},
        std::pair{ZLINK_THREAD_PRIORITY, "ZLINK_THREAD_PRIORITY"},
        std::pair{ZLINK_THREAD_SCHED_POLICY, "ZLINK_THREAD_SCHED_POLICY"},
        std::pair{ZLINK_THREAD_AFFINITY_CPU_ADD, "ZLINK_THREAD_AFFINITY_CPU_ADD"},
        std::pair{ZLINK_THREAD_AFFINITY_CPU_REMOVE, "ZLINK_THREAD_AFFINITY_CPU_REMOVE"},
        std::pair{ZLINK_THREAD_NAME_PREFIX, "ZLINK_THREAD_NAME_PREFIX"},
        std::pair{ZLINK_BUSY_POLL, "ZLINK_BUSY_POLL"},
        std::pair{ZLINK_IPV6, "ZLINK_IPV6"},
        std::pair{ZLINK_BLOCKY, "ZLINK_BLOCKY"},
        std::pair{ZLINK_METRICS_ENDPOINT, "ZLINK_METRICS_ENDPOINT"},
    };
    const auto* const found = std::ranges::find(names, option, &std::pair<int, const char*>::first);
    return found != names.end() ? found->second : nullptr;
}

/// Sets a number, which must be within `least` to `most`.
result<void> assign(int& target, int value, int least, int most = INT_MAX) {
    if (value < least || value > most) {
        return errc::invalid_argument;
    }
    target = value;
    return {};
}

/// Accepts any number that is not negative; 0 means false.
result<void> assign(bool& target, int value) {
    if (value < 0) {
        return errc::invalid_argument;
    }
    target = value != 0;
    return {};
}

result<void> set_option(context_options& options, int option, int value) {
    switch (option) {
    case ZLINK_IO_THREADS:
        return assign(options.io_threads, value, 0);
    case ZLINK_MAX_SOCKETS:
        return assign(options.sockets_max, value, 1);
    case ZLINK_MAX_MSGSZ:
        return assign(options.message_bytes_max, value, 0);
    case ZLINK_THREAD_PRIORITY:
        return assign(options.thread_priority, value, 0);
    case ZLINK_THREAD_SCHED_POLICY:
        return assign(options.thread_scheduling_policy, value, 0);
    case ZLINK_THREAD_AFFINITY_CPU_ADD:
        if (value < 0 || std::count(options.thread_processors.begin(),
                                    options.thread_processors.end(), value) != 0) {
            return errc::invalid_argument;
        }
        options.thread_processors.push_back(value);
        return {};
    case ZLINK_THREAD_AFFINITY_CPU_REMOVE:
        return std::erase(options.thread_processors, value) != 0 ? result<void>{}
                                                                 : errc::invalid_argument;
    case ZLINK_THREAD_NAME_PREFIX:
        options.thread_name_prefix = value != 0 ? std::to_string(value) : std::string{};
        return {};
    case zero_copy_recv:
        return assign(options.zero_copy_recv, value);
    case ZLINK_BUSY_POLL: {
        int microseconds = 0;
        const result<void> assigned = assign(microseconds, value, 0, busy_poll_limit);
        options.busy_poll = assigned ? std::chrono::microseconds{microseconds} : options.busy_poll;
        return assigned;
    }
    case ZLINK_IPV6:
        return assign(options.ipv6, value);
    case ZLINK_BLOCKY:
        return assign(options.blocky, value);
    default:
        return errc::invalid_argument;
    }
}

/// The number that `text` begins with; 0 if it does not.
int number_in(const std::string& text) noexcept {
    int number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

result<int> option_value(const context_options& options, int option) {
    switch (option) {
    case ZLINK_IO_THREADS:
        return options.io_threads;
    case ZLINK_MAX_SOCKETS:
        return options.sockets_max;
    case ZLINK_SOCKET_LIMIT:
        return sockets_max_limit;
    case ZLINK_MAX_MSGSZ:
        return options.message_bytes_max;
    case ZLINK_MSG_T_SIZE:
        return static_cast<int>(sizeof(zlink_msg_t));
    case ZLINK_THREAD_SCHED_POLICY:
        return options.thread_scheduling_policy;
    case ZLINK_THREAD_NAME_PREFIX:
        return number_in(options.thread_name_prefix);
    case zero_copy_recv:
        return int{options.zero_copy_recv};
    case ZLINK_BUSY_POLL:
        return static_cast<int>(options.busy_poll.count());
    case ZLINK_IPV6:
        return int{options.ipv6};
    case ZLINK_BLOCKY:
        return int{options.blocky};
    default:
        return errc::invalid_argument;
    }
}

/// Says which option could not be set, or read, where no text does.
errc tell_failure(int option, errc error, const std::string& value) {
    if (error == errc::invalid_argument) {
        const char* const name = name_of(option);
        const std::string subject =
            name != nullptr ? name : "context option " + std::to_string(option);
        zlink::set_error_text(value.empty() ? subject + ": cannot be read so"
                                            : subject + ": cannot be set to " + value);
    }
    return error;
}

/// As in libzmq, what has the size of an int is one, also where a text would do.
result<void> set_option(zlink::socket::context& target, int option, const void* value,
                        std::size_t size) {
    zlink::set_error_text({});
    if (value == nullptr) {
        return errc::invalid_argument;
    }
    if (size == sizeof(int)) {
        int number = 0;
        std::memcpy(&number, value, sizeof number);
        result<void> outcome;
        target.change_options(
            [&](context_options& options) { outcome = set_option(options, option, number); });
        return outcome;
    }
    const std::string text{static_cast<const char*>(value), size};
    if (option == ZLINK_METRICS_ENDPOINT) {
        return target.serve_metrics(text);
    }
    if (option != ZLINK_THREAD_NAME_PREFIX || size == 0 || size > prefix_bytes_max) {
        return errc::invalid_argument;
    }
    target.change_options([&](context_options& options) { options.thread_name_prefix = text; });
    return {};
}

/// Writes `data` to the caller's buffer, if it has room.
result<void> give(std::string_view data, void* value, std::size_t* size) noexcept {
    if (*size < data.size()) {
        return errc::invalid_argument;
    }
    std::memcpy(value, data.data(), data.size());
    *size = data.size();
    return {};
}

result<void> read_option(zlink::socket::context& source, int option, void* value,
                         std::size_t* size) {
    if (value == nullptr || size == nullptr) {
        return errc::invalid_argument;
    }
    if (option == ZLINK_METRICS_ENDPOINT) {
        const std::string text = source.metrics_address();
        return give({text.c_str(), text.size() + 1}, value, size);
    }
    if (option == ZLINK_THREAD_NAME_PREFIX && *size != sizeof(int)) {
        return give(source.options().thread_name_prefix, value, size);
    }
    const result<int> number = option_value(source.options(), option);
    if (!number || *size != sizeof *number) {
        return errc::invalid_argument;
    }
    return give({reinterpret_cast<const char*>(&*number), sizeof *number}, value, size);
}

zlink_blocker_t describe(const zlink::socket::context::blocker& from) noexcept {
    zlink_blocker_t made{};
    made.socket = from.open_socket;
    made.type = zlink::api::type_for_c(from.type);
    made.linger = from.linger_rest ? static_cast<int>(from.linger_rest->count()) : -1;
    made.messages = from.unsent.message_count;
    made.bytes = from.unsent.bytes;
    zlink::api::copy_text(from.endpoint, made.endpoint);
    return made;
}

} // namespace

extern "C" void* zlink_ctx_new() {
    return at_system_boundary([]() -> result<void*> { return new zlink::socket::context; });
}
ZLINK_ALSO_ZMQ(ctx_new)

extern "C" int zlink_ctx_term(void* context) {
    return at_system_boundary([&]() -> result<void> {
        if (zlink::socket::context::is_foreign(context)) {
            zlink::socket::context::forget_foreign(context);
            return {};
        }
        auto* const target = zlink::socket::context::from_handle(context);
        if (target == nullptr) {
            return errc::bad_address;
        }
        if (const result<void> ended = target->terminate(); !ended) {
            return ended.error();
        }
        target->retire();
        delete target;
        return {};
    });
}
ZLINK_ALSO_ZMQ(ctx_term)

extern "C" int zlink_ctx_shutdown(void* context) {
    return at_system_boundary([&] {
        return at_context(context, [](auto& target) -> result<void> {
            target.shut_down();
            return {};
        });
    });
}
ZLINK_ALSO_ZMQ(ctx_shutdown)

extern "C" int zlink_ctx_set(void* context, int option, int value) {
    return at_system_boundary([&] {
        return at_context(context, [&](auto& target) -> result<void> {
            result<void> outcome;
            target.change_options(
                [&](context_options& options) { outcome = set_option(options, option, value); });
            if (!outcome) {
                return tell_failure(option, outcome.error(), std::to_string(value));
            }
            return outcome;
        });
    });
}
ZLINK_ALSO_ZMQ(ctx_set)

extern "C" int zlink_ctx_get(void* context, int option) {
    return at_system_boundary([&] {
        return at_context(context, [&](auto& target) -> result<int> {
            const result<int> value = option_value(target.options(), option);
            return value ? value : tell_failure(option, value.error(), {});
        });
    });
}
ZLINK_ALSO_ZMQ(ctx_get)

extern "C" int zlink_ctx_set_ext(void* context, int option, const void* value, size_t size) {
    return at_system_boundary([&] {
        return at_context(context,
                          [&](auto& target) { return set_option(target, option, value, size); });
    });
}
ZLINK_ALSO_ZMQ(ctx_set_ext)

extern "C" int zlink_ctx_get_ext(void* context, int option, void* value, size_t* size) {
    return at_system_boundary([&] {
        return at_context(context,
                          [&](auto& target) { return read_option(target, option, value, size); });
    });
}
ZLINK_ALSO_ZMQ(ctx_get_ext)

extern "C" int zlink_ctx_blockers(void* context, zlink_blocker_t* blockers, size_t capacity) {
    return at_system_boundary([&] {
        return at_context(context, [&](auto& target) -> result<int> {
            if (blockers == nullptr && capacity != 0) {
                return errc::invalid_argument;
            }
            const auto found = target.blockers();
            for (std::size_t index = 0; index < std::min(found.size(), capacity); ++index) {
                blockers[index] = describe(found[index]);
            }
            return static_cast<int>(found.size());
        });
    });
}

extern "C" void* zlink_init(int io_threads) {
    if (io_threads < 0) {
        static_cast<void>(zlink::api::fail(EINVAL));
        return nullptr;
    }
    void* const made = zlink_ctx_new();
    if (made != nullptr) {
        zlink_ctx_set(made, ZLINK_IO_THREADS, io_threads);
    }
    return made;
}
ZLINK_ALSO_ZMQ(init)

extern "C" int zlink_term(void* context) {
    return zlink_ctx_term(context);
}
ZLINK_ALSO_ZMQ(term)

extern "C" int zlink_ctx_destroy(void* context) {
    return zlink_ctx_term(context);
}
ZLINK_ALSO_ZMQ(ctx_destroy)

extern "C" zlink_fd_t zlink_ctx_fd(void* context) {
    return at_system_boundary(
        [&] { return at_context(context, [](auto& target) { return target.descriptor(); }); });
}

extern "C" int zlink_ctx_run(void* context) {
    return at_system_boundary(
        [&] { return at_context(context, [](auto& target) { return target.run_ready(); }); });
}
