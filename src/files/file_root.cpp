// SPDX-License-Identifier: MPL-2.0
#include "files/file_root.hpp"

#include "base/own_descriptors.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <memory>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace zlink::files {

namespace {

constexpr int links_max = 40;   ///< As the system follows in one path.
constexpr int attempts_max = 8; ///< While files are renamed, openat2 may ask to be repeated.
constexpr std::size_t link_bytes_max = 4096;
constexpr std::size_t path_bytes_max = 4096; ///< PATH_MAX of Linux.

/// A descriptor that is closed with this object.
class owned {
public:
    explicit owned(int descriptor) noexcept : descriptor_(descriptor) {}
    owned(owned&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    owned& operator=(owned&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~owned() {
        if (descriptor_ >= 0) {
            const int error = errno;
            close_descriptor(descriptor_);
            errno = error;
        }
    }

    int get() const noexcept { return descriptor_; }
    int release() noexcept { return std::exchange(descriptor_, -1); }

private:
    int descriptor_;
};

/// openat2(2).
int open_resolved(int folder, const char* path, std::uint64_t flags,
                  std::uint64_t resolve) noexcept {
    open_how how{};
    how.flags = flags | O_CLOEXEC;
    how.resolve = resolve;
    return open_descriptor([&] {
        int opened = -1;
        for (int attempt = 0; attempt < attempts_max && opened < 0; ++attempt) {
            opened = static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how));
            if (opened < 0 && (errno != EAGAIN || (resolve & RESOLVE_CACHED) != 0)) {
                break;
            }
        }
        return opened;
    });
}

/// openat2(2), beneath `folder`.
int open_beneath(int folder, const char* path, std::uint64_t flags,
                 std::uint64_t resolve) noexcept {
    return open_resolved(folder, path, flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve);
}

int open_at(int folder, const char* name, int flags) noexcept {
    return open_descriptor([&] { return ::openat(folder, name, flags | O_CLOEXEC); });
}

/// The text of a link that is open with O_PATH; empty if it cannot be read.
std::string link_text(int descriptor) {
    std::string text(link_bytes_max, '\0');
    const ssize_t got = ::readlinkat(descriptor, "", text.data(), text.size());
    text.resize(
        got > 0 && static_cast<std::size_t>(got) < text.size() ? static_cast<std::size_t>(got) : 0);
    return text;
}

/// Adds the names of `path` to the end of `names`, which is reversed.
void add_names(std::vector<std::string>& names, std::string_view path) {
    const auto place = static_cast<std::ptrdiff_t>(names.size());
    while (!path.empty()) {
        const std::size_t slash = std::min(path.find('/'), path.size());
        if (slash != 0 && path.substr(0, slash) != ".") {
            names.emplace_back(path.substr(0, slash));
        }
        path.remove_prefix(std::min(slash + 1, path.size()));
    }
    std::reverse(names.begin() + place, names.end());
}

/// Resolves `path` one name at a time, as openat2 with RESOLVE_BENEATH does.
/// @return A descriptor with O_PATH, or -1 and errno.
int walk(int root, const std::string& path) {
    std::vector<owned> folders;     // From the root's children on.
    std::vector<std::string> names; // Reversed.
    add_names(names, path);
    owned last{open_at(root, ".", O_PATH | O_DIRECTORY)};
    for (int link_count = 0; !names.empty() && last.get() >= 0;) {
        const std::string name = std::move(names.back());
        names.pop_back();
        if (name == "..") {
            if (folders.empty()) {
                errno = EXDEV;
                return -1;
            }
            last = std::move(folders.back());
            folders.pop_back();
            continue;
        }
        owned next{open_at(last.get(), name.c_str(), O_PATH | O_NOFOLLOW)};
        struct stat about;
        if (next.get() < 0 || ::fstat(next.get(), &about) != 0) {
            return -1;
        }
        if (!S_ISLNK(about.st_mode)) {
            folders.push_back(std::move(last));
            last = std::move(next);
            continue;
        }
        const std::string text = link_text(next.get());
        if (text.empty() || text.front() == '/' || ++link_count > links_max) {
            errno = link_count > links_max ? ELOOP : EXDEV;
            return -1;
        }
        add_names(names, text);
    }
    return last.release();
}

/// Opens a file for reading that is open with O_PATH: exactly this file, whatever its path leads to
/// now.
int reopen(int descriptor) noexcept {
    std::array<char, 32> path;
    std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", descriptor);
    return open_at(AT_FDCWD, path.data(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

/// `path`, behind the folder in which the process is now; as it is if that has no path.
std::string absolute_path(const std::string& path) {
    if (path.starts_with('/')) {
        return path;
    }
    std::string current(path_bytes_max, '\0');
    if (::getcwd(current.data(), current.size()) == nullptr) {
        return path;
    }
    current.resize(current.find('\0'));
    return current + "/" + path;
}

/// The errors that find() may have.
errc outcome_of(int error) noexcept {
    switch (error) {
    case EAGAIN:
        return errc::again;
    case EACCES:
    case EPERM:
        return errc::permission_denied;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return static_cast<errc>(error);
    default:
        return errc::no_such_endpoint;
    }
}

} // namespace

result<file_root> file_root::open(const std::string& path) {
    owned opened{open_at(AT_FDCWD, path.c_str(), O_PATH | O_DIRECTORY)};
    if (opened.get() < 0) {
        return static_cast<errc>(errno);
    }
    std::string absolute = absolute_path(path);
    file_root made{std::move(absolute), opened.release()};
    const owned tried{open_beneath(made.descriptor_, ".", O_PATH, 0)};
    made.walks_ = tried.get() < 0; // Also where a filter of system calls forbids it.
    return made;
}

result<std::optional<file_root>> file_root::replacement(may_block how) const {
    owned now{-1};
    if (how == may_block::no && !walks_) {
        now = owned{open_resolved(AT_FDCWD, path_.c_str(), O_PATH | O_DIRECTORY, RESOLVE_CACHED)};
        if (now.get() < 0 && errno == EAGAIN) {
            return errc::again;
        }
    }
    if (now.get() < 0) { // Also before Linux 5.12, which has no RESOLVE_CACHED.
        now = owned{open_at(AT_FDCWD, path_.c_str(), O_PATH | O_DIRECTORY)};
    }
    struct stat found;
    struct stat known;
    if (now.get() < 0 || ::fstat(now.get(), &found) != 0 || ::fstat(descriptor_, &known) != 0 ||
        (found.st_dev == known.st_dev && found.st_ino == known.st_ino)) {
        return std::optional<file_root>{};
    }
    std::string path = path_;
    file_root made{std::move(path), now.release()};
    made.walks_ = walks_;
    return std::optional<file_root>{std::move(made)};
}

file_root::~file_root() {
    if (descriptor_ >= 0) {
        close_descriptor(descriptor_);
    }
}

int file_root::open_path(const std::string& path, may_block how) const noexcept {
    const char* const text = path.empty() ? "." : path.c_str();
    if (!walks_) {
        const std::uint64_t resolve = how == may_block::no ? RESOLVE_CACHED : 0;
        const int opened = open_beneath(descriptor_, text, O_PATH, resolve);
        if (opened >= 0 || errno != EINVAL || resolve == 0) {
            return opened;
        }
        return open_beneath(descriptor_, text, O_PATH, 0); // Before Linux 5.12.
    }
    try {
        return walk(descriptor_, path);
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return -1;
    }
}

result<file_root::found> file_root::find(const std::string& path, may_block how) const {
    const owned place{open_path(path, how)};
    struct stat about;
    if (place.get() < 0 || ::fstat(place.get(), &about) != 0) {
        return outcome_of(errno);
    }
    if (S_ISDIR(about.st_mode)) {
        return found{};
    }
    if (!S_ISREG(about.st_mode)) {
        return errc::no_such_endpoint;
    }
    owned file{reopen(place.get())};
    if (file.get() < 0 || ::fstat(file.get(), &about) != 0) {
        return outcome_of(errno);
    }
    found made{open_file_ptr(new open_file(file.get(), file_state::of(about)))};
    file.release();
    return made;
}

bool file_root::is_current(const std::string& path, const file_state& known) const noexcept {
    struct stat about;
    return ::fstatat(descriptor_, path.c_str(), &about, 0) == 0 && S_ISREG(about.st_mode) &&
           file_state::of(about) == known;
}

result<std::vector<file_root::entry>> file_root::list(const std::string& path,
                                                      std::size_t count_max) const {
    const owned place{open_path(path, may_block::yes)};
    owned folder{place.get() < 0 ? -1 : open_at(place.get(), ".", O_RDONLY | O_DIRECTORY)};
    if (folder.get() < 0) {
        return outcome_of(errno);
    }
    const std::unique_ptr<DIR, void (*)(DIR*)> reading{::fdopendir(folder.get()), [](DIR* read) {
                                                           const fork_gate::hold held;
                                                           forget_descriptor(::dirfd(read));
                                                           ::closedir(read);
                                                       }};
    if (!reading) {
        return outcome_of(errno);
    }
    folder.release(); // closedir() closes it.
    std::vector<entry> all;
    for (const dirent* each = ::readdir(reading.get()); each != nullptr && all.size() < count_max;
         each = ::readdir(reading.get())) {
        if (each->d_name[0] == '.') {
            continue;
        }
        const std::string inner =
            path.empty() ? each->d_name : path + "/" + static_cast<const char*>(each->d_name);
        const owned target{open_path(inner, may_block::yes)};
        struct stat about;
        if (target.get() < 0 || ::fstat(target.get(), &about) != 0 ||
            !(S_ISDIR(about.st_mode) || S_ISREG(about.st_mode))) {
            continue;
        }
        all.push_back({each->d_name, S_ISDIR(about.st_mode), file_state::of(about)});
    }
    std::ranges::sort(all, {}, &entry::name);
    return all;
}

} // namespace zlink::files
