// SPDX-License-Identifier: MPL-2.0
#include "socket/proxy.hpp"

#include "pipe/message.hpp"
#include "socket/poller.hpp"
#include "socket/socket.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <string_view>
#include <vector>

namespace zlink::socket {

namespace {

/// Messages forwarded in one direction before the other direction runs.
constexpr int burst_messages_max = 1000;

/// A message that is closed when it goes out of scope.
struct scoped_message : pipe::message {
    scoped_message() noexcept { init_empty(); }
    ~scoped_message() { close(); }
};

/// Traffic of a socket in one direction.
struct traffic {
    std::uint64_t frame_count = 0;
    std::uint64_t bytes = 0;
};

enum class order : std::uint8_t { none, pause, resume, terminate, tell };

struct side {
    socket& at;
    traffic received;
    traffic sent;
    bool has_messages = false; ///< As far as known; they wait for room at the other side.
    /// The first frame of its next message, if that waits for one of several receivers.
    std::optional<std::vector<std::byte>> next_frame;
};

result<void> send_to(socket& to, outgoing& source, bool dont_wait) {
    const socket_use held{to};
    return to.shared() != nullptr ? to.send_shared(source, dont_wait) : to.send(source, dont_wait);
}

result<void> recv_from(socket& from, incoming& target, bool dont_wait) {
    const socket_use held{from};
    return from.shared() != nullptr ? from.recv_shared(target, dont_wait)
                                    : from.recv(target, dont_wait);
}

result<socket::readiness> readiness_of(socket& asked) {
    const socket_use held{asked};
    return asked.ready();
}

result<void> send_frame(socket& to, takeable<pipe::message> frame, bool more) {
    outgoing source{frame, more};
    return send_to(to, source, false);
}

/// The frame is still to be forwarded.
result<void> send_copy(socket& capture, const pipe::message& frame, bool more) {
    outgoing source{frame, more};
    return send_to(capture, source, false);
}

/// Whether the next message of `from` would be sent at once, so far as `to` decides that by its
/// content. A message that has to wait is not received: it would be one more than the high-water
/// marks allow, and the proxy would obey no order while it sends.
bool has_room_for_next(side& from, side& to) {
    from.next_frame.reset();
    {
        const socket_use held{to.at};
        if (!to.at.has_full_receiver()) {
            return true;
        }
    }
    {
        const socket_use held{from.at};
        const auto next = from.at.next_message();
        if (!next) {
            return true;
        }
        from.next_frame.emplace(next->begin(), next->end());
    }
    const socket_use held{to.at};
    if (!to.at.has_room_for(*from.next_frame)) {
        return false;
    }
    from.next_frame.reset();
    return true;
}

/// Forwards one message.
/// @return Whether there was one.
result<bool> pass_message(side& from, side& to, socket* capture) {
    scoped_message frame;
    bool more = true;
    for (bool is_first = true; more; is_first = false) {
        incoming target{.into = &frame};
        if (const result<void> got = recv_from(from.at, target, is_first); !got) {
            return is_first && got.error() == errc::again ? result<bool>{false} : got.error();
        }
        more = target.more;
        ++from.received.frame_count;
        ++to.sent.frame_count;
        from.received.bytes += target.bytes;
        to.sent.bytes += target.bytes;
        if (capture != nullptr) {
            if (const result<void> captured = send_copy(*capture, frame, more); !captured) {
                return captured.error();
            }
        }
        if (const result<void> sent = send_frame(to.at, takeable<pipe::message>{frame}, more);
            !sent) {
            return sent.error();
        }
    }
    return true;
}

result<void> pass_burst(side& from, side& to, socket* capture) {
    for (int count = 0; count < burst_messages_max; ++count) {
        if (!has_room_for_next(from, to)) {
            from.has_messages = true;
            return {};
        }
        const result<bool> passed = pass_message(from, to, capture);
        if (!passed) {
            return passed.error();
        }
        if (!*passed) {
            return {};
        }
        // As soon as the other side is full, the other direction runs.
        const auto room = readiness_of(to.at);
        if (!room) {
            return room.error();
        }
        if (!room->can_send) {
            return {};
        }
    }
    return {};
}

/// Forwards a burst if `from` has messages and `to` has room; the rest is found by a later poll.
result<void> pass_if_room(side& from, side& to, socket* capture) {
    if (!from.has_messages) {
        return {};
    }
    // A socket that is both sides, as a REP, may send only after it has received.
    if (&from.at != &to.at) {
        const auto room = readiness_of(to.at);
        if (!room) {
            return room.error();
        }
        if (!room->can_send) {
            return {};
        }
    }
    from.has_messages = false;
    return pass_burst(from, to, capture);
}

/// Does not block: the requester may be gone.
result<void> send_number(socket& to, std::uint64_t number, bool more) {
    outgoing source{reinterpret_cast<const std::byte*>(&number), sizeof number, more};
    return send_to(to, source, true);
}

result<void> send_statistics(socket& control, const side& frontend, const side& backend) {
    const std::array numbers{frontend.received.frame_count, frontend.received.bytes,
                             frontend.sent.frame_count,     frontend.sent.bytes,
                             backend.received.frame_count,  backend.received.bytes,
                             backend.sent.frame_count,      backend.sent.bytes};
    for (std::size_t index = 0; index < numbers.size(); ++index) {
        const bool more = index + 1 < numbers.size();
        if (const result<void> sent = send_number(control, numbers[index], more); !sent) {
            return sent.error() == errc::again ? result<void>{} : sent;
        }
    }
    return {};
}

/// The command in a message of one frame.
order order_in(pipe::message& frame) noexcept {
    const std::string_view text{reinterpret_cast<const char*>(frame.data()), frame.bytes()};
    return text == "PAUSE"        ? order::pause
           : text == "RESUME"     ? order::resume
           : text == "TERMINATE"  ? order::terminate
           : text == "STATISTICS" ? order::tell
                                  : order::none;
}

/// Receives a command. A message of several frames contains none.
/// @error again  There is nothing to receive.
result<order> recv_order(socket& control) {
    scoped_message frame;
    incoming target{.into = &frame};
    if (const result<void> got = recv_from(control, target, true); !got) {
        return got.error();
    }
    const order given = target.more ? order::none : order_in(frame);
    while (target.more) {
        scoped_message ignored;
        target = {.into = &ignored};
        if (const result<void> got = recv_from(control, target, false); !got) {
            return got.error();
        }
    }
    return given;
}

result<order> take_order(socket& control, const side& frontend, const side& backend) {
    const result<order> given = recv_order(control);
    if (!given) {
        return given.error() == errc::again ? result<order>{order::none} : given.error();
    }
    if (*given == order::tell) {
        const result<void> sent = send_statistics(control, frontend, backend);
        return sent ? result<order>{order::none} : sent.error();
    }
    // A REP must answer before it receives the next command.
    if (control.options().type == socket_type::rep) {
        outgoing empty{nullptr, 0, false};
        if (const result<void> sent = send_to(control, empty, false); !sent) {
            return sent.error();
        }
    }
    return given;
}

} // namespace

result<void> proxy(socket& frontend, socket& backend, socket* capture, socket* control) {
    side front{frontend, {}, {}, false, {}};
    side back{backend, {}, {}, false, {}};
    const bool is_loop = &frontend == &backend;
    const std::size_t item_count = control != nullptr ? 3 : 2;
    bool is_paused = false;
    while (true) {
        // If one side has messages, this waits for room at the other; in both directions at once,
        // or a full backend whose replies are not forwarded would never have room again.
        const auto item_of = [&](side& asked, const side& other) {
            const int events =
                is_paused ? 0
                          : (asked.has_messages ? 0 : POLLIN) | (other.has_messages ? POLLOUT : 0);
            poll_item made{&asked.at, -1, static_cast<short>(events)};
            made.first_frame = other.next_frame ? &*other.next_frame : nullptr;
            return made;
        };
        std::array<poll_item, 3> items{item_of(front, back), item_of(back, front),
                                       poll_item{control, -1, POLLIN}};
        const result<int> ready = poll(std::span{items}.first(item_count), {});
        if (!ready) {
            return ready.error();
        }
        if (control != nullptr && items[2].found != 0) {
            const result<order> given = take_order(*control, front, back);
            if (!given) {
                return given.error();
            }
            if (*given == order::terminate) {
                return {};
            }
            if (*given != order::none) {
                is_paused = *given == order::pause;
            }
        }
        if (is_paused) {
            continue;
        }
        front.has_messages |= (items[0].found & POLLIN) != 0;
        back.has_messages = !is_loop && (back.has_messages || (items[1].found & POLLIN) != 0);
        if (const result<void> passed = pass_if_room(front, back, capture); !passed) {
            return passed;
        }
        if (const result<void> passed = pass_if_room(back, front, capture); !passed) {
            return passed;
        }
    }
}

} // namespace zlink::socket
