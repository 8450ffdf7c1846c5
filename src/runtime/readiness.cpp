// SPDX-License-Identifier: MPL-2.0
#include "runtime/readiness.hpp"

#include "base/event_descriptor.hpp"
#include "base/own_descriptors.hpp"
#include "base/retry.hpp"

#include <boost/asio/detail/epoll_reactor.hpp>
#include <boost/asio/detail/scheduler.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <new>
#include <utility>

namespace zlink::runtime {

namespace {

namespace detail = boost::asio::detail;
using boost::asio::use_service;

// An explicit instantiation may name a private member (C++20, 13.9.2/6). Compilation fails if
// Asio renames the member.
detail::scheduler_task* detail::scheduler::*task_member() noexcept;
int detail::epoll_reactor::*descriptor_member() noexcept;

template<detail::scheduler_task* detail::scheduler::*Task, int detail::epoll_reactor::*Descriptor>
struct private_members {
    friend detail::scheduler_task* detail::scheduler::*task_member() noexcept { return Task; }
    friend int detail::epoll_reactor::*descriptor_member() noexcept { return Descriptor; }
};

template struct private_members<&detail::scheduler::task_, &detail::epoll_reactor::epoll_fd_>;

int open_set() {
    const int opened = open_descriptor([] { return ::epoll_create1(EPOLL_CLOEXEC); });
    if (opened < 0) {
        throw boost::system::system_error(errno, boost::system::system_category());
    }
    return opened;
}

epoll_event event_for(watched& who, std::uint32_t events) noexcept {
    epoll_event made{};
    made.events = events | EPOLLET;
    made.data.ptr = &who;
    return made;
}

} // namespace

/// Waits for connections and for Asio's own descriptors together.
///
/// Asio's scheduler waits in a task, usually its epoll reactor. It has no function that sets
/// another one, nor one that returns the reactor's descriptor.
class readiness::waiting_task final : public detail::scheduler_task {
public:
    explicit waiting_task(readiness& of)
        : of_(of), scheduler_(use_service<detail::scheduler>(of.reactor_)),
          reactor_(use_service<detail::epoll_reactor>(of.reactor_)), dispatch_(of) {
        epoll_event wanted{};
        wanted.events = EPOLLIN;
        wanted.data.ptr = this;
        if (::epoll_ctl(of.set_, EPOLL_CTL_ADD, reactor_.*descriptor_member(), &wanted) != 0) {
            throw boost::system::system_error(errno, boost::system::system_category());
        }
        reactor_.init_task();
        scheduler_.*task_member() = this;
    }

    /// @param microseconds  -1: without limit.
    void run(long microseconds, detail::op_queue<detail::scheduler_operation>& ops) override {
        if (of_.has_rest()) { // Reported by dispatch_rest().
            return reactor_.run(0, ops);
        }
        constexpr long microseconds_per_millisecond = 1000;
        const int timeout =
            microseconds <= 0
                ? static_cast<int>(microseconds)
                : static_cast<int>((microseconds - 1) / microseconds_per_millisecond) + 1;
        const int count = ::epoll_wait(of_.set_, of_.batch_.data(), batch_max, timeout);
        of_.batch_count_ = count < 0 ? 0 : static_cast<std::size_t>(count);
        of_.batch_index_ = 0;
        std::size_t own_count = of_.batch_count_;
        for (std::size_t index = 0; index < of_.batch_count_; ++index) {
            if (of_.batch_[index].data.ptr == this) {
                of_.batch_[index].data.ptr = nullptr;
                --own_count;
                reactor_.run(0, ops);
            }
        }
        if (own_count != 0) {
            ops.push(&dispatch_);
        } else {
            of_.batch_count_ = 0;
        }
    }

    void interrupt() override { reactor_.interrupt(); }

private:
    /// What the scheduler runs when connections are ready.
    class dispatch_operation final : public detail::scheduler_operation {
    public:
        explicit dispatch_operation(readiness& of) noexcept
            : scheduler_operation(&dispatch_operation::complete), of_(of) {}

    private:
        static void complete(void* owner, scheduler_operation* self,
                             const boost::system::error_code&, std::size_t) {
            if (owner != nullptr) { // Else the scheduler is being destroyed.
                // The scheduler counts down for each operation that it has run.
                static_cast<detail::scheduler*>(owner)->compensating_work_started();
                static_cast<dispatch_operation*>(self)->of_.dispatch();
            }
        }

        readiness& of_;
    };

    readiness& of_;
    detail::scheduler& scheduler_;
    detail::epoll_reactor& reactor_;
    dispatch_operation dispatch_;
};

readiness::readiness(boost::asio::execution_context& reactor)
    : service(reactor), reactor_(static_cast<boost::asio::io_context&>(reactor)), set_(open_set()) {
    try {
        task_ = std::make_unique<waiting_task>(*this);
    } catch (...) {
        close_descriptor(set_);
        throw;
    }
}

readiness::~readiness() = default;

void readiness::shutdown() {
    work_.reset();
    if (const int opened = wake_.descriptor.exchange(-1, std::memory_order_relaxed); opened >= 0) {
        close_descriptor(opened);
    }
    close_descriptor(std::exchange(set_, -1));
}

result<void> readiness::open_wake() noexcept {
    if (wake_.descriptor.load(std::memory_order_relaxed) >= 0) {
        return {};
    }
    const int opened = open_event();
    if (opened < 0) {
        return static_cast<errc>(errno);
    }
    if (!add(opened, wake_, EPOLLIN)) {
        const int refused = errno;
        close_descriptor(opened);
        return static_cast<errc>(refused);
    }
    wake_.descriptor.store(opened, std::memory_order_seq_cst);
    return {};
}

void readiness::wake() noexcept {
    if (const int opened = wake_.descriptor.load(std::memory_order_seq_cst); opened >= 0) {
        signal_event(opened);
    }
}

void readiness::end_wake() noexcept {
    // It stays open: another thread may still call wake().
    if (const int opened = wake_.descriptor.load(std::memory_order_relaxed); opened >= 0) {
        remove(opened, wake_);
    }
}

bool readiness::add(int descriptor, watched& who, std::uint32_t events) noexcept {
    epoll_event wanted = event_for(who, events);
    if (::epoll_ctl(set_, EPOLL_CTL_ADD, descriptor, &wanted) != 0) {
        return false;
    }
    ++watched_count_;
    hold_work();
    return true;
}

void readiness::check_again(int descriptor, watched& who, std::uint32_t events) noexcept {
    epoll_event wanted = event_for(who, events);
    ::epoll_ctl(set_, EPOLL_CTL_MOD, descriptor, &wanted);
}

bool readiness::repeat(watched& who) noexcept {
    if (told_ != &who) {
        return false;
    }
    told_ = nullptr;
    batch_[--batch_index_].events = EPOLLIN;
    return true;
}

void readiness::remove(int descriptor, watched& who) noexcept {
    if (set_ < 0) {
        return; // The reactor is being destroyed.
    }
    ::epoll_ctl(set_, EPOLL_CTL_DEL, descriptor, nullptr);
    if (told_ == &who) {
        told_ = nullptr;
    }
    for (std::size_t index = batch_index_; index < batch_count_; ++index) {
        if (batch_[index].data.ptr == &who) {
            batch_[index].data.ptr = nullptr;
        }
    }
    --watched_count_;
    hold_work();
}

void readiness::hold_work() noexcept {
    if (watched_count_ == 0 && !has_rest()) {
        work_.reset();
    } else if (!work_) {
        work_.emplace(reactor_.get_executor());
    }
}

void readiness::dispatch() noexcept {
    pauses_ = false;
    while (batch_index_ < batch_count_ && !pauses_) {
        const epoll_event& next = batch_[batch_index_++];
        if (auto* const each = static_cast<watched*>(next.data.ptr)) {
            told_ = each;
            each->on_ready(next.events);
            told_ = nullptr;
        }
    }
    hold_work();
}

} // namespace zlink::runtime
