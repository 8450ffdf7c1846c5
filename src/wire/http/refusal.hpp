// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <string_view>

namespace zlink::wire::http {

/// The answer to a request that is not carried out.
struct refusal {
    int status = 0;       ///< 4xx or 5xx (RFC 9110, 15.5 and 15.6).
    std::string_view why; ///< A sentence for the client; of static duration.

    friend bool operator==(const refusal&, const refusal&) = default;
};

} // namespace zlink::wire::http
