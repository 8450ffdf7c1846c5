// SPDX-License-Identifier: MPL-2.0
#include "runtime/io_thread.hpp"

#include "base/blocked_signals.hpp"
#include "base/event_descriptor.hpp"
#include "base/fence.hpp"
#include "base/own_descriptors.hpp"
#include "base/yield.hpp"
#include "pipe/idle_memory.hpp"

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <unistd.h>

namespace zlink::runtime {

namespace {

constexpr std::chrono::seconds sweep_interval{1};

/// Handlers that are run before other ready descriptors are checked: usually all that are ready by
/// then.
constexpr int answers_per_rest = 8;

void apply(const thread_settings& settings) noexcept {
    if (!settings.name.empty()) {
        pthread_setname_np(pthread_self(), settings.name.substr(0, 15).c_str());
    }
    if (settings.scheduling_policy != -1 || settings.priority != -1) {
        int policy = 0;
        sched_param parameters{};
        if (pthread_getschedparam(pthread_self(), &policy, &parameters) == 0) {
            policy = settings.scheduling_policy != -1 ? settings.scheduling_policy : policy;
            parameters.sched_priority =
                settings.priority != -1 ? settings.priority : parameters.sched_priority;
            pthread_setschedparam(pthread_self(), policy, &parameters);
        }
    }
    if (!settings.processors.empty()) {
        cpu_set_t chosen;
        CPU_ZERO(&chosen);
        for (const int processor : settings.processors) {
            CPU_SET(static_cast<unsigned>(processor), &chosen);
        }
        pthread_setaffinity_np(pthread_self(), sizeof chosen, &chosen);
    }
}

} // namespace

/// Makes the reactor check the mailbox after the first delivery. If the reactor has a thread of its
/// own, this is done with a descriptor: posting to a reactor wakes its thread while the poster
/// holds the lock that the thread needs next.
class io_thread::reactor_mailbox final : public pipe::mailbox,
                                         public watched,
                                         public pipe::memory_sweeper {
public:
    explicit reactor_mailbox(io_thread& owner) noexcept : owner_(owner), context_(owner.context_) {}
    ~reactor_mailbox() override {
        if (descriptor_ >= 0) {
            close_descriptor(descriptor_);
        }
    }

    bool is_open() const noexcept { return descriptor_ >= 0; }

    /// Call before the reactor's thread starts, or on it.
    /// @error  The system refuses a descriptor.
    result<void> open() noexcept {
        descriptor_ = open_event();
        if (descriptor_ < 0 || !readiness::of(context_).add(descriptor_, *this, EPOLLIN)) {
            return static_cast<errc>(errno);
        }
        posts_.store(false, std::memory_order_seq_cst);
        return {};
    }

    /// Lets the reactor end, by posting from now on. On its thread.
    void stop() noexcept {
        if (!posts_.exchange(true, std::memory_order_seq_cst)) {
            readiness::of(context_).remove(descriptor_, *this);
            // Letters that are delivered after this are posted: a delivery precedes its load of
            // posts_.
            look();
        }
    }

    void look() noexcept {
        collect([](pipe::letter& about, std::uint32_t happened) {
            auto& end = static_cast<pipe::pipe_end&>(about);
            if (pipe::event_sink* const owner = end.owner(); owner != nullptr) {
                owner->on_events(happened);
            }
        });
    }

    /// The owner is not joined yet: it takes this from the sweepers before that.
    void request_sweep() noexcept override {
        owner_.post([&owner = owner_] { owner.schedule_sweep(); });
    }

private:
    void on_first_letter() noexcept override {
        if (!posts_.load(std::memory_order_seq_cst)) {
            signal_event(descriptor_);
            return;
        }
        const auto task = [self = boost::intrusive_ptr<reactor_mailbox>(this)] { self->look(); };
        // Not runtime::post(): the reactor may be gone when this returns.
        retry_allocation([&] { boost::asio::post(context_, task); });
    }

    void on_collect() noexcept override {}
    void on_ready(std::uint32_t) noexcept override { look(); }

    io_thread& owner_; ///< Only as long as it is not joined.
    boost::asio::io_context& context_;
    int descriptor_ = -1;
    std::atomic<bool> posts_{true};
};

result<std::unique_ptr<io_thread>> io_thread::make(std::chrono::microseconds polls_for) {
    try {
        return std::make_unique<io_thread>(polls_for);
    } catch (const boost::system::system_error& refused) {
        return static_cast<errc>(refused.code().value());
    }
}

io_thread::io_thread(std::chrono::microseconds polls_for)
    : readiness_(readiness::of(context_)), work_(context_.get_executor()),
      reactor_mailbox_(new reactor_mailbox(*this)), mailbox_(reactor_mailbox_),
      scratch_(new std::byte[limits::scratch_bytes]), busy_poll_(polls_for) {
    pipe::add_sweeper(*reactor_mailbox_);
}

io_thread::~io_thread() {
    join();
}

result<void> io_thread::start(const thread_settings& settings) {
    if (const result<void> opened = reactor_mailbox_->open(); !opened) {
        return opened.error();
    }
    const blocked_signals inherited;
    result<void> outcome;
    has_thread_ = true;
    is_placed_ =
        settings.processors.empty() && settings.priority == -1 && settings.scheduling_policy == -1;
    try {
        thread_ = std::thread([this, settings] {
            apply(settings);
            run();
        });
    } catch (const std::system_error& failure) {
        outcome = static_cast<errc>(failure.code().value());
    } catch (const std::bad_alloc&) {
        outcome = errc::no_memory;
    }
    return outcome;
}

void io_thread::join() noexcept {
    pipe::remove_sweeper(*reactor_mailbox_);
    work_.reset();
    post([this] {
        sweep_timer_.cancel();
        reactor_mailbox_->stop();
        readiness_.end_wake();
    });
    if (thread_.joinable()) {
        thread_.join();
    } else if (!context_.stopped()) {
        run();
    }
}

void io_thread::run() noexcept {
    while (true) {
        try {
            while (!context_.stopped()) {
                drive({});
            }
            return;
        } catch (const std::bad_alloc&) {
            // A handler that got no memory ends by itself; the others continue.
        }
    }
}

namespace {

/// Has a different address on every thread.
thread_local const char own_tag = 0;

/// Marks that a thread runs the reactor's handlers outside the reactor.
class driver_mark {
public:
    explicit driver_mark(std::atomic<const void*>& mark) noexcept : mark_(mark) {
        mark_.store(&own_tag, std::memory_order_relaxed);
    }
    driver_mark(const driver_mark&) = delete;
    driver_mark& operator=(const driver_mark&) = delete;
    ~driver_mark() { mark_.store(nullptr, std::memory_order_relaxed); }

private:
    std::atomic<const void*>& mark_;
};

} // namespace

bool io_thread::runs_here() const noexcept {
    return driver_.load(std::memory_order_relaxed) == &own_tag ||
           const_cast<boost::asio::io_context&>(context_).get_executor().running_in_this_thread();
}

void io_thread::drive(pipe::deadline until) {
    take_back();
    if (readiness_.has_rest()) {
        return dispatch_rest();
    }
    if (!unsettled_.empty()) {
        return settle_or_check_again();
    }
    const std::uint64_t moved_before = std::exchange(drive_began_bytes_, moved_bytes_);
    const bool converses = moved_bytes_ - moved_before < tuning::batch_bytes_min;
    if (busy_poll_.begin(until.value_or(pipe::clock::time_point::max()),
                         [this] { return context_.poll_one() != 0; })) {
        return;
    }
    if (until) {
        context_.run_one_until(*until);
    } else {
        context_.run_one();
    }
    busy_poll_.end(converses);
}

void io_thread::drive_ready(int count) {
    take_back();
    if (readiness_.has_rest()) {
        return dispatch_rest();
    }
    for (; count > 0; --count) {
        if (context_.poll_one() == 0) {
            if (unsettled_.empty()) {
                return;
            }
            settle_or_check_again();
        }
    }
}

result<int> io_thread::descriptor() {
    if (!reactor_mailbox_->is_open()) {
        if (const result<void> opened = readiness_.open_wake(); !opened) {
            return opened.error();
        }
        if (const result<void> opened = reactor_mailbox_->open(); !opened) {
            return opened.error();
        }
        readiness_.wake(); // Something may be ready already.
    }
    return readiness_.descriptor();
}

void io_thread::drive_all() {
    for (int left = tuning::handlers_per_drive; left != 0; --left) {
        take_back();
        if (readiness_.has_rest()) {
            dispatch_rest();
        } else if (context_.poll_one() == 0) {
            if (unsettled_.empty()) {
                return;
            }
            settle_or_check_again();
        }
    }
    readiness_.wake();
}

/// Other ready handlers have their turn later: dispatch_rest().
void io_thread::end_turn() noexcept {
    readiness_.pause();
}

void io_thread::hand_over(event_handler& which, std::uint64_t mark) {
    if (find_handed_over(which) == nullptr) {
        which.hand_over_serial_ =
            first_handed_over_ + static_cast<std::uint32_t>(handed_over_.size());
        handed_over_.push_back({&which, mark, moved_bytes_, received_bytes_});
    }
}

io_thread::handed_over* io_thread::find_handed_over(const event_handler& which) noexcept {
    const std::uint32_t index = which.hand_over_serial_ - first_handed_over_;
    return index < handed_over_.size() && handed_over_[index].handler == &which
               ? &handed_over_[index]
               : nullptr;
}

void io_thread::pop_handed_over() noexcept {
    handed_over_.pop_front();
    ++first_handed_over_;
}

/// Calls on_handed_over() of the handlers whose applications have had time for their data.
void io_thread::take_back() noexcept {
    if (is_driven()) {
        turn_bytes_ = 0;
    }
    while (!handed_over_.empty()) {
        const handed_over& oldest = handed_over_.front();
        if (oldest.handler != nullptr) {
            const std::uint64_t since = moved_bytes_ - oldest.moved_bytes;
            if (!is_driven() && since < tuning::handed_over_bytes) {
                return;
            }
            const bool is_taken = oldest.handler->on_handed_over(oldest.mark);
            if (!is_taken && !is_driven() && since < tuning::handed_over_bytes_max) {
                return;
            }
        }
        pop_handed_over();
    }
}

bool io_thread::is_far_behind() const noexcept {
    return !handed_over_.empty() &&
           received_bytes_ - handed_over_.front().received_bytes >= tuning::handed_over_bytes;
}

/// Yields if an application is far behind, or sleeps briefly where yields take long.
/// @return Whether to check again before more is received.
bool io_thread::holds_back() noexcept {
    take_back();
    while (is_far_behind()) {
        const auto now = pipe::clock::now();
        pause_end_ = pause_end_.value_or(now + tuning::hand_over_pause_max);
        if (now < *pause_end_) {
            yield_or_sleep();
            return true;
        }
        pop_handed_over(); // The application has other things to do.
        take_back();
    }
    pause_end_.reset();
    return false;
}

/// Continues with the handlers that were ready when the application was given the data of others;
/// but its answers are written first. With a driving caller everything else waits until all of
/// them, which are few, had their turn: its turns are short, and checking for other work would cost
/// more than they do.
void io_thread::dispatch_rest() {
    const driver_mark here{driver_};
    reactor_mailbox_->look();
    if (!unsettled_.empty()) {
        settle();
    }
    if (is_driven()) {
        // Data received meanwhile is handed over first, but only once in a row.
        if (!handed_over_.empty() && !std::exchange(rest_has_waited_, true)) {
            return;
        }
        rest_has_waited_ = false;
    } else {
        for (int count = 0; count < answers_per_rest && context_.poll_one() != 0; ++count) {
        }
        if (holds_back()) {
            return;
        }
    }
    turn_bytes_ = 0;
    readiness_.dispatch();
}

void io_thread::register_handler(event_handler& which, std::uint64_t call_id) noexcept {
    std::vector<event_handler*>& all = *retry_allocation([&] { return &handlers_[call_id]; });
    retry_allocation([&] { all.push_back(&which); });
    which.handler_index_ = static_cast<std::uint32_t>(all.size() - 1);
    pipe::count_allocated(tuning::session_bytes);
}

void io_thread::unregister_handler(event_handler& which, std::uint64_t call_id) noexcept {
    forget(which);
    const auto found = handlers_.find(call_id);
    std::vector<event_handler*>& all = found->second;
    all[which.handler_index_] = all.back();
    all[which.handler_index_]->handler_index_ = which.handler_index_;
    all.pop_back();
    which.handler_index_ = event_handler::nowhere;
    if (all.empty()) {
        handlers_.erase(found);
    }
    pipe::count_freed(tuning::session_bytes);
}

void io_thread::on_call_undone(std::uint64_t call_id, bool is_drained) noexcept {
    // A handler that removes itself is replaced by the last one, which was called already. When the
    // last handler of all is removed, the vector is destroyed.
    const auto found = handlers_.find(call_id);
    if (found == handlers_.end()) {
        return;
    }
    std::vector<event_handler*>& all = found->second;
    for (std::size_t left = all.size(); left != 0; --left) {
        all[left - 1]->on_call_undone(is_drained);
    }
}

void io_thread::settle_later(event_handler& which) noexcept {
    retry_allocation([&] { unsettled_.push_back(&which); });
    if (!unsettled_work_) {
        unsettled_work_.emplace(context_.get_executor());
    }
}

void io_thread::settle_or_check_again() {
    if (should_check_again()) {
        context_.poll_one();
    } else {
        settle();
    }
}

void io_thread::settle() noexcept {
    settling_.swap(unsettled_);
    unsettled_work_.reset();
    // A callback may remove another handler, which leaves a null.
    bool any_marked = false;
    bool needs_fence = false;
    for (std::size_t index = 0; index < settling_.size(); ++index) {
        if (event_handler* const each = settling_[index]; each != nullptr) {
            const event_handler::park_mark found = each->on_turn_over();
            any_marked |= found != event_handler::park_mark::none;
            needs_fence |= found == event_handler::park_mark::behind_fence;
            if (found == event_handler::park_mark::none) {
                settling_[index] = nullptr;
            }
        }
    }
    if (any_marked) {
        if (needs_fence) {
            asymmetric_fence::heavy();
        }
        for (std::size_t index = 0; index < settling_.size(); ++index) {
            if (event_handler* const each = settling_[index]; each != nullptr) {
                each->on_settled();
            }
        }
    }
    settling_.clear();
}

/// Yields if much was moved.
/// @return Whether to check handlers and descriptors for news again before the handlers settle.
bool io_thread::should_check_again() noexcept {
    if (readiness_.has_rest() || unsettled_.size() > tuning::rechecked_max ||
        !pace_.yields_before_parking([this] { return yield_or_move(); })) {
        return false;
    }
    return std::none_of(unsettled_.begin(), unsettled_.end(),
                        [](event_handler* each) { return each->has_news(); });
}

/// Yields, and moves to the application's processor if other threads have work here.
/// @return Whether it yielded.
bool io_thread::yield_or_move() noexcept {
    const auto taken = timed_yield();
    if (taken && is_placed_) {
        for (event_handler* const each : unsettled_) {
            if (const processor_number there = each->take_application_processor();
                there != no_processor) {
                placement_.on_awaited(there);
            }
        }
        if (const auto there =
                placement_.after_yield(current_processor(), *taken, pipe::clock::now())) {
            is_placed_ = move_to_processor(*there);
        }
    }
    return taken.has_value();
}

void io_thread::sweep_later(event_handler& which) noexcept {
    retry_allocation([&] { active_.push_back(&which); });
    schedule_sweep();
}

void io_thread::schedule_sweep() noexcept {
    if (sweep_scheduled_) {
        return;
    }
    sweep_scheduled_ = true;
    if (has_thread_) { // Otherwise it may never come.
        pipe::note_sweep_scheduled();
    }
    sweep_timer_.expires_after(sweep_interval);
    retry_allocation([this] {
        sweep_timer_.async_wait([this](const boost::system::error_code& failure) {
            sweep_scheduled_ = false;
            if (has_thread_) {
                pipe::note_sweep_over(); // First: what is pooled from now on requests another one.
            }
            if (!failure) {
                sweep();
            }
        });
    });
}

void io_thread::sweep() noexcept {
    std::erase_if(active_, [](event_handler* each) { return !each->on_sweep(); });
    while (!handed_over_.empty() && handed_over_.front().handler == nullptr) {
        pop_handed_over();
    }
    // So the timer runs only as long as there is memory to return.
    if (const bool has_idle_memory = pipe::sweep_idle_memory();
        has_idle_memory || !active_.empty()) {
        schedule_sweep();
    }
}

void io_thread::forget(event_handler& which) noexcept {
    std::erase(unsettled_, &which);
    if (unsettled_.empty()) {
        unsettled_work_.reset();
    }
    std::replace(settling_.begin(), settling_.end(), &which, static_cast<event_handler*>(nullptr));
    std::erase(active_, &which);
    forget_handed_over(which);
}

void io_thread::forget_handed_over(const event_handler& which) noexcept {
    if (handed_over* const found = find_handed_over(which); found != nullptr) {
        found->handler = nullptr;
    }
}

} // namespace zlink::runtime
