// SPDX-License-Identifier: MPL-2.0
// Input: the text of an endpoint. An accepted endpoint must be the same when its own text is
// decoded.
#include "fuzz.hpp"

#include "base/endpoint.hpp"

using zlink::decode_endpoint;
using zlink::endpoint;
using zlink::endpoint_use;
using zlink::errc;
using zlink::result;
using zlink::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    for (const endpoint_use use : {endpoint_use::listen, endpoint_use::dial}) {
        const result<endpoint> decoded = decode_endpoint(text, use);
        if (!decoded) {
            require(decoded.error() == errc::invalid_argument ||
                    decoded.error() == errc::protocol_not_supported ||
                    decoded.error() == zlink::path_too_long);
            continue;
        }
        require(decoded->address.host.size() <= zlink::host_bytes_max);
        require(decoded->path.size() <= (zlink::is_web(decoded->via)
                                             ? zlink::web_path_bytes_max
                                             : zlink::inproc_name_bytes_max));
        require(!zlink::is_web(decoded->via) || decoded->path.starts_with('/'));
        require(zlink::has_host(decoded->via) || decoded->address == zlink::host_address{});
        const result<endpoint> again = decode_endpoint(decoded->text(), use);
        require(again && *again == *decoded);
    }
    return 0;
}
