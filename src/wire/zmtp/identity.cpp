// SPDX-License-Identifier: MPL-2.0
#include "wire/zmtp/identity.hpp"

#include "wire/zmtp/command.hpp"
#include "wire/zmtp/frame.hpp"
#include "wire/zmtp/v1_frame.hpp"

namespace zlink::wire::zmtp {

void identity_exchange::start(std::string_view own_identity, std::vector<std::byte>& out) const {
    if (has_signature_) {
        std::byte header[v1_header_bytes_max];
        const std::size_t header_bytes = version_ == peer_version::v1
                                             ? write_v1_header(header, own_identity.size(), 0)
                                             : write_header(header, own_identity.size(), 0);
        out.insert(out.end(), header, header + header_bytes);
    }
    const auto data = std::as_bytes(std::span{own_identity});
    out.insert(out.end(), data.begin(), data.end());
}

result<void> identity_exchange::on_received(std::span<const std::byte>& input) {
    while (!is_complete_ && !input.empty()) {
        frame_.push_back(input.front());
        input = input.subspan(1);
        if (identity_begin_ == 0) {
            if (const result<void> looked = on_header(); !looked) {
                return looked.error();
            }
        }
        is_complete_ = identity_begin_ != 0 && frame_.size() == frame_bytes_;
    }
    return {};
}

/// Checks whether the header is complete. It must have no flags: a header with flags belongs to
/// another protocol, which the first octets of version 1.0 do not show.
result<void> identity_exchange::on_header() {
    frame_head head;
    const head_status status =
        version_ == peer_version::v1
            ? read_v1_head(frame_, head)
            : read_head(frame_.data(), frame_.size(), body_bytes_limit, head);
    if (status == head_status::incomplete) {
        return {};
    }
    const std::byte flags =
        version_ == peer_version::v1 ? frame_.back() : frame_.front() & ~std::byte{flag_long};
    if (status == head_status::violation || flags != std::byte{0}) {
        return errc::protocol_violation;
    }
    if (head.body_bytes > identity_bytes_max) {
        return errc::message_too_large;
    }
    identity_begin_ = head.header_bytes;
    frame_bytes_ = head.frame_bytes();
    return {};
}

std::string_view identity_exchange::identity() const noexcept {
    return {reinterpret_cast<const char*>(frame_.data()) + identity_begin_,
            frame_.size() - identity_begin_};
}

} // namespace zlink::wire::zmtp
