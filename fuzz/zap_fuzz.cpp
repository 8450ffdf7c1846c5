// SPDX-License-Identifier: MPL-2.0
// Input: the frames of a ZAP reply, each preceded by a byte with its length.
#include "fuzz.hpp"

#include "wire/zap.hpp"

#include <algorithm>
#include <vector>

using namespace zlink::wire;
using zlink::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto rest = std::as_bytes(std::span{data, size});
    std::vector<std::span<const std::byte>> frames;
    while (!rest.empty()) {
        const std::size_t bytes = std::min(std::to_integer<std::size_t>(rest[0]), rest.size() - 1);
        frames.push_back(rest.subspan(1, bytes));
        rest = rest.subspan(1 + bytes);
    }
    const auto decoded = decode_zap_reply(frames);
    if (const auto* const reply = std::get_if<zap_reply>(&decoded); reply != nullptr) {
        require(frames.size() == 7);
        require(reply->user_id.size() == frames[5].size());
        require(reply->status == zap_status::accepted ||
                reply->status == zap_status::temporary_failure ||
                reply->status == zap_status::refused ||
                reply->status == zap_status::internal_error);
        std::size_t metadata_bytes = 0;
        for (const auto& [name, value] : reply->metadata) {
            require(!name.empty());
            metadata_bytes += 1 + name.size() + 4 + value.size();
        }
        require(metadata_bytes == frames[6].size());
    }
    return 0;
}
