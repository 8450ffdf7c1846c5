// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "files/open_file.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace zlink::web {

/// A complete response: texts, and regions of a file between them.
struct response {
    /// Octets of `text`, then a region of `file`.
    struct piece {
        std::size_t text_bytes = 0; ///< From where the last piece ended.
        std::uint64_t offset = 0;
        std::uint64_t file_bytes = 0;
    };

    int status = 0;
    std::string text;          ///< The head, and content that is not in a file.
    std::vector<piece> pieces; ///< At least one.
    files::open_file_ptr file; ///< Null if no piece needs it.
    bool persists = false;     ///< Another request may follow on the connection.
    bool was_kept = false;     ///< The file was open already.
};

} // namespace zlink::web
