// SPDX-License-Identifier: MPL-2.0
// The client that proxies name is none of them unless all are, and what stands before an address
// that is not trusted changes nothing.
//
// Input: a byte that says which fields there are, then their text.
#include "fuzz.hpp"

#include "wire/http/forwarded.hpp"

#include <algorithm>
#include <string>

using namespace zlink;
using namespace zlink::wire::http;
using zlink::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string text{reinterpret_cast<const char*>(data + 1), size - 1};
    std::string_view refused;
    const result<trusted_proxies> listed = decode_trusted_proxies(text, refused);
    require(listed || refused.data() == nullptr || refused.empty() ||
            text.find(refused) != std::string::npos);
    const trusted_proxies trusted =
        *decode_trusted_proxies("10.0.0.0/8,2001:db8::/32,unix", refused);
    const bool has_standard = (data[0] & 1) != 0;
    const bool has_x = (data[0] & 2) != 0 || !has_standard;
    forwarding_fields said;
    if (has_standard) {
        said.forwarded = text;
    }
    if (has_x) {
        said.x_forwarded_for = text;
        said.x_forwarded_proto = text;
    }
    const auto found = find_client(said, trusted);
    const std::string_view scheme = find_scheme(said);
    require(scheme.empty() || scheme == "http" || scheme == "https");
    require(!found || found->host_bytes == 4 || found->host_bytes == 16);
    if (found && !has_standard && !trusted.contains(found->address())) {
        const std::string longer = "anything,;\\\", " + text;
        said.x_forwarded_for = longer;
        const auto again = find_client(said, trusted);
        require(again && std::ranges::equal(again->address(), found->address()) &&
                again->port == found->port);
    }
    return 0;
}
