// SPDX-License-Identifier: MPL-2.0
#include "runtime/readiness.hpp"

#include "base/own_descriptors.hpp"
#include "base/retry.hpp"

#include <boost/system/system_error.hpp>
#include <cerrno>
#include <new>
#include <sys/eventfd.h>
#include <unistd.h>

namespace zlink::runtime {

namespace {

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

readiness::readiness(boost::asio::execution_context& reactor)
    : service(reactor), set_(static_cast<boost::asio::io_context&>(reactor).get_executor()) {
    const int opened = open_set();
    boost::system::error_code refused;
    try {
        set_.assign(opened, refused);
    } catch (const std::bad_alloc&) {
        close_descriptor(opened);
        throw;
    }
    if (refused) {
        close_descriptor(opened);
        throw boost::system::system_error(refused);
    }
}

void readiness::shutdown() {
    rest_.reset();
    if (const int opened = wake_.descriptor.exchange(-1, std::memory_order_relaxed); opened >= 0) {
        close_descriptor(opened);
    }
    boost::system::error_code ignored;
    const fork_gate::hold held;
    forget_descriptor(set_.native_handle());
    set_.close(ignored);
}

result<void> readiness::open_wake() noexcept {
    if (wake_.descriptor.load(std::memory_order_relaxed) >= 0) {
        return {};
    }
    const int opened = open_descriptor([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
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
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(opened, &one, sizeof one);
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
    if (::epoll_ctl(set_.native_handle(), EPOLL_CTL_ADD, descriptor, &wanted) != 0) {
        return false;
    }
    ++watched_count_;
    if (!waits_) {
        wait();
    }
    return true;
}

void readiness::check_again(int descriptor, watched& who, std::uint32_t events) noexcept {
    epoll_event wanted = event_for(who, events);
    ::epoll_ctl(set_.native_handle(), EPOLL_CTL_MOD, descriptor, &wanted);
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
    if (!set_.is_open()) {
        return; // The reactor is being destroyed.
    }
    ::epoll_ctl(set_.native_handle(), EPOLL_CTL_DEL, descriptor, nullptr);
    if (told_ == &who) {
        told_ = nullptr;
    }
    for (std::size_t index = batch_index_; index < batch_count_; ++index) {
        if (batch_[index].data.ptr == &who) {
            batch_[index].data.ptr = nullptr;
        }
    }
    if (--watched_count_ == 0 && waits_) {
        boost::system::error_code ignored;
        set_.cancel(ignored);
    }
}

void readiness::wait() noexcept {
    waits_ = true;
    retry_allocation([this] {
        set_.async_wait(set_.wait_read, [this](const boost::system::error_code&) {
            waits_ = false;
            if (set_.is_open() && !has_rest()) {
                dispatch();
            }
        });
    });
}

void readiness::dispatch() noexcept {
    if (batch_index_ == batch_count_) {
        const int count = ::epoll_wait(set_.native_handle(), batch_.data(), batch_max, 0);
        batch_count_ = count < 0 ? 0 : static_cast<std::size_t>(count);
        batch_index_ = 0;
    }
    pauses_ = false;
    while (batch_index_ < batch_count_ && !pauses_) {
        const epoll_event& next = batch_[batch_index_++];
        if (auto* const each = static_cast<watched*>(next.data.ptr)) {
            told_ = each;
            each->on_ready(next.events);
            told_ = nullptr;
        }
    }
    if (has_rest()) {
        if (!rest_) {
            rest_.emplace(set_.get_executor());
        }
        return;
    }
    if (watched_count_ != 0 && !waits_) {
        wait(); // This also checks for more.
    }
    rest_.reset();
}

} // namespace zlink::runtime
