// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/result.hpp"
#include "files/open_file.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zlink::files {

/// A folder whose files are opened by their paths in it; never a file outside of it, through no
/// link. Only regular files are opened: opening a FIFO would block, and opening a device may do
/// anything.
///
/// Needs openat2(2), of Linux 5.6. Where the system lacks it, the path is resolved here, one name
/// at a time, by the same rules.
///
/// @threads Any.
class file_root {
public:
    /// @param path  An existing folder. A relative path begins at the current working folder of
    ///              the process.
    /// @error       Those of open(2); ENOTDIR if it is no folder.
    /// @throws std::bad_alloc
    static result<file_root> open(const std::string& path);

    file_root(file_root&& other) noexcept
        : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)),
          walks_(other.walks_) {}
    file_root& operator=(file_root&&) = delete;
    ~file_root();

    /// What a path leads to.
    struct found {
        open_file_ptr file; ///< Null: it is a folder.
    };

    enum class may_block : bool {
        no,  ///< EAGAIN instead of waiting for a disk, as far as the system can tell.
        yes, ///< May wait for a disk.
    };

    /// The folder to which the path of this one leads now, if that is another one: it was removed
    /// and made again, or a link of the path was changed.
    /// @return Nothing if it is the same, or none that can be opened.
    /// @error again  It would have to wait.
    /// @throws std::bad_alloc
    result<std::optional<file_root>> replacement(may_block how) const;

    /// Opens a file, or finds a folder.
    /// @param path  Relative, without "." and "..", not beginning or ending with a slash. Empty:
    ///              the folder itself.
    /// @error no_such_endpoint   There is none, or it is neither a file nor a folder, or lies
    ///                           outside (ENOENT).
    /// @error permission_denied  The process may not read it.
    /// @error again              It would have to wait.
    /// @error no_descriptors     And other shortages of the system.
    /// @throws std::bad_alloc
    result<found> find(const std::string& path, may_block how) const;

    /// Whether the path still leads to a file in this state. Does not wait for a disk if the file
    /// is open.
    bool is_current(const std::string& path, const file_state& known) const noexcept;

    /// One name in a folder.
    struct entry {
        std::string name;
        bool is_folder = false;
        file_state state;
    };

    /// The files and folders in a folder, in the order of their names, at most `count_max`; without
    /// those that begin with a dot, and without links out of this folder.
    /// @error  As find().
    /// @throws std::bad_alloc
    /// @blocks  For a disk.
    result<std::vector<entry>> list(const std::string& path, std::size_t count_max) const;

    /// Resolves paths here, as on a system without openat2(2). For tests.
    void walk_instead() noexcept { walks_ = true; }

private:
    file_root(std::string path, int descriptor) noexcept
        : path_(std::move(path)), descriptor_(descriptor) {}
    int open_path(const std::string& path, may_block how) const noexcept;

    std::string path_;   ///< Absolute.
    int descriptor_;     ///< O_PATH.
    bool walks_ = false; ///< The system has no openat2.
};

} // namespace zlink::files
