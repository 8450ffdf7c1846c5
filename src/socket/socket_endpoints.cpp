// SPDX-License-Identifier: MPL-2.0
//
// How a socket binds and connects.
#include "base/error_text.hpp"
#include "base/own_descriptors.hpp"
#include "session/client_rates.hpp"
#include "session/session.hpp"
#include "socket/context.hpp"
#include "socket/listening.hpp"
#include "socket/server.hpp"
#include "socket/socket.hpp"
#include "transport/address.hpp"
#include "transport/datagram_socket.hpp"
#include "transport/dialer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace zlink::socket {

namespace {

/// Whether a socket of that type may use udp so, as libzmq defines.
bool uses_datagrams(socket_type type, endpoint_use use) noexcept {
    return use == endpoint_use::dial ? type == socket_type::radio
                                     : type == socket_type::dish || type == socket_type::dgram;
}

} // namespace

/// @error protocol_not_supported  It cannot carry raw bytes, or only carries ZMTP patterns.
/// @error incompatible_protocol   Datagrams are for RADIO, DISH and DGRAM.
result<void> socket::check_transport(const endpoint& where, endpoint_use use) const {
    if (where.via == scheme::udp && !uses_datagrams(options_.type, use)) {
        set_error_text("over udp a RADIO can be connected, and a DISH or DGRAM bound");
        return errc::incompatible_protocol;
    }
    if (where.via != scheme::udp && options_.type == socket_type::dgram) {
        set_error_text("a DGRAM can only be bound to udp");
        return errc::incompatible_protocol;
    }
    if (is_http(where.via) && options_.type != socket_type::stream) {
        set_error_text("only a ZLINK_STREAM can be bound to http and https");
        return errc::protocol_not_supported;
    }
    if (is_web(where.via) && options_.raw) {
        set_error_text("raw bytes cannot be sent over ws and wss");
        return errc::protocol_not_supported;
    }
    if (options_.has_foreign_peers() && where.via == scheme::inproc) {
        set_error_text("this type of socket cannot use inproc, whose peers speak ZMTP");
        return errc::protocol_not_supported;
    }
    return {};
}

/// Reports an own certificate that expires soon.
void socket::tell_expiry(const transport::tls_context_ptr& tls, const event_place& where) noexcept {
    constexpr auto expires = connection_event::certificate_expires;
    if (tls && monitored_->watches(expires)) {
        if (const auto rest = tls->take_expiry(transport::tls_context::clock::now())) {
            monitored_->on_connection_event(expires, *rest, where);
        }
    }
}

/// The common beginning of bind() and connect().
/// @error terminated
/// @error  As decode_endpoint() and check_transport().
result<endpoint> socket::begin_call(std::string_view address, endpoint_use use) {
    set_error_text({});
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    result<endpoint> where = decode_endpoint(address, use);
    if (where) {
        if (const result<void> checked = check_transport(*where, use); !checked) {
            return checked.error();
        }
    }
    return where;
}

void socket::serve(std::shared_ptr<const web::folder> files) {
    auto changed = site_ ? std::make_shared<web::site>(*site_) : std::make_shared<web::site>();
    changed->add(std::move(files));
    site_ = std::move(changed);
}

void socket::route(web::route added) {
    auto changed = site_ ? std::make_shared<web::site>(*site_) : std::make_shared<web::site>();
    changed->add(std::move(added));
    site_ = std::move(changed);
}

result<void> socket::bind(std::string_view address) {
    const result<endpoint> where = begin_call(address, endpoint_use::listen);
    if (!where) {
        return where.error();
    }
    const result<void> bound = where->via == scheme::inproc ? bind_inproc(*where, address)
                               : where->via == scheme::udp  ? bind_datagrams(*where, address)
                                                            : bind_network(*where, address);
    if (bound) {
        mailbox_->signal(); // ZMQ_EVENTS may have changed.
    }
    return bound;
}

result<void> socket::bind_inproc(const endpoint& where, std::string_view address) {
    // Operations that can fail come first: a bound name would stay bound.
    std::string text{address};
    bindings_.reserve_one();
    binding added{text, {}, context_.next_call_id(), scheme::inproc, true, {}, {}, {}, {}};
    endpoint_meter measured{added.call_id, text, scheme::inproc, true, {}};
    meter_->reserve_one();
    const result<void> bound = context_.bind_inproc(
        where.path,
        {.binder = this,
         .mailbox = mailbox_,
         .send_hwm = options_.send_hwm,
         .recv_hwm = options_.recv_hwm,
         .routing_id = options_.routing_id,
         .type = options_.type,
         .conflates_sent = options_.conflates_sent(),
         .wants_newest = options_.conflates_received(),
         .hello = options_.says_hello() ? options_.hello_message : std::string{},
         .farewell = options_.hears_disconnects() ? options_.disconnect_message : std::string{}});
    if (!bound) {
        return bound.error();
    }
    bindings_.note_endpoint(std::move(text));
    meter_->add(std::move(measured));
    bindings_.add(std::move(added));
    // Pipes that waited for the name have arrived; memory for one may be lacking until the next
    // call.
    const result<void> processed = process_mail();
    return processed || processed.error() == errc::no_memory ? result<void>{} : processed;
}

/// @error  As transport::tls_context::make().
result<std::shared_ptr<session::endpoint_call>> socket::make_call(const endpoint& where,
                                                                  endpoint_use use) {
    auto made = std::make_shared<session::endpoint_call>();
    made->host = &context_;
    made->socket = mailbox_;
    made->options = std::make_shared<const socket_options>(options_);
    made->observer = monitored_;
    made->departures = departures_;
    made->inflated = inflated_;
    made->site = site_;
    made->requests = request_observer_;
    made->counters = std::make_shared<connection_counters>();
    if (is_http(where.via)) {
        made->http = meter_->http();
        if (options_.http_request_rate != 0 && !options_.trusted.is_empty()) {
            made->rates = std::make_shared<session::client_rates>(
                options_.http_request_rate, session::request_rate::clock::now());
        }
    }
    made->where = where;
    if (is_encrypted(where.via)) {
        auto tls = transport::tls_context::make(options_, where, use);
        if (!tls) {
            return tls.error();
        }
        made->tls = std::move(*tls);
    }
    made->id = context_.next_call_id();
    return made;
}

result<void> socket::bind_network(const endpoint& where, std::string_view address) {
    bindings_.reserve_one(); // So that nothing fails once the listener runs.
    meter_->reserve_one();
    const auto tell_failed = [&](errc error) {
        monitored_->on_connection_event(connection_event::bind_failed, static_cast<int>(error),
                                        at_bound(address.substr(address.find("://") + 3)));
        return error;
    };
    const auto made = make_call(where, endpoint_use::listen);
    if (!made) {
        return tell_failed(made.error());
    }
    const std::shared_ptr<session::endpoint_call>& call = *made;
    const transport::listener::accept_handler accept =
        [call, &owner = context_](int descriptor, transport::counted_connection_ptr who) {
            if (call->observer->watches(connection_event::accepted)) {
                const std::string local = transport::local_endpoint_text(descriptor, call->where);
                const std::string peer = call->observer->wants_both_ends()
                                             ? transport::peer_endpoint_text(
                                                   transport::peer_address(descriptor), call->where)
                                             : std::string{};
                call->observer->on_connection_event(connection_event::accepted, descriptor,
                                                    {local, local, peer});
            }
            begin_session(owner, call, descriptor, std::move(who));
        };
    result<transport::listening> opened = transport::open_listening(where, options_, *monitored_);
    if (!opened) {
        return tell_failed(opened.error());
    }
    runtime::io_thread& thread = context_.choose_thread(options_.affinity);
    options_.use_descriptor = -1; // Now owned by the listener.
    boost::intrusive_ptr<transport::listener> listener;
    try {
        listener.reset(new transport::listener(thread.context(), *opened, call->options, monitored_,
                                               departures_, call->counters));
    } catch (...) {
        close_descriptor(opened->descriptor);
        throw;
    }
    binding added{
        opened->endpoint_text, {}, call->id, where.via, true, listener, &thread, {}, call->tls};
    if (!has_wildcard(where)) {
        added.spelling = address;
    }
    endpoint_meter measured{call->id, added.address, where.via, true, call->counters};
    // Moved: a copy could fail for lack of memory, and no caller would learn of it.
    const auto start = [listener, accept = transport::listener::accept_handler(accept)]() mutable {
        listener->start(std::move(accept));
    };
    bindings_.note_endpoint(opened->endpoint_text);
    monitored_->on_connection_event(connection_event::listening, opened->descriptor,
                                    at_bound(added.address));
    tell_expiry(call->tls, at_bound(added.address));
    context_.add_dependant();
    thread.post(start);
    bindings_.add(std::move(added));
    meter_->add(std::move(measured));
    return {};
}

/// The pipe to a session that will outlive its connections; already attached.
/// @return The session's end.
pipe::end_ptr socket::attach_session(const session::endpoint_call& call,
                                     runtime::io_thread& thread) {
    const pipe::pipe_ptr whole{
        new pipe::pipe({.messages_max = pipe::messages_max_of(options_.send_hwm)},
                       {.messages_max = pipe::messages_max_of(options_.recv_hwm)})};
    whole->is_datagram = call.where.via == scheme::udp;
    whole->first.conflate(options_.conflates_sent(), options_.conflates_received());
    pipe::end_ptr sessions_end{whole->second};
    whole->first.call_id = call.id;
    whole->first.arrival = context_.next_arrival();
    whole->first.set_home(mailbox_, nullptr);
    whole->second.set_home(thread.mailbox(), nullptr);
    whole->second.works_in_batches();
    attach(whole->first, opener::us);
    return sessions_end;
}

/// There are no connections to accept: one session receives everything, like one that dials.
result<void> socket::bind_datagrams(const endpoint& where, std::string_view address) {
    if (options_.type == socket_type::dgram && bindings_.begin() != bindings_.end()) {
        set_error_text("a DGRAM is bound to one endpoint");
        return errc::invalid_argument;
    }
    result<transport::bound_datagrams> opened = transport::bind_datagrams(where, options_);
    if (!opened) {
        monitored_->on_connection_event(connection_event::bind_failed,
                                        static_cast<int>(opened.error()),
                                        at_bound(address.substr(address.find("://") + 3)));
        return opened.error();
    }
    runtime::io_thread& thread = context_.choose_thread(options_.affinity);
    std::shared_ptr<session::endpoint_call> call;
    binding added;
    try {
        call = *make_call(opened->where, endpoint_use::listen);
        call->target = opened->where.text();
        added = {call->target, {}, call->id, where.via, true, {}, &thread, {}, {}};
        if (!has_wildcard(where)) {
            added.spelling = address;
        }
    } catch (...) {
        close_descriptor(opened->descriptor);
        throw;
    }
    auto by = transport::make_datagram_dialer(thread.context(), std::move(*opened), call->options,
                                              call->counters);
    start_session(call, std::move(by), std::move(added));
    return {};
}

result<void> socket::connect(std::string_view address) {
    const result<endpoint> where = begin_call(address, endpoint_use::dial);
    if (!where) {
        return where.error();
    }
    const result<void> connected = where->via == scheme::inproc ? connect_inproc(*where, address)
                                   : is_connected_already(address)
                                       ? result<void>{}
                                       : connect_network(*where, address);
    if (connected) {
        mailbox_->signal(); // ZMQ_EVENTS may have changed.
    }
    return connected;
}

result<std::uint32_t> socket::connect_peer(std::string_view address) {
    if (options_.type != socket_type::peer) {
        set_error_text("zlink_connect_peer is for ZLINK_PEER sockets only");
        return errc::not_supported;
    }
    if (options_.immediate) {
        set_error_text("with ZLINK_IMMEDIATE 1 the peer's id is unknown until it connects");
        return errc::bad_address;
    }
    if (const result<void> connected = connect(address); !connected) {
        return connected.error();
    }
    return static_cast<server&>(*pattern_).newest_id();
}

result<void> socket::connect_inproc(const endpoint& where, std::string_view address) {
    const std::uint64_t sends_max = pipe::messages_max_of(options_.send_hwm);
    const std::uint64_t recvs_max = pipe::messages_max_of(options_.recv_hwm);
    // The binder adds its own limits when it is known.
    const pipe::pipe_ptr joined{new pipe::pipe({.messages_max = sends_max}, {})};
    joined->is_inproc = true;
    joined->first.in.add_reader_limit(recvs_max);
    joined->first.conflate(options_.conflates_sent(), false);
    joined->first.wants_newest = options_.conflates_received();
    joined->first.call_id = context_.next_call_id();
    joined->first.arrival = joined->second.arrival = context_.next_arrival();
    joined->first.set_home(mailbox_, nullptr);
    joined->first.push_control(pipe::make_peer_info(options_.routing_id));
    if (options_.says_hello()) {
        joined->first.send_message(options_.hello_message);
    }
    std::string text{address};
    meter_->reserve_one();
    endpoint_meter measured{joined->first.call_id, text, scheme::inproc, false, {}};
    bindings_.add({text, {}, joined->first.call_id, scheme::inproc, false, {}, {}, joined, {}});
    peer* added = nullptr;
    try {
        added = &attach(joined->first, opener::us);
        context_.connect_inproc(where.path, joined);
    } catch (...) {
        if (added != nullptr) {
            destroy(*added);
        }
        bindings_.remove_last();
        throw;
    }
    meter_->add(std::move(measured));
    bindings_.note_endpoint(std::move(text));
    return {};
}

result<void> socket::connect_network(const endpoint& where, std::string_view address) {
    if (where.via == scheme::udp) {
        const result<void> checked = transport::check_datagram_target(where, options_);
        if (!checked) {
            return checked.error();
        }
    }
    if (options_.lacks_security) {
        set_error_text(lacks_security_text);
        return errc::permission_denied;
    }
    if (!options_.socks_proxy.empty() && !transport::socks_proxy_of(options_)) {
        const std::string why = error_text();
        set_error_text("ZLINK_SOCKS_PROXY \"" + options_.socks_proxy + "\": " + why);
        return errc::invalid_argument;
    }
    runtime::io_thread& thread = context_.choose_thread(options_.affinity);
    auto made = make_call(where, endpoint_use::dial);
    if (!made) {
        return made.error();
    }
    std::shared_ptr<session::endpoint_call> call = std::move(*made);
    call->target = where.text();
    auto by = transport::make_dialer(thread.context(), where, call->options, call->observer,
                                     call->counters);
    tell_expiry(call->tls, at_dialled(call->target));
    start_session(call, std::move(by),
                  {std::string{address}, {}, call->id, where.via, false, {}, &thread, {}, {}});
    return {};
}

/// Adds a call with a session that connects through `by`.
void socket::start_session(const std::shared_ptr<session::endpoint_call>& call,
                           transport::dialer_ptr by, binding added) {
    meter_->reserve_one();
    std::string text = added.address;
    endpoint_meter measured{call->id, text, added.via, added.listens, call->counters};
    runtime::io_thread& thread = *added.thread;
    pipe::end_ptr sessions_end;
    if (added.listens || !options_.has_pipe_per_connection()) {
        sessions_end = attach_session(*call, thread);
    }
    bindings_.add(std::move(added));
    context_.add_dependant();
    try {
        session::session::dial(thread, call, std::move(by), std::move(sessions_end));
    } catch (...) {
        context_.on_session_gone();
        bindings_.remove_last();
        throw;
    }
    meter_->add(std::move(measured));
    bindings_.note_endpoint(std::move(text));
}

result<void> socket::reload_certificates() {
    set_error_text({});
    if (const result<void> processed = process_mail(); !processed) {
        return processed.error();
    }
    const auto has_none = [](const binding& each) { return !each.tls; };
    if (std::all_of(bindings_.begin(), bindings_.end(), has_none)) {
        set_error_text("ZLINK_TLS_RELOAD: no endpoint is bound with TLS");
        return errc::no_such_endpoint;
    }
    std::vector<transport::tls_rules> read;
    for (const binding& each : bindings_) {
        if (each.tls) {
            result<transport::tls_rules> rules = each.tls->read(options_);
            if (!rules) {
                return rules.error();
            }
            read.push_back(std::move(*rules));
        }
    }
    auto next = read.begin();
    for (const binding& each : bindings_) {
        if (each.tls) {
            each.tls->adopt(std::move(*next++));
            tell_expiry(each.tls, at_bound(each.address));
        }
    }
    return {};
}

} // namespace zlink::socket
