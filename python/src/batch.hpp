// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "core.hpp"

namespace zlink::python {

/// Messages and events that a STREAM has received together.
///
/// Lent: the payloads are in the socket's memory until end(), which the socket's next receiving
/// call makes. Otherwise they are copies, in one block.
class batch {
public:
    batch(nb::object owner, core& from, std::vector<zlink_stream_message_t> messages, bool is_lent);
    batch(const batch&) = delete;
    batch& operator=(const batch&) = delete;
    ~batch();

    /// @throws BufferError if a part of a payload is still in use
    void end();
    bool is_ended() const { return is_lent_ && from_ == nullptr; }

    const std::vector<zlink_stream_message_t>& messages() const { return messages_; }
    bool is_from(const core& socket) const { return from_ == &socket; }
    /// The Python object of the socket, if the messages are lent.
    const nb::object& owner() const { return owner_; }

    long export_count = 0;
    std::vector<nb::object> views; ///< Weak references to the views that were handed out.

private:
    nb::object owner_;
    core* from_;
    std::vector<zlink_stream_message_t> messages_;
    std::vector<char> copies_;
    bool is_lent_;
};

nb::object peer_tuple(const zlink_peer_t& about);

} // namespace zlink::python
