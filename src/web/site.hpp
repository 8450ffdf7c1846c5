// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "web/folder.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace zlink::web {

/// The folders that a listener serves, each at a prefix of the path; the longest prefix counts.
///
/// @threads Any; it does not change while it is used.
class site {
public:
    /// @throws std::bad_alloc
    void add(std::shared_ptr<const folder> added);

    /// The folder for a path, and the path within it.
    struct place {
        const folder* at = nullptr; ///< Null: none has this prefix.
        std::string path;
    };
    /// @param path  Decoded, relative.
    /// @throws std::bad_alloc
    place find(std::string_view path) const;

private:
    std::vector<std::shared_ptr<const folder>> folders_; ///< The longest prefix first.
};

using site_ptr = std::shared_ptr<const site>;

} // namespace zlink::web
