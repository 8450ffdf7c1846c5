// SPDX-License-Identifier: MPL-2.0
#include "files/disk_threads.hpp"

#include "base/blocked_signals.hpp"
#include "base/limits.hpp"

#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

namespace zlink::files {

bool disk_threads::run(std::function<void()> task) noexcept {
    if (waiting_count_.fetch_add(1, std::memory_order_relaxed) >= limits::disk_tasks_max) {
        waiting_count_.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
    try {
        const std::lock_guard lock{mutex_};
        if (!threads_) {
            const blocked_signals blocked; // The threads inherit the mask.
            threads_.emplace(limits::disk_threads);
        }
        boost::asio::post(*threads_, [this, task = std::move(task)] {
            waiting_count_.fetch_sub(1, std::memory_order_relaxed);
            task();
        });
        return true;
    } catch (const std::exception&) { // No memory, or no thread.
        waiting_count_.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
}

void disk_threads::join() noexcept {
    const std::lock_guard lock{mutex_};
    if (threads_) {
        threads_->join();
        threads_.reset();
    }
}

} // namespace zlink::files
