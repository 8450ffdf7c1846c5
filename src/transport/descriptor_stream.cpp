// SPDX-License-Identifier: MPL-2.0
#include "transport/descriptor_stream.hpp"

#include "base/write_parts.hpp"
#include "transport/watched_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

namespace zlink::tuning {

/// Regions of files from this size on are moved within the system; smaller ones are cheaper to read
/// and write.
constexpr std::size_t sendfile_bytes_min = std::size_t{16} * 1024;

} // namespace zlink::tuning

namespace zlink::transport {

namespace {

/// Whether there may be more to move where `moved` bytes just were.
bool is_unexhausted(ssize_t moved, std::span<const iovec> parts) noexcept {
    if (moved < 0) {
        return errno != EAGAIN && errno != EWOULDBLOCK;
    }
    for (const iovec& each : parts) {
        moved -= static_cast<ssize_t>(each.iov_len);
    }
    return moved >= 0;
}

/// The maximum size of a packet in the system, without its headers.
constexpr std::uint32_t packet_bytes_max = 65215;

/// Calls after which the unit is queried again: TCP packets grow with the window that the peer
/// opens.
constexpr std::uint16_t unit_asked_after = 64;

/// The bytes of a TCP packet inside the system: many segments of the network, or one as large as
/// they are on loopback. 0 for other sockets.
std::uint32_t ask_unit(int descriptor) noexcept {
    int segment_bytes = 0;
    socklen_t size = sizeof segment_bytes;
    if (::getsockopt(descriptor, IPPROTO_TCP, TCP_MAXSEG, &segment_bytes, &size) != 0 ||
        segment_bytes <= 0) {
        return 0;
    }
    const auto segment = static_cast<std::uint32_t>(segment_bytes);
    return std::max(segment, packet_bytes_max / segment * segment);
}

/// A connected socket of tcp or of the Unix domain.
class descriptor_stream final : public watched_stream {
public:
    using watched_stream::watched_stream;

    io_outcome try_read(std::span<const iovec> room) noexcept override {
        // One part costs the system fewer instructions than several.
        const ssize_t got =
            room.size() == 1 ? ::recv(descriptor(), room.front().iov_base, room.front().iov_len, 0)
                             : ::readv(descriptor(), room.data(), static_cast<int>(room.size()));
        note_read(is_unexhausted(got, room));
        if (got > 0) {
            return {io_outcome::status::moved, static_cast<std::size_t>(got)};
        }
        return got == 0 ? io_outcome{io_outcome::status::ended} : outcome_of_failure();
    }

    io_outcome try_write(std::span<const iovec> data) noexcept override {
        const ssize_t put = write_parts(descriptor(), data);
        note_written(is_unexhausted(put, data));
        return put >= 0 ? io_outcome{io_outcome::status::moved, static_cast<std::size_t>(put)}
                        : outcome_of_failure();
    }

    io_outcome try_write_file(std::span<const std::byte> head, const files::file_region& part,
                              std::span<std::byte> scratch) noexcept override {
        if (part.bytes < tuning::sendfile_bytes_min) {
            return stream::try_write_file(head, part, scratch);
        }
        if (!part.file->is_resident(part.offset, part.bytes)) {
            return {io_outcome::status::failed, 0, EAGAIN};
        }
        if (!head.empty()) {
            const ssize_t put = ::send(descriptor(), head.data(), head.size(),
                                       MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE);
            const bool is_whole = put == static_cast<ssize_t>(head.size());
            note_written(is_whole);
            if (!is_whole) {
                return put >= 0
                           ? io_outcome{io_outcome::status::moved, static_cast<std::size_t>(put)}
                           : outcome_of_failure();
            }
        }
        auto offset = static_cast<off_t>(part.offset);
        const ssize_t put = ::sendfile(descriptor(), part.file->descriptor(), &offset, part.bytes);
        note_written(put == static_cast<ssize_t>(part.bytes));
        if (put > 0 || (put < 0 && !head.empty() && errno == EAGAIN)) {
            return {io_outcome::status::moved,
                    head.size() + static_cast<std::size_t>(std::max<ssize_t>(put, 0))};
        }
        return put == 0 ? io_outcome{io_outcome::status::failed, 0, ENODATA} : outcome_of_failure();
    }

    std::size_t unit_bytes() noexcept override {
        if (unit_is_good_for_ == 0) {
            unit_is_good_for_ = unit_asked_after;
            unit_bytes_ = ask_unit(descriptor());
        }
        --unit_is_good_for_;
        return unit_bytes_;
    }

    void end_writing() noexcept override { ::shutdown(descriptor(), SHUT_WR); }

    bool is_plain() const noexcept override { return true; }

private:
    std::uint32_t unit_bytes_ = 0;
    std::uint16_t unit_is_good_for_ = 0; ///< Calls until it is queried again.
};

} // namespace

stream_ptr make_descriptor_stream(boost::asio::io_context& reactor, int descriptor) noexcept {
    return make_watched<descriptor_stream>(reactor, descriptor);
}

} // namespace zlink::transport
