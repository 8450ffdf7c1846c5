// SPDX-License-Identifier: MPL-2.0
#include "socket/listening.hpp"

#include "socket/context.hpp"

#include <utility>

namespace zlink::socket {

void begin_session(context& owner, const std::shared_ptr<session::endpoint_call>& call,
                   int descriptor, transport::counted_connection_ptr who) {
    owner.add_dependant();
    try {
        session::session::accept(owner.choose_thread(call->options->affinity), call, descriptor,
                                 std::move(who));
    } catch (...) {
        owner.on_session_gone();
        throw;
    }
}

void tell_all_sessions(context& owner, std::uint64_t call_id, const countdown_ptr& told) {
    owner.for_each_thread([&](runtime::io_thread& each) {
        each.post([&each, call_id, told] {
            each.on_call_undone(call_id, told != nullptr);
            if (told) {
                told->arrive();
            }
        });
    });
}

void stop_listener(context& owner, runtime::io_thread& on,
                   boost::intrusive_ptr<transport::listener> listener, std::uint64_t call_id,
                   const countdown_ptr& told) {
    on.post([listener = std::move(listener), &owner, call_id, told] {
        listener->stop();
        tell_all_sessions(owner, call_id, told); // From now on no more sessions start.
        owner.on_session_gone();
    });
}

} // namespace zlink::socket
