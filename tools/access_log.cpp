// SPDX-License-Identifier: MPL-2.0
#include "access_log.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace zlink_tool {

namespace {

std::string time_text(const char* form) {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::array<char, 64> text{};
    return {text.data(), std::strftime(text.data(), text.size(), form, &parts)};
}

/// In quotes; what could end them, or the line, is escaped.
void append_quoted(std::string& to, std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    to += '"';
    for (const char each : text.empty() ? std::string_view{"-"} : text) {
        const auto octet = static_cast<unsigned char>(each);
        if (octet < ' ' || octet >= 0x7f || each == '"' || each == '\\') {
            to.append("\\x").append(1, digits[octet >> 4]).append(1, digits[octet & 15U]);
        } else {
            to += each;
        }
    }
    to += '"';
}

} // namespace

std::string log_line(const zlink_http_record_t& record, access_log::format how) {
    const std::string_view client{record.client, record.client_size};
    const std::string_view method{record.method, record.method_size};
    const std::string_view target{record.target, record.target_size};
    const std::string_view referer{record.referer, record.referer_size};
    const std::string_view user_agent{record.user_agent, record.user_agent_size};
    const std::string version = record.version == 10 ? "HTTP/1.0" : "HTTP/1.1";
    if (how == access_log::format::json) {
        constexpr double nanoseconds_per_second = 1e9;
        nlohmann::ordered_json line{
            {"time", time_text("%Y-%m-%dT%H:%M:%SZ")},
            {"client", client},
            {"method", method},
            {"target", target},
            {"version", version},
            {"status", record.status},
            {"bytes", record.sent_bytes},
            {"seconds", static_cast<double>(record.nanoseconds) / nanoseconds_per_second},
            {"referer", referer},
            {"user_agent", user_agent},
            {"complete", record.incomplete == 0}};
        return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    }
    std::string line{client.empty() ? "-" : client};
    line += time_text(" - - [%d/%b/%Y:%H:%M:%S +0000] ");
    std::string request;
    if (!method.empty()) {
        request.append(method).append(" ").append(target).append(" ").append(version);
    }
    append_quoted(line, request);
    line.append(" ").append(std::to_string(record.status)).append(" ");
    line.append(std::to_string(record.sent_bytes)).append(" ");
    append_quoted(line, referer);
    line += ' ';
    append_quoted(line, user_agent);
    return line + "\n";
}

namespace {

/// Opens a file for writing at its end, or a FIFO or terminal.
int open_to_append(const char* path) noexcept {
    constexpr int mode = 0644;
    constexpr int how = O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    const int opened = ::open(path, O_WRONLY | O_CREAT | how, mode);
    struct stat about;
    const bool is_unread_fifo = opened < 0 && errno == ENXIO;
    if (!is_unread_fifo &&
        (opened < 0 || ::fstat(opened, &about) != 0 || !S_ISFIFO(about.st_mode))) {
        return opened;
    }
    // A FIFO that is open in both directions can be written to before its reader comes, and after
    // that was replaced by another.
    const int both = ::open(path, O_RDWR | how);
    if (both < 0) {
        errno = is_unread_fifo ? ENXIO : errno;
        return opened;
    }
    if (opened >= 0) {
        ::close(opened);
    }
    return both;
}

} // namespace

bool access_log::open() {
    if (!change_file()) {
        return false;
    }
    thread_ = std::thread{[this] { run(); }};
    return true;
}

access_log::~access_log() {
    if (thread_.joinable()) {
        {
            const std::lock_guard lock{mutex_};
            ends_ = true;
        }
        has_work_.notify_one();
        thread_.join();
    }
    if (descriptor_ > STDERR_FILENO) {
        ::close(descriptor_);
    }
}

void access_log::reopen() noexcept {
    {
        const std::lock_guard lock{mutex_};
        reopens_ = true;
    }
    has_work_.notify_one();
}

void access_log::add(const zlink_http_record_t& record) noexcept {
    try {
        const std::string line = log_line(record, format_);
        const std::lock_guard lock{mutex_};
        if (waiting_.size() + line.size() <= bytes_max) {
            waiting_ += line;
            has_work_.notify_one();
            return;
        }
    } catch (const std::exception&) { // No memory.
    }
    dropped_count_.fetch_add(1, std::memory_order_relaxed);
}

/// Opens path_, and closes the former file. @return Whether it could be opened.
bool access_log::change_file() noexcept {
    const int opened = path_ == "-" ? STDOUT_FILENO : open_to_append(path_.c_str());
    if (opened < 0) {
        return false;
    }
    if (descriptor_ > STDERR_FILENO) {
        ::close(descriptor_);
    }
    descriptor_ = opened;
    struct stat about;
    is_regular_file_ = ::fstat(opened, &about) == 0 && S_ISREG(about.st_mode);
    return true;
}

void access_log::run() noexcept {
    std::string taken;
    bool has_failed = false;
    for (std::unique_lock lock{mutex_}; !ends_ || !waiting_.empty();) {
        has_work_.wait(lock, [this] { return ends_ || reopens_ || !waiting_.empty(); });
        taken.clear();
        taken.swap(waiting_);
        lock.unlock();
        const bool is_written = write_all(taken);
        if (!is_written) {
            dropped_count_.fetch_add(static_cast<std::uint64_t>(std::ranges::count(taken, '\n')),
                                     std::memory_order_relaxed);
        }
        if (!is_written && !has_failed) {
            std::fprintf(stderr, "zlink: writing the access log: %s\n", std::strerror(errno));
        }
        has_failed = !is_written;
        if (has_failed && ends_) {
            return;
        }
        change_file_if_asked();
        lock.lock();
    }
}

void access_log::change_file_if_asked() noexcept {
    if (reopens_.exchange(false) && !change_file()) {
        std::fprintf(stderr, "zlink: %s: %s\n", path_.c_str(), std::strerror(errno));
    }
}

/// What a file that was asked to be changed meanwhile does not take goes to the next one.
bool access_log::write_all(const std::string& lines) noexcept {
    for (std::size_t done = 0; done < lines.size();) {
        std::size_t bytes = lines.size() - done;
        if (!is_regular_file_) {
            bytes = std::min<std::size_t>(bytes, PIPE_BUF); // A pipe with room has that much.
            if (!await_room()) {
                if (!reopens_) {
                    return false;
                }
                change_file_if_asked();
                continue;
            }
        }
        const ssize_t got = ::write(descriptor_, lines.data() + done, bytes);
        if (got < 0 && errno != EINTR && errno != EAGAIN) {
            return false;
        }
        done += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    return true;
}

/// Waits until something can be written, or the file is to be changed; once the program ends no
/// longer than 2 s.
/// @return Whether it can; otherwise errno is ETIMEDOUT.
bool access_log::await_room() const noexcept {
    constexpr int slice_ms = 50;
    constexpr int slices_max = 40;
    for (int slices = 0; slices < slices_max && !reopens_; slices += ends_ ? 1 : 0) {
        pollfd room{.fd = descriptor_, .events = POLLOUT, .revents = 0};
        if (::poll(&room, 1, slice_ms) > 0) {
            return true;
        }
    }
    errno = ETIMEDOUT;
    return false;
}

} // namespace zlink_tool
