// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "files/open_file.hpp"
#include "pipe/block.hpp"

#include <utility>

namespace zlink::files {

/// A region of a file as a message to a peer of a STREAM. Passes through the outgoing rope in order
/// with the other messages, and counts as one of them.
struct sent_file final : pipe::block {
    file_region region; ///< Not empty.

    explicit sent_file(file_region what) noexcept : region(std::move(what)) {
        kind = origin::object;
        is_message = true;
        destroy = &destroy_sent_file;
    }

    /// `object` as a region of a file; null if it is another one.
    static sent_file* from(pipe::block& object) noexcept {
        return object.destroy == &destroy_sent_file ? static_cast<sent_file*>(&object) : nullptr;
    }

private:
    static void destroy_sent_file(block* self) { delete static_cast<sent_file*>(self); }
};

} // namespace zlink::files
