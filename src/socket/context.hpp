// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "base/socket_options.hpp"
#include "base/stable_storage.hpp"
#include "files/disk_threads.hpp"
#include "pipe/mailbox.hpp"
#include "pipe/pipe.hpp"
#include "runtime/io_thread.hpp"
#include "session/session.hpp"
#include "socket/driving.hpp"
#include "socket/meter.hpp"
#include "socket/metrics_server.hpp"

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zlink::socket {

class socket;
class socket_mailbox;

/// Options of a context. The names and meanings are those of zmq_ctx_set(3).
struct context_options {
    int io_threads = 1; ///< 0: the callers of blocking functions drive the I/O.
    int sockets_max = 1023;
    int message_bytes_max = INT_MAX;
    bool ipv6 = false;
    bool blocky = true; ///< Default linger of sockets: without limit; false: none.
    std::chrono::microseconds busy_poll{50}; ///< Spinning time before a blocked call parks.
    int thread_priority = -1;
    int thread_scheduling_policy = -1;
    std::string thread_name_prefix; ///< Empty: none.
    bool zero_copy_recv = true;     ///< Stored only: the faster way is always used.
    std::vector<int> thread_processors;
};

/// Owns the I/O threads, the list of sockets and the inproc names.
///
/// @threads Any, except terminate(): one.
class context final : public session::session_host, public stable_storage<context> {
public:
    context();
    ~context();

    context_options options() const;
    /// Changes the options; those for threads take effect until the first socket is opened.
    template<class Change>
    void change_options(Change&& change) {
        const std::lock_guard lock{mutex_};
        change(options_);
    }

    /// @error no_descriptors    The limit sockets_max is reached.
    /// @error terminated        shut_down() or terminate() was called.
    /// @error invalid_argument  The type does not exist.
    result<socket*> open_socket(socket_type type);

    /// Removes a socket from the list, and frees it before returning.
    void forget_socket(socket& closed) noexcept;

    /// The meters of the sockets. @threads any
    meter_registry& meters() noexcept { return meters_; }

    /// @error terminated  shut_down() or terminate() was called.
    /// @throws std::bad_alloc
    /// @threads any
    result<context_sample> sample(bool with_peers);

    /// Serves the metrics at `address` from now on, and no longer where they were served before.
    /// @param address  As metrics_server::start(); empty: nowhere.
    /// @error terminated, and those of metrics_server::start()
    /// @throws std::bad_alloc
    /// @threads any
    result<void> serve_metrics(std::string_view address);
    /// Where the metrics are served; empty: nowhere. @threads any
    std::string metrics_address() const;

    /// Makes every blocking call of every socket, now and later, fail with `terminated`.
    void shut_down() noexcept;

    /// As shut_down(), then waits until all sockets are closed and lingering messages are sent.
    /// @blocks  Without limit.
    /// @error interrupted  A signal handler ran; call again.
    result<void> terminate();

    /// An object that terminate() waits for: an open socket, or a connection of a closed one.
    struct blocker {
        const void* open_socket; ///< Null: the socket is closed and lingers.
        socket_type type;
        std::string endpoint;
        std::optional<std::chrono::milliseconds> linger_rest; ///< Empty: no limit.
        pipe::message_queue::backlog unsent;                  ///< For a closed socket.
    };
    /// @throws std::bad_alloc
    std::vector<blocker> blockers() const;

    /// The least busy of the I/O threads that `affinity` allows.
    runtime::io_thread& choose_thread(std::uint64_t affinity) noexcept;

    /// Calls task(io_thread&) for every I/O thread.
    template<class Task>
    void for_each_thread(Task&& task) {
        for (const auto& each : threads_) {
            task(*each);
        }
    }

    bool is_caller_driven() const noexcept { return is_caller_driven_; }

    /// Waits until `awaited` has mail, and meanwhile drives the I/O if the callers drive it.
    /// @error again        `until` has passed.
    /// @error interrupted  A signal handler ran; not reported while this thread drives.
    result<void> wait(socket_mailbox& awaited, pipe::deadline until);

    /// Drives the I/O until one of `awaited` has mail or `done()` is true. Only if the callers
    /// drive it.
    /// @param mine  Ends a rest of the calling thread, and of no other one.
    /// @param rest  Called instead while another thread drives. Returns when one of `awaited` has
    ///              mail, mine.call() was called, done() became true or `until` has passed.
    /// @error again  `until` has passed. Also the errors of `rest`.
    result<void> drive_until(driver_call& mine, std::span<socket_mailbox* const> awaited,
                             const std::function<bool()>& done,
                             const std::function<result<void>()>& rest, pipe::deadline until);

    /// The reactor that callers drive.
    runtime::io_thread& reactor() noexcept { return *threads_.front(); }

    /// Runs I/O that is ready, if the callers drive it. Never waits.
    void poll();

    /// A descriptor that is readable while run_ready() has something to do; from now on ZLINK_FD
    /// works for every socket.
    /// @error not_supported  It has I/O threads.
    /// @error busy           Another thread drives the I/O.
    /// @error terminated, no_descriptors
    result<int> descriptor();

    /// Runs all I/O that is ready, unless another thread does it.
    /// @error not_supported  As descriptor().
    /// @error terminated
    result<void> run_ready();

    /// Whether I/O goes on while no call of the application waits.
    bool has_reactor() const noexcept { return !is_caller_driven_ || is_driven_by_reactor_; }

    // Inproc.

    /// The socket that is bound to a name, and its options at that time.
    struct inproc_binding {
        const void* binder; ///< Only compared.
        pipe::mailbox_ptr mailbox;
        int send_hwm;
        int recv_hwm;
        std::string routing_id;
        socket_type type;
        bool conflates_sent = false;
        bool wants_newest = false; ///< pipe_end::wants_newest.
        std::string hello{};       ///< The first message for each peer; empty: none.
        std::string farewell{};    ///< The last message from each peer; empty: none.
    };

    /// @error address_in_use  The name is taken.
    result<void> bind_inproc(const std::string& name, inproc_binding bound);
    void unbind_inproc(const std::string& name, const void* binder) noexcept;
    /// The inproc_binding::farewell of the socket that is bound to `name`, if `end` is its end of a
    /// pipe; otherwise empty: another one may have been bound since.
    /// @throws std::bad_alloc
    std::string farewell_for(const std::string& name, const pipe::pipe_end& end);
    /// Connects `connecting`, the second end of a pipe, to the socket bound to `name`, now or as
    /// soon as one is bound.
    void connect_inproc(const std::string& name, pipe::pipe_ptr joined);
    /// Closes the first end of a pipe whose name is not bound yet. As in libzmq, its messages are
    /// kept until terminate(), whatever ZMQ_LINGER says.
    /// @param keeps_sent  If false, or if no messages were sent, the pipe is dropped.
    void disconnect_inproc(const std::string& name, pipe::pipe& joined, bool keeps_sent) noexcept;

    std::uint64_t next_call_id() noexcept {
        return call_count_.fetch_add(1, std::memory_order_relaxed) + 1;
    }

    /// Counts an object that terminate() waits for besides sockets: a session, a listener or a
    /// monitor.
    void add_dependant() noexcept { dependants_.fetch_add(1, std::memory_order_relaxed); }
    void on_session_gone() noexcept override;
    bool run_blocking(std::function<void()> task) noexcept override {
        return disk_threads_.run(std::move(task));
    }

    std::uint32_t next_arrival() noexcept override {
        return arrival_count_.fetch_add(1, std::memory_order_relaxed);
    }
    void on_lingering(const session::session& who, session::lingering what) override;
    void on_lingered(const session::session& who) noexcept override;
    pipe::end_ptr reach_zap_handler(pipe::mailbox_ptr home) override;
    bool has_had_zap_handler() const noexcept override {
        return has_had_zap_handler_.load(std::memory_order_acquire);
    }

private:
    result<void> start_threads();
    result<void> require_caller_driven();
    static void join(const inproc_binding& bound, pipe::pipe_end& end) noexcept;
    bool may_end() const noexcept;
    template<class Done, class Rest>
    result<void> drive_or_rest(driver_call& mine, std::span<socket_mailbox* const> awaited,
                               Done&& done, Rest&& rest, pipe::deadline until);

    mutable std::mutex mutex_;
    context_options options_;
    std::vector<std::unique_ptr<runtime::io_thread>> threads_;
    files::disk_threads disk_threads_; ///< Its tasks post to threads_.
    std::atomic<bool> is_caller_driven_{false};
    std::atomic<bool> is_driven_by_reactor_{false}; ///< Of the application: descriptor().
    std::vector<socket*> sockets_;
    meter_registry meters_;
    mutable std::mutex metrics_mutex_; ///< Taken before mutex_.
    std::unique_ptr<metrics_server> metrics_server_;
    bool is_shut_down_ = false;
    std::atomic<bool> is_terminating_{false};
    std::atomic<std::size_t> socket_count_{0};
    std::atomic<std::size_t> dependants_{0};
    std::atomic<std::uint64_t> call_count_{0};
    std::atomic<std::uint32_t> arrival_count_{0};
    boost::intrusive_ptr<pipe::waiting_mailbox> endings_;

    mutable std::mutex lingering_mutex_;
    std::unordered_map<const session::session*, session::lingering> lingering_;

    std::mutex inproc_mutex_;
    std::unordered_map<std::string, inproc_binding> inproc_names_;
    std::unordered_multimap<std::string, pipe::pipe_ptr> inproc_waiting_;
    std::size_t left_waiting_count_ = 0; ///< Those whose first end is closed.
    std::atomic<bool> has_had_zap_handler_{false};

    driving driving_;
};

} // namespace zlink::socket
