// SPDX-License-Identifier: MPL-2.0
#include "codec/conflation.hpp"

#include "base/copy.hpp"

namespace zlink::codec {

namespace {

/// The body of a frame, with a reference for the caller.
pipe::block* take_body(const pipe::frame& from) {
    if (from.reference != nullptr) {
        return from.take_reference();
    }
    pipe::block* const copy = pipe::make_block(from.body_bytes);
    copy_bytes(copy->data, from.body, from.body_bytes);
    return copy;
}

/// @param body  Takes over one reference.
void send(pipe::block* body, std::uint64_t body_bytes, pipe::pipe_end& to) {
    try {
        to.out.push_newest(body, body_bytes);
    } catch (...) {
        body->drop();
        throw;
    }
    to.finish_message();
}

} // namespace

void conflation::deliver(pipe::pipe_end& to) {
    while (received_.has_frame()) {
        const pipe::frame front = received_.front();
        const bool is_last =
            received_.place().position + front.wire_bytes == received_.rope().published();
        pipe::block* const body = is_last ? take_body(front) : nullptr;
        if (!is_last && !front.more()) {
            to.out.count_dropped();
        }
        static_cast<void>(received_.pop(front)); // The writer, this thread, never waits for credit.
        if (body != nullptr) {
            send(body, front.body_bytes, to);
        }
    }
}

void conflation::trim() noexcept {
    received_.mark_reader_parked();
    static_cast<void>(received_.trim()); // The reader, this thread, needs no wake-up.
}

} // namespace zlink::codec
