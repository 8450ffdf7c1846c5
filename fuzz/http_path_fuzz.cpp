// SPDX-License-Identifier: MPL-2.0
// Input: the target of a request.
#include "fuzz.hpp"

#include "base/limits.hpp"
#include "wire/http/response_head.hpp"
#include "wire/http/target_path.hpp"

#include <algorithm>

using namespace zlink;
using namespace zlink::wire::http;
using zlink::fuzz::require;

namespace {

void check_name(std::string_view name, bool is_first) {
    require(!name.empty() && name.size() <= limits::http_path_segment_bytes_max);
    require(!name.starts_with('.') || (is_first && name == ".well-known"));
    require(name.find(static_cast<char>(0)) == std::string_view::npos);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view target{reinterpret_cast<const char*>(data), size};
    const auto decoded = decode_target_path(target);
    if (const auto* const refused = std::get_if<refusal>(&decoded)) {
        require(refused->status == 400 || refused->status == 404);
        return 0;
    }
    const target_path& found = std::get<target_path>(decoded);
    require(found.file.size() <= limits::http_path_bytes_max);
    std::string_view rest = found.file;
    for (bool is_first = true; !rest.empty(); is_first = false) {
        const std::string_view name = rest.substr(0, rest.find('/'));
        check_name(name, is_first);
        require(rest.size() != name.size() + 1); // No slash at the end.
        rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    }
    // Encoded again, it names the same file.
    const auto again = decode_target_path("/" + percent_encoded(found.file));
    require(std::holds_alternative<target_path>(again));
    require(std::get<target_path>(again).file == found.file);
    return 0;
}
