// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "zlink.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <functional>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// Helpers of the tests of the public API: contexts, sockets and messages that end with their
/// scope, and the settings that a test is repeated under.
///
/// No test sleeps. Calls that block wait for events, each for at most `patience`; only a failing
/// test waits that long.
namespace api_test {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

/// The longest wait of a call for an event that must happen. The thread sanitizer takes ten times
/// as long for an encrypted message of 20 MB, and other tests run at the same time.
#ifdef __SANITIZE_THREAD__
constexpr milliseconds patience{60000};
#else
constexpr milliseconds patience{10000};
#endif
/// The wait of a call for an event that must not happen.
constexpr milliseconds moment{20};

/// No error.
constexpr int ok = 0;

enum class transport : unsigned char { inproc, tcp, ipc, ws };

/// The transport, and the threads that run the I/O.
struct setting {
    transport via;
    int io_threads; ///< 0: the caller runs the I/O.
};
std::ostream& operator<<(std::ostream& out, const setting& shown);

/// Every transport with 0, 1 and 3 I/O threads.
std::vector<setting> every_setting();
/// As every_setting(), without inproc.
std::vector<setting> network_settings();
/// Endpoints for peers that do not speak ZMTP.
std::vector<setting> raw_settings();
/// As every_setting(), without those in which the caller runs the I/O.
std::vector<setting> threaded_settings();
inline constexpr std::array every_io_threads{0, 1, 3};

/// An endpoint to bind; LAST_ENDPOINT has the address chosen.
std::string wildcard(transport via);
/// An endpoint that is not bound yet.
std::string vacant(transport via);

/// A message, frame by frame.
struct message {
    message() = default;
    message(std::initializer_list<std::string> given) : frames(given) {}

    std::vector<std::string> frames;

    bool operator==(const message&) const = default;
};
std::ostream& operator<<(std::ostream& out, const message& shown);

/// A context whose sockets do not linger by default.
class context {
public:
    explicit context(int io_threads = 1);
    explicit context(const setting& chosen) : context(chosen.io_threads) {}
    context(const context&) = delete;
    context& operator=(const context&) = delete;
    ~context() { end(); }

    operator void*() const noexcept { return handle_; }

    /// zlink_ctx_term, once.
    void end();
    void shut_down();

    /// Waits a moment, and runs the I/O if the caller has to.
    void let_io_happen() const;

private:
    void* handle_;
};

/// Calls `is_true` until it returns true, running I/O in between; the test ends if it never does.
void wait_until(const context& owner, const std::function<bool()>& is_true);

/// Waits until `thread` (gettid) is parked in the kernel, so its call is waiting.
void await_asleep(const std::atomic<int>& thread);

/// A socket that waits no longer than `patience`.
class socket {
public:
    socket(const context& owner, int type);
    socket(socket&& from) noexcept : handle_(std::exchange(from.handle_, nullptr)) {}
    socket& operator=(socket&& from) noexcept;
    ~socket() { close(); }

    operator void*() const noexcept { return handle_; }

    void close();

    socket& set(int option, int value);
    socket& set(int option, milliseconds value);
    socket& set(int option, std::string_view value);
    int get(int option) const;
    std::string text(int option) const;
    std::string last_endpoint() const { return text(ZLINK_LAST_ENDPOINT); }

    /// @return The endpoint where it is bound.
    std::string bind(const std::string& endpoint);
    std::string bind(transport via) { return bind(wildcard(via)); }
    void connect(const std::string& endpoint);

    /// @return The error, or `ok`.
    int try_bind(const std::string& endpoint);
    int try_connect(const std::string& endpoint);
    int unbind(const std::string& endpoint);
    int disconnect(const std::string& endpoint);

    /// @return The error of the first frame that was not sent, or `ok`.
    int send(const message& outgoing, int flags = 0);
    int send(std::string_view frame, int flags = 0);

    /// A whole message; the test ends if none comes.
    message recv(int flags = 0);
    /// One frame, likewise.
    std::string recv_frame(int flags = 0);
    /// The error of a receive; the test ends if it succeeds.
    int recv_error(int flags = ZLINK_DONTWAIT);
    bool more() const { return get(ZLINK_RCVMORE) != 0; }
    int events() const { return get(ZLINK_EVENTS); }

    /// Waits until one of `events` is possible.
    /// @return The possible ones.
    int poll(int events, milliseconds longest = patience) const;

private:
    void* handle_;
};

/// A zlink_msg_t that is closed with its scope.
class frame {
public:
    frame() { zlink_msg_init(&raw_); }
    explicit frame(std::size_t bytes);
    explicit frame(std::string_view content);
    frame(void* data, std::size_t bytes, zlink_free_fn* release, void* hint);
    frame(const frame&) = delete;
    frame& operator=(const frame&) = delete;
    ~frame() { zlink_msg_close(&raw_); }

    zlink_msg_t* get() noexcept { return &raw_; }
    std::string text() {
        return {static_cast<const char*>(zlink_msg_data(&raw_)), zlink_msg_size(&raw_)};
    }

private:
    zlink_msg_t raw_;
};

/// A zlink_free_fn that counts its calls in the std::atomic<int> that `hint` points to.
void count_release(void* data, void* hint);

/// A tcp port where the kernel accepts connections and no data is ever sent.
class silent_listener {
public:
    silent_listener();
    silent_listener(const silent_listener&) = delete;
    silent_listener& operator=(const silent_listener&) = delete;
    ~silent_listener();

    const std::string& endpoint() const noexcept { return endpoint_; }

private:
    int descriptor_;
    std::string endpoint_;
};

/// Sends `message` until `from` would block: the number sent, and the error.
struct filled {
    int count;
    int error;
};
filled fill(socket& from, const message& sent = {"x"}, int flags = ZLINK_DONTWAIT,
            int count_max = 100000);

/// The messages that wait to be sent by a socket to its only peer.
std::uint64_t unsent_to_peer(const socket& by);

/// Waits until `subscriber` gets the messages of `publisher`, with messages that begin with
/// `topic`.
void await_subscription(socket& publisher, socket& subscriber, const std::string& topic);

/// The error of a call that returns -1 when it fails.
inline int error_of(int outcome) {
    return outcome < 0 ? zlink_errno() : ok;
}

/// The time that `body` takes.
milliseconds time_of(const std::function<void()>& body);

} // namespace api_test
