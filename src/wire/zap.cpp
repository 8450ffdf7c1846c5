// SPDX-License-Identifier: MPL-2.0
#include "wire/zap.hpp"

#include "wire/zmtp/command.hpp"

#include <optional>

namespace zlink::wire {

namespace {

constexpr std::string_view zap_version = "1.0";
constexpr std::size_t reply_frame_count = 7;

std::string_view as_text(std::span<const std::byte> data) noexcept {
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

std::optional<zap_status> status_of(std::string_view code) noexcept {
    if (code == "200") {
        return zap_status::accepted;
    }
    if (code == "300") {
        return zap_status::temporary_failure;
    }
    if (code == "400") {
        return zap_status::refused;
    }
    if (code == "500") {
        return zap_status::internal_error;
    }
    return {};
}

} // namespace

std::vector<std::string_view> encode_zap_request(const zap_request& request) {
    std::vector<std::string_view> frames{
        "",
        zap_version,
        zap_request_id,
        request.domain,
        request.address,
        request.routing_id,
        request.mechanism,
    };
    for (const secret_text& each : request.credentials) {
        frames.push_back(each.text());
    }
    return frames;
}

std::variant<zap_reply, zap_fault>
decode_zap_reply(std::span<const std::span<const std::byte>> frames) {
    if (frames.size() != reply_frame_count) {
        return zap_fault::malformed_reply;
    }
    if (!frames[0].empty()) {
        return zap_fault::unspecified;
    }
    if (as_text(frames[1]) != zap_version) {
        return zap_fault::bad_version;
    }
    if (as_text(frames[2]) != zap_request_id) {
        return zap_fault::bad_request_id;
    }
    const std::optional<zap_status> status = status_of(as_text(frames[3]));
    if (!status) {
        return zap_fault::invalid_status_code;
    }
    zap_reply reply{*status, std::string(as_text(frames[5])), {}};
    const result<void> visited =
        zmtp::decode_metadata(frames[6], [&](const zmtp::property_view& each) {
            reply.metadata.emplace_back(each.name, as_text(each.value));
        });
    if (!visited) {
        return zap_fault::invalid_metadata;
    }
    return reply;
}

} // namespace zlink::wire
