// SPDX-License-Identifier: MPL-2.0
#include "socket/context.hpp"

#include "base/error_text.hpp"
#include "base/limits.hpp"
#include "base/no_cancellation.hpp"
#include "base/retry.hpp"
#include "pipe/buffer_pool.hpp"
#include "pipe/cell_pool.hpp"
#include "socket/socket.hpp"
#include "wire/zap.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace zlink::socket {

namespace {

/// Maximum number of tasks run for a caller that does not want to block.
constexpr int tasks_per_poll = 64;

/// Lets deliveries to some mailboxes end a turn of the reactor, for the lifetime of this object.
class driven_mailboxes {
public:
    driven_mailboxes(std::span<socket_mailbox* const> those, runtime::io_thread& reactor) noexcept
        : those_(those) {
        for (socket_mailbox* const each : those_) {
            each->set_driven(&reactor);
        }
    }
    driven_mailboxes(const driven_mailboxes&) = delete;
    driven_mailboxes& operator=(const driven_mailboxes&) = delete;
    ~driven_mailboxes() {
        for (socket_mailbox* const each : those_) {
            each->set_driven(nullptr);
        }
    }

private:
    std::span<socket_mailbox* const> those_;
};

} // namespace

context::context() : endings_(new pipe::waiting_mailbox) {}

context::~context() {
    for (const auto& each : threads_) {
        each->join();
    }
    pipe::trim_buffers();
    pipe::trim_cells();
}

context_options context::options() const {
    const std::lock_guard lock{mutex_};
    return options_;
}

result<void> context::start_threads() {
    is_caller_driven_ = options_.io_threads == 0;
    const int count = std::max(options_.io_threads, 1);
    std::vector<std::unique_ptr<runtime::io_thread>> all;
    for (int index = 0; index < count; ++index) {
        auto made = runtime::io_thread::make(options_.busy_poll);
        if (!made) {
            return made.error();
        }
        if (!is_caller_driven_) {
            const std::string prefix = options_.thread_name_prefix.empty()
                                           ? std::string{}
                                           : options_.thread_name_prefix + "/";
            const result<void> started =
                (*made)->start({.name = prefix + "zlink/io/" + std::to_string(index),
                                .priority = options_.thread_priority,
                                .scheduling_policy = options_.thread_scheduling_policy,
                                .processors = options_.thread_processors});
            if (!started) {
                return started.error();
            }
        }
        all.push_back(std::move(*made));
    }
    threads_ = std::move(all);
    return {};
}

result<socket*> context::open_socket(socket_type type) {
    const std::lock_guard lock{mutex_};
    if (is_shut_down_) {
        return errc::terminated;
    }
    if (sockets_.size() >= static_cast<std::size_t>(options_.sockets_max)) {
        return errc::no_descriptors;
    }
    if (threads_.empty()) {
        if (const result<void> started = start_threads(); !started) {
            return started.error();
        }
    }
    socket_options chosen;
    chosen.type = type;
    chosen.ipv6 = options_.ipv6;
    chosen.linger = options_.blocky && !chosen.subscribes() ? -1 : 0;
    chosen.raw = chosen.router_mandatory = type == socket_type::raw_stream;
    if (type == socket_type::stream) {
        chosen.message_bytes_max = stream_default::message_bytes_max;
        chosen.keepalive = stream_default::keepalive;
        chosen.keepalive_idle = stream_default::keepalive_idle;
    }
    auto made = std::make_unique<socket>(*this, chosen, options_.busy_poll);
    sockets_.reserve(sockets_.size() + 1);
    if (is_for_several_threads(type)) {
        made->share_among_threads();
    }
    sockets_.push_back(made.get());
    socket_count_.store(sockets_.size(), std::memory_order_relaxed);
    return made.release();
}

void context::forget_socket(socket& closed) noexcept {
    {
        const std::lock_guard lock{mutex_};
        std::erase(sockets_, &closed);
        delete &closed;
        runtime::io_thread& thread = reactor();
        thread.post([&thread] { thread.schedule_sweep(); });
        socket_count_.store(sockets_.size(), std::memory_order_release);
        if (is_terminating_) {
            endings_->nudge();
        }
    }
}

void context::on_session_gone() noexcept {
    // endings_ is held: once the count is zero, terminate() may destroy this context.
    const boost::intrusive_ptr<pipe::waiting_mailbox> endings = endings_;
    if (dependants_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        endings->nudge();
    }
}

void context::on_lingering(const session::session& who, session::lingering what) {
    const std::lock_guard lock{lingering_mutex_};
    lingering_.insert_or_assign(&who, std::move(what));
}

void context::on_lingered(const session::session& who) noexcept {
    const std::lock_guard lock{lingering_mutex_};
    lingering_.erase(&who);
}

std::vector<context::blocker> context::blockers() const {
    std::vector<blocker> found;
    {
        const std::lock_guard lock{mutex_};
        for (const socket* const each : sockets_) {
            found.push_back({each, each->type(), each->last_endpoint_copy(), {}, {}});
        }
    }
    const std::lock_guard lock{lingering_mutex_};
    for (const auto& [who, each] : lingering_) {
        std::optional<std::chrono::milliseconds> rest;
        if (each.until) {
            rest = std::max(
                std::chrono::ceil<std::chrono::milliseconds>(*each.until - pipe::clock::now()),
                std::chrono::milliseconds{0});
        }
        found.push_back(
            {nullptr, each.type, each.endpoint, rest,
             each.whole ? each.whole->second.in.untaken() : pipe::message_queue::backlog{}});
    }
    return found;
}

result<context_sample> context::sample(bool with_peers) {
    std::size_t thread_count = 0;
    {
        const std::lock_guard lock{mutex_};
        if (is_shut_down_) {
            return errc::terminated;
        }
        thread_count = is_caller_driven_ ? 0 : threads_.size();
    }
    context_sample made = meters_.sample(with_peers);
    made.io_thread_count = thread_count;
    return made;
}

result<void> context::serve_metrics(std::string_view address) {
    set_error_text({});
    const std::lock_guard serving{metrics_mutex_};
    if (metrics_server_ && metrics_server_->address() == address) {
        return {};
    }
    std::unique_ptr<metrics_server> made;
    if (!address.empty()) {
        {
            const std::lock_guard lock{mutex_};
            if (is_shut_down_) {
                return errc::terminated;
            }
            if (threads_.empty()) {
                if (const result<void> started = start_threads(); !started) {
                    return started.error();
                }
            }
        }
        auto started = metrics_server::start(*this, address);
        if (!started) {
            return started.error();
        }
        made = std::move(*started);
    }
    std::swap(made, metrics_server_);
    if (made) {
        made->stop();
    }
    return {};
}

std::string context::metrics_address() const {
    const std::lock_guard serving{metrics_mutex_};
    return metrics_server_ ? metrics_server_->address() : std::string{};
}

void context::shut_down() noexcept {
    const std::lock_guard serving{metrics_mutex_}; // Nothing is served from now on.
    {
        const std::lock_guard lock{mutex_};
        if (std::exchange(is_shut_down_, true)) {
            return;
        }
        for (socket* const each : sockets_) {
            each->tell_shut_down();
        }
    }
    if (const auto ended = std::exchange(metrics_server_, nullptr)) {
        ended->stop();
    }
}

bool context::may_end() const noexcept {
    return socket_count_.load(std::memory_order_acquire) == 0 &&
           dependants_.load(std::memory_order_acquire) == 0;
}

result<void> context::terminate() {
    is_terminating_ = true;
    shut_down();
    while (!may_end()) {
        if (is_caller_driven_ && socket_count_.load(std::memory_order_acquire) == 0) {
            driving_.drive_alone([this] { threads_.front()->drive({}); });
            continue;
        }
        if (const result<void> waited = endings_->wait({}); !waited) {
            return waited.error();
        }
    }
    // The thread that closed the last socket may still hold the lock.
    const std::lock_guard lock{mutex_};
    return {};
}

runtime::io_thread& context::choose_thread(std::uint64_t affinity) noexcept {
    runtime::io_thread* chosen = nullptr;
    std::uint32_t least = UINT32_MAX;
    for (std::size_t index = 0; index < threads_.size(); ++index) {
        const bool allowed = affinity == 0 || index >= 64 || ((affinity >> index) & 1) != 0;
        const std::uint32_t load = threads_[index]->load.load(std::memory_order_relaxed);
        if (allowed && load < least) {
            least = load;
            chosen = threads_[index].get();
        }
    }
    return chosen != nullptr ? *chosen : *threads_.front();
}

// Driving.

result<void> context::wait(socket_mailbox& awaited, pipe::deadline until) {
    if (!is_caller_driven_) {
        return awaited.wait(until);
    }
    socket_mailbox* const only[] = {&awaited};
    parked_driver mine{awaited};
    return drive_or_rest(
        mine, only, [] { return false; }, [&] { return awaited.wait(until); }, until);
}

result<void> context::drive_until(driver_call& mine, std::span<socket_mailbox* const> awaited,
                                  const std::function<bool()>& done,
                                  const std::function<result<void>()>& rest, pipe::deadline until) {
    return drive_or_rest(mine, awaited, done, rest, until);
}

template<class Done, class Rest>
result<void> context::drive_or_rest(driver_call& mine, std::span<socket_mailbox* const> awaited,
                                    Done&& done, Rest&& rest, pipe::deadline until) {
    const no_cancellation deferred;
    const auto is_over = [&] {
        return done() ||
               std::any_of(awaited.begin(), awaited.end(),
                           [](const socket_mailbox* each) { return each->has_mail_ordered(); });
    };
    const auto is_late = [&] { return until && pipe::clock::now() >= *until; };
    const auto drive = [&] {
        const driven_mailboxes driven{awaited, reactor()};
        while (!is_over() && !is_late()) {
            reactor().drive(until);
        }
    };
    return driving_.wait(mine, is_over, is_late, drive, rest);
}

void context::poll() {
    if (!is_caller_driven_) {
        return;
    }
    const no_cancellation deferred;
    driving_.try_drive([this] { threads_.front()->drive_ready(tasks_per_poll); });
}

/// @error terminated
/// @error not_supported  The context has I/O threads.
result<void> context::require_caller_driven() {
    const std::lock_guard lock{mutex_};
    if (is_shut_down_) {
        return errc::terminated;
    }
    if (threads_.empty() && options_.io_threads == 0) {
        return start_threads();
    }
    return is_caller_driven_ ? result<void>{} : errc::not_supported;
}

result<int> context::descriptor() {
    if (const result<void> possible = require_caller_driven(); !possible) {
        return possible.error();
    }
    if (is_driven_by_reactor_) {
        return reactor().descriptor();
    }
    result<int> opened = errc::busy;
    driving_.try_drive([&] {
        opened = reactor().descriptor();
        is_driven_by_reactor_ = is_driven_by_reactor_ || opened;
    });
    return opened;
}

result<void> context::run_ready() {
    const no_cancellation deferred;
    if (const result<void> possible = require_caller_driven(); !possible) {
        return possible;
    }
    driving_.try_drive([this] { reactor().drive_all(); });
    return {};
}

// Inproc.

/// Hands the second end of a pipe to the socket bound to the name. Until that socket finds the end
/// in its mailbox, the calling thread owns the binder's side of the pipe.
void context::join(const inproc_binding& bound, pipe::pipe_end& end) noexcept {
    end.out.set_limits({.messages_max = static_cast<std::uint64_t>(bound.send_hwm)});
    end.in.add_reader_limit(static_cast<std::uint64_t>(bound.recv_hwm));
    end.set_home(bound.mailbox, nullptr);
    end.conflate(bound.conflates_sent, false);
    if (bound.wants_newest) {
        end.other().deliver(pipe::event::conflated); // It may already be sending.
    }
    // One bind call joins several ends: earlier ones cannot be undone.
    retry_allocation([&] { end.push_control(pipe::make_peer_info(bound.routing_id)); });
    if (!bound.hello.empty()) {
        retry_allocation([&] { end.send_message(bound.hello); });
    }
    end.deliver(pipe::event::attached | (end.other().wants_newest ? pipe::event::conflated : 0) |
                (end.peer_is_closed() ? pipe::event::closed : 0)); // Not reported before.
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved from.
result<void> context::bind_inproc(const std::string& name, inproc_binding bound) {
    const std::lock_guard lock{inproc_mutex_};
    const auto [place, is_new] = inproc_names_.try_emplace(name, std::move(bound));
    if (!is_new) {
        return errc::address_in_use;
    }
    if (name == wire::zap_endpoint_name) {
        has_had_zap_handler_.store(true, std::memory_order_release);
    }
    const auto [first, last] = inproc_waiting_.equal_range(name);
    for (auto each = first; each != last; ++each) {
        left_waiting_count_ -= each->second->second.peer_is_closed();
        join(place->second, each->second->second);
    }
    inproc_waiting_.erase(first, last);
    return {};
}

void context::unbind_inproc(const std::string& name, const void* binder) noexcept {
    const std::lock_guard lock{inproc_mutex_};
    const auto found = inproc_names_.find(name);
    if (found != inproc_names_.end() && found->second.binder == binder) {
        inproc_names_.erase(found);
    }
}

std::string context::farewell_for(const std::string& name, const pipe::pipe_end& end) {
    const std::lock_guard lock{inproc_mutex_};
    const auto found = inproc_names_.find(name);
    const bool is_meant = found != inproc_names_.end() && end.lives_in(*found->second.mailbox);
    return is_meant ? found->second.farewell : std::string{};
}

void context::connect_inproc(const std::string& name, pipe::pipe_ptr joined) {
    const std::lock_guard lock{inproc_mutex_};
    const auto found = inproc_names_.find(name);
    if (found != inproc_names_.end()) {
        join(found->second, joined->second);
    } else {
        inproc_waiting_.emplace(name, std::move(joined));
    }
}

void context::disconnect_inproc(const std::string& name, pipe::pipe& joined,
                                bool keeps_sent) noexcept {
    const std::lock_guard lock{inproc_mutex_};
    const auto [first, last] = inproc_waiting_.equal_range(name);
    const auto found = std::find_if(
        first, last, [&](const auto& waiting) { return waiting.second.get() == &joined; });
    if (found == last) {
        return;
    }
    joined.first.close();
    if (keeps_sent && joined.first.out.untaken().message_count != 0 &&
        left_waiting_count_ < limits::orphaned_inproc_pipes_max) {
        ++left_waiting_count_;
    } else {
        inproc_waiting_.erase(found);
    }
}

pipe::end_ptr context::reach_zap_handler(pipe::mailbox_ptr home) {
    const std::lock_guard lock{inproc_mutex_};
    const auto found = inproc_names_.find(std::string(wire::zap_endpoint_name));
    if (found == inproc_names_.end() ||
        (found->second.type != socket_type::rep && found->second.type != socket_type::router)) {
        return {};
    }
    // One request goes out and one reply comes in.
    const pipe::pipe_ptr joined{new pipe::pipe({.messages_max = 1}, {})};
    joined->is_inproc = true;
    joined->first.in.add_reader_limit(1);
    joined->first.set_home(std::move(home), nullptr);
    joined->second.arrival = next_arrival();
    pipe::end_ptr askers_end{joined->first};
    askers_end->push_control(pipe::make_peer_info({}));
    join(found->second, joined->second);
    return askers_end;
}

} // namespace zlink::socket
