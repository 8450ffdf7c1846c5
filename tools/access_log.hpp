// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "zlink.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace zlink_tool {

/// A line for each request, written by a thread of its own: the I/O threads never wait for the
/// file. Lines beyond bytes_max that the file does not take in time are dropped, and counted.
class access_log {
public:
    enum class format : std::uint8_t {
        combined, ///< As nginx and Apache call it.
        json,     ///< An object per line.
    };

    static constexpr std::size_t bytes_max = std::size_t{8} * 1024 * 1024;

    /// @param path  "-": standard output.
    access_log(std::string path, format how) : path_(std::move(path)), format_(how) {}
    access_log(const access_log&) = delete;
    access_log& operator=(const access_log&) = delete;
    /// Writes what is left; up to 2 s if it is a pipe or terminal that nobody reads.
    ~access_log();

    /// Opens the file, and starts the thread. Does not wait for the reader of a FIFO.
    /// @return Whether it could be opened; otherwise errno says why.
    bool open();

    /// Opens the file again, after it was renamed. If that fails the former one stays in use.
    void reopen() noexcept;

    /// @threads Any.
    void add(const zlink_http_record_t& record) noexcept;

    /// @threads Any.
    std::uint64_t dropped_count() const noexcept {
        return dropped_count_.load(std::memory_order_relaxed);
    }

private:
    void run() noexcept;
    bool write_all(const std::string& lines) noexcept;
    bool await_room() const noexcept;
    bool change_file() noexcept;
    void change_file_if_asked() noexcept;

    const std::string path_;
    const format format_;
    std::mutex mutex_;
    std::condition_variable has_work_;
    std::string waiting_;
    std::atomic<bool> reopens_{false};
    std::atomic<bool> ends_{false};
    int descriptor_ = -1;         ///< The thread's, once it runs, as is the next.
    bool is_regular_file_ = true; ///< A write never waits for a reader.
    std::atomic<std::uint64_t> dropped_count_{0};
    std::thread thread_;
};

/// The line for a request, with its line feed.
/// @throws std::bad_alloc
std::string log_line(const zlink_http_record_t& record, access_log::format how);

} // namespace zlink_tool
