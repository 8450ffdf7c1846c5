// SPDX-License-Identifier: MPL-2.0
#include "transport/name_lookup.hpp"

#include "base/blocked_signals.hpp"
#include "base/fork_gate.hpp"
#include "base/limits.hpp"
#include "base/retry.hpp"
#include "runtime/post.hpp"

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <condition_variable>
#include <list>
#include <mutex>
#include <new>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <utility>

namespace zlink::transport {

namespace {

// The objects below are neither constructed nor destroyed: threads that wait for the resolver
// outlast every static object of the library.
constinit std::atomic<name_lookup::source*> replaced_source{nullptr};
constinit std::mutex mutex; ///< Guards all of this file.

result<std::vector<socket_address>> ask(const std::string& host, bool ipv6) noexcept {
    try {
        name_lookup::source* const other = replaced_source.load(std::memory_order_acquire);
        return other != nullptr ? other(host, ipv6) : addresses_of(host, ipv6);
    } catch (const std::bad_alloc&) {
        return errc::no_memory;
    }
}

} // namespace

/// A request that waits for an answer.
struct name_lookup::waiter {
    boost::asio::io_context* reactor;
    /// A waiting request counts as the reactor's work.
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
    handler told; ///< The reactor's.
    std::shared_ptr<question> asked;
};

/// A name to be resolved.
struct name_lookup::question {
    std::string host;
    bool ipv6;
    bool is_being_asked = false;
    std::vector<std::shared_ptr<waiter>> waiters;
};

/// Threads and questions of the process. All under the mutex.
class name_lookup::pool {
public:
    /// @throws std::bad_alloc
    static pool& get() {
        if (shared_ == nullptr) {
            shared_ = new pool;
        }
        return *shared_;
    }

    std::shared_ptr<question> question_for(const std::string& host, bool ipv6) {
        const auto found =
            std::find_if(questions_.begin(), questions_.end(), [&](const auto& each) {
                return each->host == host && each->ipv6 == ipv6;
            });
        if (found != questions_.end()) {
            return *found;
        }
        return questions_.emplace_back(std::make_shared<question>(question{host, ipv6, false, {}}));
    }

    /// Makes sure that a thread takes a pending question.
    /// @error  As start(). The question is removed.
    result<void> ensure_thread(const std::shared_ptr<question>& asked) {
        if (asked->is_being_asked) {
            return {};
        }
        if (unasked_count() <= idle_count_) { // The idle count includes threads that were woken
                                              // already.
            arrived_.notify_one();
            return {};
        }
        if (thread_count_ >= limits::lookup_threads_max) {
            return {}; // The next free thread takes it.
        }
        result<void> outcome = start_thread();
        if (!outcome && thread_count_ > 0) {
            return {};
        }
        if (!outcome) {
            forget(asked);
        }
        return outcome;
    }

    void forget(const std::shared_ptr<question>& asked) noexcept { questions_.remove(asked); }

private:
    result<void> start_thread() noexcept {
        const blocked_signals inherited;
        try {
            std::thread{[this] { run(); }}.detach();
        } catch (const std::system_error& failure) {
            return static_cast<errc>(failure.code().value());
        } catch (const std::bad_alloc&) {
            return errc::no_memory;
        }
        ++thread_count_;
        return {};
    }

    /// The loop of a thread.
    void run() noexcept {
        pthread_setname_np(pthread_self(), "zlink/names");
        std::unique_lock lock{mutex};
        while (true) {
            const auto next = std::find_if(questions_.begin(), questions_.end(),
                                           [](const auto& each) { return !each->is_being_asked; });
            if (next != questions_.end()) {
                answer(*next, lock);
                continue;
            }
            ++idle_count_;
            const auto woken = arrived_.wait_for(lock, limits::lookup_thread_idle_max);
            --idle_count_;
            if (woken == std::cv_status::timeout && unasked_count() == 0) {
                --thread_count_;
                return;
            }
        }
    }

    std::size_t unasked_count() const noexcept {
        return static_cast<std::size_t>(
            std::count_if(questions_.begin(), questions_.end(),
                          [](const auto& each) { return !each->is_being_asked; }));
    }

    void answer(std::shared_ptr<question> asked, std::unique_lock<std::mutex>& lock) noexcept {
        asked->is_being_asked = true;
        lock.unlock();
        const auto found = retry_allocation([&] {
            return std::make_shared<const result<std::vector<socket_address>>>(
                ask(asked->host, asked->ipv6));
        });
        lock.lock();
        forget(asked);
        for (const std::shared_ptr<waiter>& each : std::exchange(asked->waiters, {})) {
            retry_allocation([&] {
                runtime::post(*each->reactor, [each, found] {
                    if (const handler told = std::exchange(each->told, nullptr)) {
                        told(*found);
                    }
                });
            });
            each->work.reset();
            each->asked.reset();
        }
    }

    /// A child process has none of the threads: it makes a new pool.
    static void begin_in_child() noexcept {
        shared_ = nullptr;
        mutex.unlock();
    }

    static pool* shared_;
    static const bool watches_forks_;

    std::list<std::shared_ptr<question>> questions_; ///< Oldest first.
    std::condition_variable arrived_;
    std::size_t thread_count_ = 0;
    std::size_t idle_count_ = 0;
};

constinit name_lookup::pool* name_lookup::pool::shared_ = nullptr;
const bool name_lookup::pool::watches_forks_ =
    fork_gate::take_lock([] { mutex.lock(); }, [] { mutex.unlock(); }, begin_in_child);

result<void> name_lookup::start(boost::asio::io_context& reactor, const std::string& host,
                                bool ipv6, handler told) {
    cancel();
    auto made = std::make_shared<waiter>(
        waiter{&reactor, boost::asio::make_work_guard(reactor), std::move(told), {}});
    const std::lock_guard lock{mutex};
    pool& all = pool::get();
    const std::shared_ptr<question> asked = all.question_for(host, ipv6);
    try {
        asked->waiters.push_back(made);
    } catch (const std::bad_alloc&) {
        if (asked->waiters.empty() && !asked->is_being_asked) {
            all.forget(asked);
        }
        throw;
    }
    if (const result<void> seen_to = all.ensure_thread(asked); !seen_to) {
        return seen_to;
    }
    made->asked = asked;
    waiter_ = std::move(made);
    return {};
}

void name_lookup::cancel() noexcept {
    const std::shared_ptr<waiter> ended = std::move(waiter_);
    if (!ended) {
        return;
    }
    const handler forgotten = std::exchange(ended->told, nullptr); // Destroyed after the lock is
                                                                   // released.
    const std::lock_guard lock{mutex};
    if (const std::shared_ptr<question> asked = std::move(ended->asked)) {
        std::erase(asked->waiters, ended);
        if (asked->waiters.empty() && !asked->is_being_asked) {
            pool::get().forget(asked);
        }
    }
    ended->work.reset();
}

void name_lookup::replace_source(source* other) noexcept {
    replaced_source.store(other, std::memory_order_release);
}

} // namespace zlink::transport
