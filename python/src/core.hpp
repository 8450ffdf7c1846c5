// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "gil.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <zlink.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <pthread.h>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::python {

namespace nb = nanobind;

class batch;
class waker;
struct watch;

/// Longest that a call waits before it looks for signals. A signal interrupts a wait, but not one
/// that begins just after the signal's handler has run.
constexpr int slice_ms_max = 1000;
/// The same for a context without I/O threads, whose waits no signal interrupts.
constexpr int driven_slice_ms_max = 100;
/// Calls in a row that complete without waiting, after which an asynchronous socket lets the event
/// loop run.
constexpr int immediate_count_max = 128;
/// Shorter payloads are sent and received without releasing the GIL, which would take longer.
constexpr std::size_t gil_held_bytes_max = 8 * 1024;

/// Raises the exception of `error`, of the class that zlink/_errors.py has for it.
[[noreturn]] void fail(int error, const std::string& text);

/// Lets go of the objects whose bytes have been sent. Needs the GIL.
void release_sent() noexcept;

/// A context, and the sockets that are open in it. All fields belong to the GIL.
class context {
public:
    explicit context(int io_thread_count);
    context(const context&) = delete;
    context& operator=(const context&) = delete;
    ~context();

    /// The context's handle.
    /// @param action  The name of the method that needs it, for the error's text.
    void* handle(const char* action) const;

    void shut_down();
    /// Closes the sockets and waits until their messages are sent.
    void terminate();

    void* raw = nullptr;
    int io_thread_count;
    int owner_process = 0;
    bool is_terminating = false;
    std::set<class core*> sockets;
};

/// A thread that waits until the peers of a socket have disconnected. Belongs to the GIL.
struct drain_wait {
    pthread_t thread;
    bool is_ended = false; ///< Another thread has ended the wait.
};

enum direction : unsigned { receiving, sending };

/// A socket. All fields belong to the GIL, and to the thread that has it marked as busy.
class core {
public:
    core(nb::handle owner, int type, std::string name);
    core(const core&) = delete;
    core& operator=(const core&) = delete;
    ~core();

    /// @param linger_ms  Below -1: as the option says.
    void close();
    bool is_closed() const { return raw == nullptr || closes_when_drained; }

    /// Raises the exception of `error`, which the method `action` got.
    [[noreturn]] void refuse(const char* action, int error, std::string text = {});

    /// Ends the loan of the messages of the last recv_batch.
    void end_batch();

    /// Interrupts the thread that waits in a drain. Called until it has left: a wait that begins
    /// just afterwards is not interrupted, nor is one that does the I/O.
    void end_drain();

    std::int64_t get_int(int option);

    nb::object owner; ///< The Python object of the context.
    context* home;
    void* raw = nullptr;
    int type;
    std::string name;     ///< Of the class, for texts.
    std::string endpoint; ///< Of the last bind or connect, for texts.
    bool is_busy = false;
    pthread_t user{}; ///< The thread that uses the socket, if one does.
    drain_wait* draining = nullptr;
    bool closes_when_drained = false;
    bool more = false; ///< The frame received last is not the last of its message.
    int immediate_count = 0;
    std::array<int, 2> timeout_ms{-1, -1}; ///< As the application set them.
    std::array<int, 2> set_ms{-1, -1};     ///< As the library has them.
    batch* lent = nullptr;
    std::set<std::uint32_t> upgrading; ///< Peers whose requests for an upgrade have no answer yet.
    std::size_t upgrading_count_max = 4096; ///< Above this those that have gone are looked for.
    watch* watched = nullptr;
};

/// Shows the garbage collector the object that an instance of `Class` holds, so that a cycle
/// through it is found. There is no tp_clear: each cycle also goes through the attributes of an
/// instance of a Python class, which clears those, and what the class here needs is there until its
/// end.
///
/// @tparam held  Returns the object.
template<class Class, const nb::object& held(const Class&)>
int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) {
        Py_VISIT(held(*nb::inst_ptr<Class>(self)).ptr());
    }
    return 0;
}

/// Marks a socket as used by this thread, for one call.
class use {
public:
    /// @param ends_batch  The call ends the loan of the messages of the last recv_batch.
    use(core& used, const char* action, bool ends_batch = false) : core_{used}, action_{action} {
        if (used.raw == nullptr || used.is_busy) [[unlikely]] {
            refuse();
        }
        if (ends_batch && used.lent != nullptr) [[unlikely]] {
            used.end_batch();
        }
        used.is_busy = true;
        used.user = pthread_self();
    }
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use() { core_.is_busy = false; }

    core& socket() const { return core_; }
    const char* action() const { return action_; }

    /// Runs the handlers of signals that have arrived. They may use or close the socket.
    void look_for_signals();

    [[noreturn]] void fail(int error, std::string text = {});

private:
    [[noreturn]] void refuse();

    core& core_;
    const char* action_;
};

/// How long a call waits: the socket's own timeout (unset), or so many milliseconds; -1: no limit.
struct patience {
    static constexpr int unset = -2;
    int ms = unset;
};

/// Takes None (the socket's own) or seconds, of which infinity means no limit.
patience patience_from(nb::handle seconds);

/// Runs `call(flags)`, which returns -1 and sets errno if it fails, at first with ZLINK_DONTWAIT.
/// If that would wait, runs it again without the GIL until it succeeds, the time is over, or a
/// signal handler raises an exception.
///
/// @param must_release  Release the GIL for the first call, too, since it may take long.
/// @return What `call` returned, if that is not negative; or -1 if `limit` is 0 and it would wait.
template<class Call>
int wait_for(use& used, direction way, patience limit, bool must_release, Call call);

/// The time that is left of a wait.
class wait_clock {
public:
    wait_clock(int total_ms, int slice_ms) : total_ms_{total_ms}, slice_ms_{slice_ms} {
        if (total_ms > 0) {
            end_ = std::chrono::steady_clock::now() + std::chrono::milliseconds{total_ms};
        }
    }
    /// ms to wait now; 0: the time is over.
    int next() const {
        if (total_ms_ < 0) {
            return slice_ms_;
        }
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now());
        return static_cast<int>(
            std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, slice_ms_));
    }

private:
    int total_ms_;
    int slice_ms_;
    std::chrono::steady_clock::time_point end_{};
};

void set_timeout(core& of, direction way, int ms);

template<class Call>
int wait_for(use& used, direction way, patience limit, bool must_release, Call call) {
    core& socket = used.socket();
    int result;
    if (must_release || socket.home->io_thread_count == 0) {
        const without_gil released;
        result = call(ZLINK_DONTWAIT);
    } else {
        result = call(ZLINK_DONTWAIT);
    }
    if (result >= 0) [[likely]] {
        return result;
    }
    if (errno != EAGAIN) {
        used.fail(errno);
    }
    const int total_ms = limit.ms == patience::unset ? socket.timeout_ms[way] : limit.ms;
    if (total_ms == 0) {
        return -1;
    }
    const wait_clock clock{total_ms,
                           socket.home->io_thread_count == 0 ? driven_slice_ms_max : slice_ms_max};
    while (const int ms = clock.next()) {
        set_timeout(socket, way, ms);
        int error;
        {
            const without_gil released;
            result = call(0);
            error = errno;
        }
        if (result >= 0) {
            return result;
        }
        if (error != EINTR && error != EAGAIN) {
            used.fail(error);
        }
        used.look_for_signals();
    }
    used.fail(EAGAIN);
}

/// The bytes of an argument: of a str in UTF-8, or of an object with a buffer.
class payload {
public:
    /// @param takes_text  A str is taken, too.
    payload(nb::handle from, bool takes_text = false);
    payload(const payload&) = delete;
    payload& operator=(const payload&) = delete;
    ~payload() {
        if (buffer_.obj != nullptr) {
            PyBuffer_Release(&buffer_);
        }
    }

    const void* data() const { return data_; }
    std::size_t size() const { return size_; }
    bool is_text() const { return is_text_; }
    /// The object, if its bytes never change.
    PyObject* constant() const { return constant_; }

private:
    const void* data_ = nullptr;
    std::size_t size_ = 0;
    bool is_text_ = false;
    PyObject* constant_ = nullptr;
    nb::object kept_; ///< Whose bytes these are, if that is not a buffer.
    Py_buffer buffer_{};
};

/// An argument that the C API takes as a text with a zero byte at its end, so it has none within.
const std::string& whole_text(const std::string& given);
/// @param name  Of the argument, for the TypeError.
std::string text_argument(nb::handle given, const char* name);
std::uint32_t peer_argument(nb::handle given);
int int_argument(nb::handle given, const char* name);
bool bool_argument(nb::handle given);

/// A zlink_msg_t.
class message {
public:
    message() { zlink_msg_init(&raw); }
    /// A message with the bytes of `content`, which are not copied if they are many and constant.
    explicit message(const payload& content);
    message(message&& other) noexcept {
        zlink_msg_init(&raw);
        zlink_msg_move(&raw, &other.raw);
    }
    message& operator=(message&&) = delete;
    ~message() { zlink_msg_close(&raw); }

    const void* data() const { return zlink_msg_data(const_cast<zlink_msg_t*>(&raw)); }
    std::size_t size() const { return zlink_msg_size(&raw); }
    nb::object bytes() const;

    zlink_msg_t raw;
};

/// Whether the bytes of a payload are shared with the library instead of being copied.
bool is_shared(const payload& content);

nb::object bytes_from(const void* data, std::size_t size);

std::array<unsigned char, 4> id_from(std::uint32_t peer);
std::uint32_t peer_from(const void* routing_id);

/// Of each class that is derived from core: nanobind lets none inherit them.
extern std::array<PyType_Slot, 2> core_slots;

void bind_context(nb::module_& m);
void bind_socket(nb::module_& m);
void bind_transfer(nb::module_& m, nb::class_<core>& base);

void bind_stream(nb::module_& m);
void bind_waker(nb::module_& m, nb::class_<core>& base);
void bind_polling(nb::module_& m);

/// From now on no event loop is given the socket's object.
void end_watch(core& of) noexcept;
/// Ends the notifications of a socket.
void unwatch(core& of) noexcept;

} // namespace zlink::python
