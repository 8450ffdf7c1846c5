// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/ref_counted.hpp"

#include <chrono>
#include <cstdint>
#include <sys/stat.h>

namespace zlink::files {

/// The state of a file at one moment. A file that was replaced, written to or truncated differs in
/// at least one member, unless it was changed twice within the resolution of the file system's
/// clock.
struct file_state {
    std::uint64_t device = 0;
    std::uint64_t number = 0; ///< Its inode.
    std::uint64_t bytes = 0;
    std::int64_t modified_seconds = 0; ///< Since the epoch.
    std::int64_t modified_nanoseconds = 0;

    static file_state of(const struct stat& about) noexcept {
        return {.device = about.st_dev,
                .number = about.st_ino,
                .bytes = static_cast<std::uint64_t>(about.st_size),
                .modified_seconds = about.st_mtim.tv_sec,
                .modified_nanoseconds = about.st_mtim.tv_nsec};
    }

    std::chrono::sys_seconds modified() const noexcept {
        return std::chrono::sys_seconds{std::chrono::seconds{modified_seconds}};
    }

    friend bool operator==(const file_state&, const file_state&) = default;
};

/// A regular file that is open for reading. Closed with its last user.
///
/// @threads Any.
class open_file final : public ref_counted<open_file> {
public:
    /// @param descriptor  Ownership passes to this object.
    open_file(int descriptor, const file_state& when_opened) noexcept
        : descriptor_(descriptor), state_(when_opened) {}
    ~open_file();

    int descriptor() const noexcept { return descriptor_; }
    /// When it was opened.
    const file_state& state() const noexcept { return state_; }

    /// Reads without waiting for a disk: at most what is in memory.
    /// @return As pread(2); -1 with EAGAIN if reading would have to wait.
    ssize_t read_resident(void* to, std::size_t bytes, std::uint64_t offset) const noexcept;

    /// Whether reading the last bytes of a region would not wait for a disk.
    bool is_resident(std::uint64_t offset, std::uint64_t bytes) const noexcept;

    /// Reads exactly `bytes` bytes.
    /// @return 0; the error of pread(2), or EIO if the file is too short.
    /// @blocks  Until the disk has delivered them.
    int read(void* to, std::size_t bytes, std::uint64_t offset) const noexcept;

    /// Brings a region into memory.
    /// @blocks  Until the disk has delivered it.
    void read_ahead(std::uint64_t offset, std::uint64_t bytes) const noexcept;

private:
    const int descriptor_;
    const file_state state_;
};

using open_file_ptr = boost::intrusive_ptr<open_file>;

/// A region of an open file.
struct file_region {
    open_file_ptr file;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

} // namespace zlink::files
