// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/busy_poll.hpp"
#include "base/limits.hpp"
#include "base/retry.hpp"
#include "base/stream_pace.hpp"
#include "pipe/mailbox.hpp"
#include "pipe/pipe.hpp"
#include "runtime/placement.hpp"

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

namespace zlink::runtime {

class readiness;

/// Something that lives on an I/O thread and is called back by it. The thread's own.
class event_handler {
public:
    /// Whether a handler marked itself asleep, and when the mark counts.
    enum class sleep_mark : std::uint8_t {
        none,
        counts,       ///< Already.
        behind_fence, ///< Counts after the heavy fence.
    };

    /// Whether there is something to do already, after settle_later() was called.
    virtual bool has_news() noexcept = 0;

    /// The turn in which settle_later() was called is over. Whoever finds nothing more to do marks
    /// itself asleep now, not before: a mark that others see costs them a wake-up.
    /// @return Whether it is marked; if so on_settled() is to follow.
    virtual sleep_mark on_turn_over() noexcept = 0;

    /// The fence has passed since on_turn_over(): marks of sleep count from now on.
    virtual void on_settled() noexcept = 0;

    /// Where its application has waited for it since this was asked last, or `no_processor`.
    virtual processor_number take_application_processor() noexcept = 0;

    /// Nothing asked for the memory of idle queues since the last sweep but time has passed.
    /// @return Whether to call again at the next sweep.
    virtual bool on_sweep() noexcept = 0;

    /// The application has had time for what it was handed over.
    /// @param mark  As io_thread::hand_over() was given it.
    /// @return Whether it has taken it; otherwise it may be given more time.
    virtual bool on_handed_over(std::uint64_t mark) noexcept = 0;

    /// The bind or connect call that brought the handler here was undone.
    /// @param is_drained  Whether its socket takes in all that came by then, to part from them.
    virtual void on_origin_gone(bool is_drained) noexcept = 0;

    /// Whether the thread has taken note of it.
    bool is_registered() const noexcept { return handler_index_ != nowhere; }

protected:
    ~event_handler() = default;

private:
    friend class io_thread;
    static constexpr std::uint32_t nowhere = UINT32_MAX;
    std::uint32_t handler_index_ = nowhere; ///< Among those of its origin.
    std::uint32_t hand_over_serial_ = 0;    ///< Of the last time.
};

/// How a thread of the library is to run.
struct thread_settings {
    std::string name;            ///< At most 15 characters.
    int priority = -1;           ///< -1: the default.
    int scheduling_policy = -1;  ///< -1: the default.
    std::vector<int> processors; ///< Empty: all.
};

/// Runs sessions: a reactor, the mailbox in which sockets report to it, and what sessions share.
///
/// start() gives it a thread of its own. Without that the callers of blocking functions drive it,
/// one at a time, through drive().
///
/// @threads post, mailbox().deliver, load: any. Everything else: the thread that runs it.
class io_thread {
public:
    /// @param polls_for  How long it looks for something to do before it sleeps.
    /// @error no_descriptors  And what else the system says when it refuses a reactor.
    /// @throws std::bad_alloc
    static result<std::unique_ptr<io_thread>> make(std::chrono::microseconds polls_for);

    /// @throws std::bad_alloc, boost::system::system_error  As make().
    explicit io_thread(std::chrono::microseconds polls_for = {});
    ~io_thread();
    io_thread(const io_thread&) = delete;
    io_thread& operator=(const io_thread&) = delete;

    /// @error no_memory  The system gave no thread (its errno otherwise).
    result<void> start(const thread_settings& settings);

    /// Lets the thread end when it has nothing more to do, and waits for that.
    /// @blocks  Until every handler is gone.
    void join() noexcept;

    /// Runs one thing that is ready, after waiting for it. For callers that drive.
    /// @blocks  At most until `until`.
    void drive(pipe::deadline until);

    /// Runs at most `count` things that are ready. For callers that drive.
    void drive_ready(int count);

    /// Whether the calling thread is inside drive(), or is this thread.
    bool runs_here() const noexcept;

    boost::asio::io_context& context() noexcept { return context_; }
    const pipe::mailbox_ptr& mailbox() const noexcept { return mailbox_; }

    /// Calls a copy of `task` on this thread, soon and never from within post().
    /// @blocks  While the system has no memory.
    template<class Task>
    void post(const Task& task) noexcept {
        retry_allocation([&] { boost::asio::post(context_, Task{task}); });
    }

    /// Takes note of `which`, for tell_origin_gone().
    /// @blocks  While the system has no memory.
    void register_handler(event_handler& which, std::uint64_t origin_id) noexcept;

    /// Forgets `which`, and what settle_later and sweep_later were asked for.
    /// @param origin_id  As register_handler() was given it.
    void unregister_handler(event_handler& which, std::uint64_t origin_id) noexcept;

    /// Calls on_origin_gone(is_drained) of every handler of that origin, which may remove itself.
    void tell_origin_gone(std::uint64_t origin_id, bool is_drained) noexcept;

    /// Calls which.on_turn_over() once, at the end of the present turn, and on_settled() after one
    /// heavy fence for all that asked.
    /// @blocks  While the system has no memory.
    void settle_later(event_handler& which) noexcept;

    /// Notes that a handler moved `bytes` bytes: at the end of a turn that moved many, others get
    /// the processor before anybody goes to sleep (stream_pace.hpp). A caller that drives has its
    /// turn before others of those that are ready.
    void count_moved(std::size_t bytes) noexcept {
        moved_bytes_ += bytes;
        pace_.count(static_cast<std::uint32_t>(bytes));
        if (is_driven()) {
            count_turn(bytes);
        }
    }

    /// The same of what a handler received and is going to hand over. With a thread, too, the
    /// application then has its turn before others of those that are ready.
    void count_received(std::size_t bytes) noexcept {
        received_bytes_ += bytes;
        count_moved(bytes);
        if (!is_driven()) {
            count_turn(bytes);
        }
    }

    /// Whether somebody else was found to be ready and has not had its turn.
    bool others_are_ready() const noexcept;

    /// Calls which.on_sweep() from time to time, as long as it says so.
    /// @blocks  While the system has no memory.
    void sweep_later(event_handler& which) noexcept;

    /// Whether callers drive it: drive() returns to them when it has something for them.
    bool is_driven() const noexcept { return !has_thread_; }

    /// Calls which.on_handed_over(), unless that is to come already, once the application has had
    /// time for what was received and sent so far: when a caller drives again, or after
    /// limits::handed_over_bytes more.
    /// @param mark  How much `which` has received by now.
    /// @throws std::bad_alloc
    void hand_over(event_handler& which, std::uint64_t mark);

    /// Gives pooled memory back over the next seconds, as far as it stays idle.
    void schedule_sweep() noexcept;

    /// Forgets what settle_later and sweep_later were asked for.
    void forget(event_handler& which) noexcept;

    /// A large block for bytes of a peer that has no segment; contents last until the next use.
    std::span<std::byte> scratch() noexcept { return {scratch_.get(), limits::scratch_bytes}; }

    /// Sessions here; new ones go where there are fewest.
    std::atomic<std::uint32_t> load{0};

private:
    class reactor_mailbox;
    using work_guard = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;

    struct handed_over {
        event_handler* handler; ///< Null: forgotten.
        std::uint64_t mark;
        std::uint64_t moved_bytes;    ///< By all, until then.
        std::uint64_t received_bytes; ///< Likewise.
    };

    void count_turn(std::size_t bytes) noexcept {
        turn_bytes_ += bytes;
        if (turn_bytes_ >= (is_driven() ? limits::driven_bytes_max : limits::handed_over_bytes)) {
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
    void settle_or_look_again();
    void settle() noexcept;
    bool looks_again() noexcept;
    bool gives_way_or_moves() noexcept;
    void sweep() noexcept;

    boost::asio::io_context context_{1};
    readiness& readiness_; ///< Made with the reactor: the system may refuse it.
    work_guard work_;
    boost::asio::steady_timer sweep_timer_{context_};
    boost::intrusive_ptr<reactor_mailbox> reactor_mailbox_;
    pipe::mailbox_ptr mailbox_;
    std::unique_ptr<std::byte[]> scratch_;
    std::unordered_map<std::uint64_t, std::vector<event_handler*>> handlers_; ///< By their origin.
    std::vector<event_handler*> unsettled_;
    /// Keeps the reactor from coming to its end before those have settled.
    std::optional<work_guard> unsettled_work_;
    std::vector<event_handler*> settling_;
    std::vector<event_handler*> active_;
    std::deque<handed_over> handed_over_; ///< Oldest first.
    std::uint32_t first_handed_over_ = 0; ///< Serial of that.
    pipe::deadline pause_end_; ///< Until when it waits for applications that are far behind.
    stream_pace pace_{
        {limits::batch_bytes_min, limits::batch_bytes_per_look, limits::byte_looks_max}};
    std::uint64_t moved_bytes_ = 0; ///< In all.
    std::uint64_t received_bytes_ = 0;
    std::uint64_t turn_bytes_ = 0;        ///< Since others had their turn.
    std::uint64_t drive_began_bytes_ = 0; ///< Of those moved, when drive() looked last.
    busy_poll busy_poll_;
    placement placement_;
    bool is_placed_ = false; ///< It may move: nobody said how it is to run, nor refused.
    std::atomic<const void*> driver_{nullptr}; ///< Of the thread that goes on with a rest, its tag.
    bool rest_has_waited_ = false; ///< Those that were ready, for something that was received.
    bool sweep_scheduled_ = false;
    bool has_thread_ = false; ///< Set before it starts.
    std::thread thread_;
};

} // namespace zlink::runtime
