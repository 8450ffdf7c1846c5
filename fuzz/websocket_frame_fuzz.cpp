// SPDX-License-Identifier: MPL-2.0
// Input: a byte that selects the sender, whether compression was agreed, and the limit on messages;
// one that selects the size of pieces; then the bytes that the peer sends. The outcome must not
// depend on how they are split. A compressed payload stands for its inflated form.
#include "fuzz.hpp"

#include "wire/websocket/message_tracker.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

using namespace zlink::wire::websocket;
using zlink::fuzz::require;

namespace {

using byte_list = std::vector<std::byte>;

/// The result of decoding a peer's bytes.
struct heard {
    byte_list payloads; ///< Of all frames, unmasked, each preceded by the frame's first byte.
    std::size_t message_count = 0;
    std::optional<close_code> refusal;
    std::size_t refused_at = 0; ///< The start of the frame that was refused.
    message_state state = message_state::between;

    bool operator==(const heard&) const = default;
};

std::optional<close_code> code_of(head_status status) {
    switch (status) {
    case head_status::violation:
        return close_code::protocol_error;
    case head_status::too_large:
        return close_code::too_large;
    case head_status::complete:
    case head_status::incomplete:
        break;
    }
    return std::nullopt;
}

/// The status of a partial header is final unless it is "incomplete".
void check_each_prefix(std::span<const std::byte> content, const frame_rules& rules) {
    frame_head whole;
    const head_status outcome = read_head(content.data(), content.size(), rules, whole);
    for (std::size_t available = 0; available <= content.size() && available <= 15; ++available) {
        frame_head head;
        const head_status status = read_head(content.data(), available, rules, head);
        require(status == head_status::incomplete || status == outcome);
        require((status == head_status::complete) == (head.header_bytes != 0));
    }
}

/// An accepted header must equal the one that the encoder writes.
void check_complete(std::span<const std::byte> content, const frame_head& head,
                    const frame_rules& rules) {
    require(head.header_bytes <= content.size());
    require(head.payload_bytes <= rules.payload_bytes_max || head.is_control());
    require(!head.is_control() || (head.is_final() && head.payload_bytes <= 125));
    require(!head.is_compressed() || rules.may_compress);

    std::array<std::byte, header_bytes_max> written;
    const std::size_t written_bytes =
        rules.from == sender::client
            ? write_masked_header(written.data(), head.kind, head.payload_bytes, head.key,
                                  head.flags)
            : write_header(written.data(), head.kind, head.payload_bytes, head.flags);
    require(std::ranges::equal(content.first(head.header_bytes),
                               std::span{written}.first(written_bytes)));
}

class listener {
public:
    listener(const frame_rules& rules, std::uint64_t message_bytes_max)
        : rules_(rules), tracker_(message_bytes_max) {}

    /// Takes all bytes received so far: those of the last call, and more.
    void on_received(std::span<const std::byte> content) {
        while (!is_over()) {
            if (!has_head_ && !take_head(content.subspan(at_))) {
                return;
            }
            const std::uint64_t missing = head_.payload_bytes - taken_bytes_;
            const std::size_t bytes = std::min<std::uint64_t>(missing, content.size() - at_);
            if (bytes != 0 && !is_refused(take_payload(content.subspan(at_, bytes)))) {
                at_ += bytes;
            }
            if (taken_bytes_ < head_.payload_bytes || is_over()) {
                return;
            }
            end_frame();
        }
    }

    const heard& outcome() {
        all_.state = tracker_.state();
        return all_;
    }

private:
    bool is_over() const { return all_.refusal || tracker_.state() == message_state::over; }

    bool is_refused(std::optional<close_code> refusal) {
        if (refusal) {
            all_.refusal = refusal;
            all_.refused_at = frame_at_;
        }
        return refusal.has_value();
    }

    bool take_head(std::span<const std::byte> content) {
        check_each_prefix(content, rules_);
        const head_status status = read_head(content.data(), content.size(), rules_, head_);
        if (status != head_status::complete) {
            is_refused(code_of(status));
            return false;
        }
        check_complete(content, head_, rules_);
        if (is_refused(tracker_.on_head(head_))) {
            return false;
        }
        has_head_ = true;
        at_ += head_.header_bytes;
        taken_bytes_ = 0;
        phase_ = 0;
        all_.payloads.push_back(content[0]);
        return true;
    }

    std::optional<close_code> take_payload(std::span<const std::byte> masked) {
        const std::size_t begin = all_.payloads.size();
        all_.payloads.insert(all_.payloads.end(), masked.begin(), masked.end());
        const std::span payload = std::span{all_.payloads}.subspan(begin);
        phase_ = mask(payload, head_.key, phase_);
        taken_bytes_ += masked.size();
        const bool is_of_compressed = !head_.is_control() && tracker_.is_compressed();
        const auto refusal = tracker_.on_payload(payload);
        require(!refusal || !is_of_compressed);
        return is_of_compressed ? tracker_.on_inflated(payload) : refusal;
    }

    void end_frame() {
        has_head_ = false;
        if (is_refused(tracker_.on_frame_end())) {
            return;
        }
        const bool is_message_end = !head_.is_control() && head_.is_final();
        require(!is_message_end || tracker_.state() == message_state::between);
        require((head_.kind == opcode::close) == (tracker_.state() == message_state::over));
        all_.message_count += is_message_end;
        frame_at_ = at_;
    }

    frame_rules rules_;
    message_tracker tracker_;
    heard all_;
    frame_head head_;
    bool has_head_ = false;
    std::size_t at_ = 0;       ///< Bytes taken.
    std::size_t frame_at_ = 0; ///< The start of the current frame.
    std::uint64_t taken_bytes_ = 0;
    unsigned phase_ = 0;
};

/// @param piece_bytes_max  The number of bytes that each call adds.
heard hear(std::span<const std::byte> content, std::size_t piece_bytes_max,
           const frame_rules& rules, std::uint64_t message_bytes_max) {
    listener all{rules, message_bytes_max};
    for (std::size_t bytes = 0; bytes < content.size();) {
        bytes = std::min(bytes + piece_bytes_max, content.size());
        all.on_received(content.first(bytes));
    }
    heard outcome = all.outcome();
    if (outcome.refusal) {
        // The amount of payload checked before the refusal depends on the pieces.
        outcome.payloads.clear();
    }
    return outcome;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const std::array<std::uint64_t, 4> limits{0, 16, 200, ~std::uint64_t{0}};
    const std::uint64_t message_bytes_max = limits[data[0] >> 2 & 3];
    const bool may_compress = (data[0] & 2) != 0;
    const frame_rules rules{.from = (data[0] & 1) != 0 ? sender::server : sender::client,
                            .may_compress = may_compress,
                            .payload_bytes_max = may_compress
                                                     ? compressed_bytes_max(message_bytes_max)
                                                     : message_bytes_max};
    const auto content = std::as_bytes(std::span{data + 2, size - 2});
    const heard at_once = hear(content, content.size() + 1, rules, message_bytes_max);
    require(at_once == hear(content, 1u + data[1], rules, message_bytes_max));
    return 0;
}
