// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/busy_poll.hpp"
#include "base/flow_pace.hpp"
#include "base/limits.hpp"
#include "base/retry.hpp"
#include "pipe/mailbox.hpp"
#include "pipe/pipe.hpp"
#include "runtime/placement.hpp"
#include "runtime/readiness.hpp"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace zlink::tuning {

/// Bytes that a driving caller receives and sends, of one peer after another, before it processes
/// them: enough that the cost of switching does not matter, few enough that they are still in the
/// near caches.
constexpr std::size_t driven_bytes_max = std::size_t{256} * 1024;

/// The same for an I/O thread, which may be this far ahead of the application.
constexpr std::size_t handed_over_bytes = std::size_t{1024} * 1024;

/// Handlers that one call runs of a context that another reactor drives: that has its turn then.
constexpr int handlers_per_drive = 256;

/// How long an I/O thread waits for an application that has not taken them: usually longer than the
/// system takes to schedule the application.
constexpr std::chrono::microseconds hand_over_pause_max{400};

/// After so many bytes an I/O thread stops checking whether the application has taken the data that
/// was handed over before them. This bounds the entries for peers that have gone to one for each so
/// many bytes.
constexpr std::size_t handed_over_bytes_max = 4 * handed_over_bytes;

} // namespace zlink::tuning

namespace zlink::runtime {

/// An object of an I/O thread, which calls it back. Used by the thread only.
class event_handler {
public:
    /// Whether a handler marked itself as parked, and when the mark counts.
    enum class park_mark : std::uint8_t {
        none,
        counts,       ///< Counts already.
        behind_fence, ///< Counts after the heavy fence.
    };

    /// Whether there is work already, after settle_later() was called.
    virtual bool has_news() noexcept = 0;

    /// Ends the turn in which settle_later() was called. A handler that has no more work marks
    /// itself as parked now, not before: other threads that see the mark have to wake it.
    /// @return Whether it is marked; if so on_settled() follows.
    virtual park_mark on_turn_over() noexcept = 0;

    /// The fence has been passed since on_turn_over(): the marks count from now on.
    virtual void on_settled() noexcept = 0;

    /// The processor on which its application has waited for it since the last call, or
    /// `no_processor`.
    virtual processor_number take_application_processor() noexcept = 0;

    /// Called at a sweep, to free the memory of idle queues: only time has passed since the last
    /// one.
    /// @return Whether to call again at the next sweep.
    virtual bool on_sweep() noexcept = 0;

    /// The application has had time for the data that was handed over to it.
    /// @param mark  As passed to io_thread::hand_over().
    /// @return Whether the application has taken it; otherwise it may get more time.
    virtual bool on_handed_over(std::uint64_t mark) noexcept = 0;

    /// The bind or connect call that created the handler was undone.
    /// @param is_drained  Whether the socket still takes in pipes that it has not seen yet, to
    ///                    drain them.
    virtual void on_call_undone(bool is_drained) noexcept = 0;

    /// Whether it is registered with the thread.
    bool is_registered() const noexcept { return handler_index_ != nowhere; }

protected:
    ~event_handler() = default;

private:
    friend class io_thread;
    static constexpr std::uint32_t nowhere = UINT32_MAX;
    std::uint32_t handler_index_ = nowhere; ///< Its index among those of its call.
    std::uint32_t hand_over_serial_ = 0;    ///< Of the last time.
};

/// Settings of a thread of the library.
struct thread_settings {
    std::string name;            ///< At most 15 characters.
    int priority = -1;           ///< -1: the default.
    int scheduling_policy = -1;  ///< -1: the default.
    std::vector<int> processors; ///< Empty: all.
};

/// Runs sessions: a reactor, the mailbox to which sockets deliver, and resources that sessions
/// share.
///
/// start() gives it a thread of its own. Without that the callers of blocking functions drive it,
/// one at a time, through drive().
///
/// @threads post, mailbox().deliver, load: any. Everything else: the thread that runs it.
class io_thread {
public:
    /// @param polls_for  How long it spins before it parks.
    /// @error no_descriptors  And other errors of the system if it refuses a reactor.
    /// @throws std::bad_alloc
    static result<std::unique_ptr<io_thread>> make(std::chrono::microseconds polls_for);

    /// @throws std::bad_alloc, boost::system::system_error  As make().
    explicit io_thread(std::chrono::microseconds polls_for = {});
    ~io_thread();
    io_thread(const io_thread&) = delete;
    io_thread& operator=(const io_thread&) = delete;

    /// @error no_memory  The system gave no thread (its errno otherwise).
    result<void> start(const thread_settings& settings);

    /// Lets the thread end once it has no more work, and waits for that.
    /// @blocks  Until every handler is gone.
    void join() noexcept;

    /// Waits for a task or descriptor to become ready, and runs one handler. For driving callers.
    /// @blocks  At most until `until`.
    void drive(pipe::deadline until);

    /// Runs at most `count` ready handlers. For driving callers.
    void drive_ready(int count);

    /// A descriptor that is readable while drive_all() has something to do. For a caller that waits
    /// with a reactor of its own. Call before other threads post; again: the same one.
    /// @error  The system refuses a descriptor.
    result<int> descriptor();

    /// Runs handlers until none is ready, at most for a while: then descriptor() stays readable.
    void drive_all();

    /// Whether the calling thread is inside drive(), or is this thread.
    bool runs_here() const noexcept;

    boost::asio::io_context& context() noexcept { return context_; }
    const pipe::mailbox_ptr& mailbox() const noexcept { return mailbox_; }

    /// Calls a copy of `task` on this thread, soon and never from within post().
    /// @blocks  While the system has no memory.
    template<class Task>
    void post(const Task& task) noexcept {
        retry_allocation([&] { boost::asio::post(context_, Task{task}); });
        readiness_.wake();
    }

    /// Registers `which` for on_call_undone().
    /// @blocks  While the system has no memory.
    void register_handler(event_handler& which, std::uint64_t call_id) noexcept;

    /// Removes the registration of `which`, and its requests to settle_later and sweep_later.
    /// @param call_id  As passed to register_handler().
    void unregister_handler(event_handler& which, std::uint64_t call_id) noexcept;

    /// Calls on_call_undone(is_drained) of every handler of that call, which may remove itself.
    void on_call_undone(std::uint64_t call_id, bool is_drained) noexcept;

    /// Calls which.on_turn_over() once, at the end of the present turn, and on_settled() after one
    /// heavy fence for all handlers that asked.
    /// @blocks  While the system has no memory.
    void settle_later(event_handler& which) noexcept;

    /// Counts `bytes` bytes that a handler moved: at the end of a turn that moved many, other
    /// threads get the processor before handlers park (flow_pace.hpp). A driving caller has its
    /// turn before other handlers that are ready.
    void count_moved(std::size_t bytes) noexcept {
        moved_bytes_ += bytes;
        pace_.count(static_cast<std::uint32_t>(bytes));
        if (is_driven()) {
            count_turn(bytes);
        }
    }

    /// The same for bytes that a handler received and is going to hand over. With a thread of its
    /// own, too, the application then has its turn before other handlers that are ready.
    void count_received(std::size_t bytes) noexcept {
        received_bytes_ += bytes;
        count_moved(bytes);
        if (!is_driven()) {
            count_turn(bytes);
        }
    }

    /// Calls which.on_sweep() periodically, as long as it returns true.
    /// @blocks  While the system has no memory.
    void sweep_later(event_handler& which) noexcept;

    /// Whether callers drive it: drive() returns to them when there is something for them.
    bool is_driven() const noexcept { return !has_thread_; }

    /// Calls which.on_handed_over(), unless a call is already due, once the application has had
    /// time for the bytes that were received and sent so far: when a caller drives again, or after
    /// tuning::handed_over_bytes more.
    /// @param mark  The total that `which` has received by now.
    /// @throws std::bad_alloc
    void hand_over(event_handler& which, std::uint64_t mark);
    /// Undoes hand_over(), for a handler that is idle: at the next sweep it takes no memory here.
    void forget_handed_over(const event_handler& which) noexcept;

    /// Returns pooled memory to the system over the next seconds, as far as it stays idle.
    void schedule_sweep() noexcept;

    /// Removes the requests of `which` to settle_later and sweep_later.
    void forget(event_handler& which) noexcept;

    /// A large buffer for bytes of a peer that has no segment; its contents are valid until the
    /// next use.
    std::span<std::byte> scratch() noexcept { return {scratch_.get(), limits::scratch_bytes}; }

    /// The number of sessions here; new ones go to the thread with the fewest.
    std::atomic<std::uint32_t> load{0};

private:
    class reactor_mailbox;
    using work_guard = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;

    struct handed_over {
        event_handler* handler; ///< Null: removed.
        std::uint64_t mark;
        std::uint64_t moved_bytes;    ///< Total of all handlers at that time.
        std::uint64_t received_bytes; ///< Likewise.
    };

    void count_turn(std::size_t bytes) noexcept {
        turn_bytes_ += bytes;
        if (turn_bytes_ >= (is_driven() ? tuning::driven_bytes_max : tuning::handed_over_bytes)) {
            end_turn();
        }
    }

    handed_over* find_handed_over(const event_handler& which) noexcept;
    void pop_handed_over() noexcept;
    void end_turn() noexcept;
    void take_back() noexcept;
    bool is_far_behind() const noexcept;
    bool holds_back() noexcept;
    void dispatch_rest();
    void run() noexcept;
    void settle_or_check_again();
    void settle() noexcept;
    bool should_check_again() noexcept;
    bool yield_or_move() noexcept;
    void sweep() noexcept;

    boost::asio::io_context context_{1};
    readiness& readiness_; ///< Made with the reactor: the system may refuse it.
    work_guard work_;
    boost::asio::steady_timer sweep_timer_{context_};
    boost::intrusive_ptr<reactor_mailbox> reactor_mailbox_;
    pipe::mailbox_ptr mailbox_;
    std::unique_ptr<std::byte[]> scratch_;
    std::unordered_map<std::uint64_t, std::vector<event_handler*>> handlers_; ///< By their call.
    std::vector<event_handler*> unsettled_;
    /// Keeps the reactor running until the unsettled handlers have settled.
    std::optional<work_guard> unsettled_work_;
    std::vector<event_handler*> settling_;
    std::vector<event_handler*> active_;
    std::deque<handed_over> handed_over_; ///< Oldest first.
    std::uint32_t first_handed_over_ = 0; ///< Serial number of the oldest.
    pipe::deadline pause_end_; ///< The end of the wait for applications that are far behind.
    flow_pace pace_{
        {tuning::batch_bytes_min, tuning::batch_bytes_per_check, tuning::byte_checks_max}};
    std::uint64_t moved_bytes_ = 0; ///< Total.
    std::uint64_t received_bytes_ = 0;
    std::uint64_t turn_bytes_ = 0;        ///< Since others had their turn.
    std::uint64_t drive_began_bytes_ = 0; ///< Value of moved_bytes_ at the last drive().
    busy_poll busy_poll_;
    placement placement_;
    bool is_placed_ = false; ///< It may move: neither settings nor the system prevent it.
    std::atomic<const void*> driver_{nullptr}; ///< The own_tag of the thread that continues a rest.
    bool rest_has_waited_ = false;             ///< The rest has waited for received data once.
    bool sweep_scheduled_ = false;
    bool has_thread_ = false; ///< Set before it starts.
    std::thread thread_;
};

} // namespace zlink::runtime
