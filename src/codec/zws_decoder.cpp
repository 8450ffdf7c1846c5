// SPDX-License-Identifier: MPL-2.0
#include "codec/zws_decoder.hpp"

#include "base/limits.hpp"
#include "wire/zmtp/frame.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace zlink::codec {

using namespace wire::websocket;
namespace zmtp = wire::zmtp;
using piece = wire::zws::decoder::piece;

const errc zws_decoder::unexpected_text = static_cast<errc>(ENOMSG);

namespace {

/// The maximum ZMTP size of the frames in `received_bytes` bytes: a frame grows, by 4 bytes, only
/// if it has more than 256; and part of a header may have come before.
constexpr std::size_t zmtp_bytes_max(std::size_t received_bytes) noexcept {
    return received_bytes + received_bytes / 64 + 2 * zmtp::header_bytes_max;
}

} // namespace

result<void> zws_decoder::take_frame(std::span<const std::byte>& data, secret_bytes& out) {
    secret_bytes rest(data.begin(), data.end());
    std::span<std::byte> unread{rest};
    bool is_whole = false;
    result<void> taken;
    while (taken && !is_whole && !is_over_) {
        const piece found = decoder_.next(unread);
        if (found == piece::nothing) {
            break;
        }
        if (found == piece::control) {
            taken = on_control();
        } else if (found == piece::refused) {
            taken = refuse();
        } else if (found == piece::fragment) {
            fragments_.append(decoder_.body());
            if (fragments_.size() > limits::handshake_command_bytes_max) {
                is_over_ = true;
                taken = errc::message_too_large;
            }
        } else if (found == piece::header || found == piece::end) {
            const bool is_assembled = found == piece::end;
            const std::uint64_t body_bytes =
                is_assembled ? fragments_.size() : decoder_.body_bytes();
            std::byte header[zmtp::header_bytes_max];
            const std::size_t bytes = zmtp::write_header(header, body_bytes, decoder_.flags());
            out.insert(out.end(), header, header + bytes);
            if (is_assembled) {
                out.insert(out.end(), fragments_.view().begin(), fragments_.view().end());
                wipe(std::span{fragments_.data(), fragments_.size()});
                fragments_.release();
            }
            is_whole = !decoder_.is_inside();
        } else {
            out.insert(out.end(), decoder_.body().begin(), decoder_.body().end());
            is_whole = !decoder_.is_inside();
        }
    }
    data = data.last(unread.size());
    return taken;
}

std::size_t zws_decoder::prepare(std::span<std::byte> scratch, std::span<iovec, 2> parts) {
    scratch_ = scratch.data();
    parts[0] = {scratch_, scratch.size()};
    return 1;
}

result<void> zws_decoder::received(std::size_t bytes, inbound& into) {
    return ended_by(consume({scratch_, bytes}, into));
}

result<void> zws_decoder::feed(std::span<const std::byte> data, inbound& into) {
    std::vector<std::byte> unread{data.begin(), data.end()};
    return ended_by(consume(unread, into));
}

result<void> zws_decoder::resume(inbound& into) {
    return ended_by(inner_ ? inner_->resume(into) : result<void>{});
}

/// After an error further input is discarded.
result<void> zws_decoder::ended_by(const result<void>& outcome) noexcept {
    is_over_ = is_over_ || !outcome;
    return outcome;
}

void zws_decoder::trim() noexcept {
    for_inner_.release();
    if (inner_) {
        inner_->trim();
    }
}

/// @param data  Overwritten.
result<void> zws_decoder::consume(std::span<std::byte> data, inbound& into) {
    while (!is_over_) {
        // A large payload that has begun has its own block.
        while (!inner_ && decoder_.is_inside() && !data.empty()) {
            decoder_.next(data);
            if (const result<void> fed = into.feed(decoder_.body()); !fed) {
                return fed.error();
            }
        }
        if (data.empty()) {
            return {};
        }
        const std::size_t room_bytes = zmtp_bytes_max(data.size());
        std::byte* const room =
            inner_ ? for_inner_.reserve(room_bytes) : into.make_room(room_bytes).data();
        std::size_t used = 0;
        const result<bool> has_fragments = decode(data, room, used);
        const result<void> taken =
            inner_ ? inner_->feed({room, used}, into) : into.received_in_room(used);
        if (!taken || !has_fragments) {
            return taken ? has_fragments.error() : taken.error();
        }
        if (!*has_fragments) {
            return {};
        }
        if (const result<void> passed = pass_on_fragments(into); !passed) {
            return passed.error();
        }
    }
    return {};
}

/// @param out   Room for zmtp_bytes_max(data.size()).
/// @param used  The bytes of the frames found, also before an error.
/// @return Whether a body in several frames has ended; it is in fragments_.
result<bool> zws_decoder::decode(std::span<std::byte>& data, std::byte* out, std::size_t& used) {
    used = 0;
    while (!is_over_) {
        switch (decoder_.next(data)) {
        case piece::nothing:
            return false;
        case piece::header:
            used += zmtp::write_header(out + used, decoder_.body_bytes(), decoder_.flags());
            break;
        case piece::body:
            std::memcpy(out + used, decoder_.body().data(), decoder_.body().size());
            used += decoder_.body().size();
            break;
        case piece::fragment:
            fragments_.append(decoder_.body());
            break;
        case piece::end:
            return true;
        case piece::control:
            if (const result<void> taken = on_control(); !taken) {
                return taken.error();
            }
            break;
        case piece::refused:
            return refuse();
        }
    }
    return false;
}

result<void> zws_decoder::pass_on(std::span<const std::byte> frames, inbound& into) {
    return inner_ ? inner_->feed(frames, into) : into.feed(frames);
}

/// In pieces, so that a large body gets its own block as soon as its header is known.
result<void> zws_decoder::pass_on_fragments(inbound& into) {
    const pipe::byte_buffer assembled = std::move(fragments_);
    std::span<const std::byte> rest = assembled.view();
    std::byte header[zmtp::header_bytes_max];
    const std::size_t header_bytes = zmtp::write_header(header, rest.size(), decoder_.flags());
    result<void> passed = pass_on({header, header_bytes}, into);
    while (passed && !rest.empty()) {
        const auto next = rest.first(std::min(rest.size(), 2 * tuning::external_bytes_min));
        passed = pass_on(next, into);
        rest = rest.subspan(next.size());
    }
    return passed;
}

result<void> zws_decoder::on_control() {
    if (decoder_.control_kind() == opcode::ping) {
        controls_.on_websocket_ping(decoder_.control_payload());
    } else if (decoder_.control_kind() == opcode::close) {
        is_over_ = true;
        close_view said;
        if (const auto refusal = decode_close(decoder_.control_payload(), said)) {
            return errc::protocol_violation;
        }
        controls_.on_websocket_close(said);
    }
    return {};
}

errc zws_decoder::refuse() noexcept {
    is_over_ = true;
    switch (decoder_.refusal()) {
    case close_code::too_large:
        return errc::message_too_large;
    case close_code::unsupported_data:
        return unexpected_text;
    default:
        return errc::protocol_violation;
    }
}

} // namespace zlink::codec
