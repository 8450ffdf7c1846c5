// SPDX-License-Identifier: MPL-2.0
#include "files/open_file.hpp"

#include "base/own_descriptors.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <sys/uio.h>
#include <unistd.h>

namespace zlink::files {

open_file::~open_file() {
    close_descriptor(descriptor_);
}

ssize_t open_file::read_resident(void* to, std::size_t bytes, std::uint64_t offset) const noexcept {
    const iovec room{to, bytes};
    const ssize_t got = ::preadv2(descriptor_, &room, 1, static_cast<off_t>(offset), RWF_NOWAIT);
    if (got < 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) {
        // A file system that cannot tell, such as tmpfs on old kernels, mostly has no disk.
        return ::preadv(descriptor_, &room, 1, static_cast<off_t>(offset));
    }
    return got;
}

int open_file::read(void* to, std::size_t bytes, std::uint64_t offset) const noexcept {
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t got = ::pread(descriptor_, static_cast<std::byte*>(to) + done, bytes - done,
                                    static_cast<off_t>(offset + done));
        if (got < 0 && errno != EINTR) {
            return errno;
        }
        if (got == 0) {
            return EIO;
        }
        done += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    return 0;
}

bool open_file::is_resident(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    std::byte last;
    return bytes == 0 || read_resident(&last, 1, offset + bytes - 1) >= 0 || errno != EAGAIN;
}

void open_file::read_ahead(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    std::array<std::byte, 64 * 1024> scratch;
    for (std::uint64_t done = 0; done < bytes;) {
        const std::size_t some = std::min<std::uint64_t>(scratch.size(), bytes - done);
        const ssize_t got =
            ::pread(descriptor_, scratch.data(), some, static_cast<off_t>(offset + done));
        if (got <= 0) {
            return; // The same error meets the connection that sends the region.
        }
        done += static_cast<std::uint64_t>(got);
    }
}

} // namespace zlink::files
