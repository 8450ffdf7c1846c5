// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>

namespace zlink::files {

/// A few threads that wait for disks, so that I/O threads need not. They are started with the first
/// task.
///
/// @threads Any.
class disk_threads {
public:
    disk_threads() = default;
    disk_threads(const disk_threads&) = delete;
    disk_threads& operator=(const disk_threads&) = delete;
    /// @blocks  Until all tasks have run.
    ~disk_threads() { join(); }

    /// Calls `task`, which must not throw, on one of the threads, soon.
    /// @return Whether it will be called. Not if limits::disk_tasks_max tasks wait, or the system
    /// has no memory or no threads.
    bool run(std::function<void()> task) noexcept;

    /// Waits until all tasks have run. None may be added any more.
    void join() noexcept;

private:
    std::mutex mutex_;
    std::optional<boost::asio::thread_pool> threads_;
    std::atomic<std::size_t> waiting_count_{0};
};

} // namespace zlink::files
