// SPDX-License-Identifier: MPL-2.0
#include "security/zap_client.hpp"

#include "base/fence.hpp"
#include "wire/zmtp/frame.hpp"

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace zlink::security {

namespace {

/// Appends a frame whose bytes are wiped once the handler has released them.
void push_secret(pipe::message_queue& out, std::string_view body, std::uint8_t flags) {
    auto kept = std::make_unique<secret_text>(body);
    pipe::block* const shared = pipe::wrap_block(
        const_cast<char*>(kept->text().data()), body.size(),
        [](void*, void* held) { delete static_cast<secret_text*>(held); }, kept.get());
    kept.release();
    try {
        out.push_reference(shared, body.size(), flags);
    } catch (...) {
        shared->drop();
        throw;
    }
}

} // namespace

zap_client::zap_client(pipe::end_ptr to_handler, zap_asker& asker) noexcept
    : end_(std::move(to_handler)), asker_(asker) {
    end_->set_owner(this);
}

void zap_client::ask(const wire::zap_request& request) {
    const std::vector<std::string_view> frames = wire::encode_zap_request(request);
    const std::size_t open_count = frames.size() - request.credentials.size();
    try {
        for (std::size_t index = 0; index < frames.size(); ++index) {
            const std::uint8_t flags = index + 1 == frames.size() ? 0 : wire::zmtp::flag_more;
            if (index < open_count || frames[index].empty()) {
                end_->out.push_copy(reinterpret_cast<const std::byte*>(frames[index].data()),
                                    frames[index].size(), flags);
            } else {
                push_secret(end_->out, frames[index], flags);
            }
        }
    } catch (const std::bad_alloc&) {
        end_->out.rollback();
        throw;
    }
    end_->finish_message();
    // There is nothing to read yet, but this sets the mark that makes the handler wake this side.
    on_events(pipe::event::readable);
}

void zap_client::on_events(std::uint32_t happened) noexcept {
    if (is_over_) {
        return;
    }
    std::optional<std::variant<wire::zap_reply, wire::zap_fault>> reply;
    try {
        if (read()) {
            const std::vector<std::span<const std::byte>> views(frames_.begin(), frames_.end());
            reply = wire::decode_zap_reply(views);
        }
    } catch (const std::bad_alloc&) {
        happened = pipe::event::closed;
    }
    // The asker may destroy this client in either call.
    if (reply) {
        is_over_ = true;
        asker_.on_zap_reply(std::move(*reply));
    } else if ((happened & pipe::event::closed) != 0) {
        is_over_ = true;
        asker_.on_zap_handler_gone();
    }
}

/// Reads the available part of the reply, and parks if it is incomplete.
/// @return Whether the reply is complete.
bool zap_client::read() {
    do {
        while (end_->in.has_frame()) {
            if (take_frame()) {
                return true;
            }
        }
        if (end_->in.mark_reader_parked()) {
            asymmetric_fence::heavy();
        }
    } while (end_->in.missed_something() && end_->in.unmark_reader());
    return false;
}

/// @return Whether it was the last frame.
bool zap_client::take_frame() {
    const pipe::frame front = end_->in.front();
    if (front.control) {
        front.drop_reference();
        end_->pop(front);
        return false;
    }
    if (frames_.size() < frame_count_max) {
        frames_.emplace_back(front.body, front.body + front.body_bytes);
    }
    const bool is_last = !front.more();
    front.drop_reference();
    end_->pop(front);
    return is_last;
}

} // namespace zlink::security
