// SPDX-License-Identifier: MPL-2.0
#include "transport/dialer.hpp"

#include "base/limits.hpp"
#include "base/own_descriptors.hpp"
#include "runtime/one_shot.hpp"
#include "runtime/post.hpp"
#include "transport/address.hpp"
#include "transport/datagram_socket.hpp"
#include "transport/datagram_stream.hpp"
#include "transport/descriptor_stream.hpp"
#include "transport/name_lookup.hpp"
#include "transport/socks_dialer.hpp"

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstdint>
#include <list>
#include <new>
#include <utility>
#include <vector>

namespace zlink::transport {

using boost::asio::posix::stream_descriptor;

namespace {

/// Tries the addresses of a name in turn, and does not wait long for one before it tries the next;
/// the first established connection is used.
class descriptor_dialer final : public dialer {
public:
    descriptor_dialer(boost::asio::io_context& reactor, endpoint target, std::string target_text,
                      std::shared_ptr<const socket_options> options,
                      std::shared_ptr<connection_observer> observer,
                      std::shared_ptr<connection_counters> counters = {})
        : reactor_(reactor), target_(std::move(target)), target_text_(std::move(target_text)),
          options_(std::move(options)), observer_(std::move(observer)),
          counters_(std::move(counters)) {}
    ~descriptor_dialer() override { give_up_connecting(); }

    void start(outcome_handler handler) override;
    void stop() noexcept override;

private:
    /// A connection that is not established yet.
    struct connecting {
        stream_descriptor socket;
        std::uint64_t number;
    };

    template<class Action>
    void guarded(Action&& action);
    void attempt();
    void resolve();
    void try_each(std::vector<socket_address> addresses);
    void try_next();
    void on_next_due() noexcept;
    result<int> connect(const socket_address& address);
    result<void> await(int descriptor);
    void on_writable(std::uint64_t number);
    void finish_connected(int descriptor);
    void open_datagrams(const socket_address& to);
    void finish(result<int> outcome);
    void hand_over(stream_ptr connected);
    outcome_handler end_attempt() noexcept;
    errc give_up(int descriptor, int error) const noexcept;
    void give_up_connecting() noexcept;
    void tell(connection_event what, std::int32_t value) const noexcept;
    result<void> bind_source(int descriptor, int family);

    boost::asio::io_context& reactor_;
    endpoint target_;
    std::string target_text_; ///< For the observer.
    std::shared_ptr<const socket_options> options_;
    std::shared_ptr<connection_observer> observer_;
    std::shared_ptr<connection_counters> counters_;
    outcome_handler handler_;
    name_lookup lookup_;
    std::vector<socket_address> addresses_;
    std::size_t next_address_ = 0;
    std::list<connecting> connecting_;
    errc last_error_ = errc::host_unreachable; ///< Of the address that failed last.
    runtime::one_shot next_timer_;             ///< While an address is left to try.
    std::uint64_t attempt_count_ = 0;
    std::uint64_t connecting_count_ = 0;
};

void descriptor_dialer::start(outcome_handler handler) {
    handler_ = std::move(handler);
    ++attempt_count_;
    runtime::post(reactor_,
                  [self = boost::intrusive_ptr<descriptor_dialer>(this), attempt = attempt_count_] {
                      if (self->handler_ && attempt == self->attempt_count_) {
                          self->guarded([&] { self->attempt(); });
                      }
                  });
}

void descriptor_dialer::attempt() {
    if (target_.via == scheme::ipc) {
        const result<socket_address> address = unix_address(target_.path);
        return address ? try_each({*address}) : finish(address.error());
    }
    if (const auto address = local_address(target_.address, options_->ipv6)) {
        return try_each({*address});
    }
    resolve();
}

/// Runs `action`; if there is no memory for it, the attempt ends.
template<class Action>
void descriptor_dialer::guarded(Action&& action) {
    try {
        action();
    } catch (const std::bad_alloc&) {
        if (handler_) {
            finish(errc::no_memory);
        }
    }
}

void descriptor_dialer::stop() noexcept {
    handler_ = nullptr;
    lookup_.cancel();
    give_up_connecting();
}

/// Cancels the connections that are not established yet.
void descriptor_dialer::give_up_connecting() noexcept {
    next_timer_.stop();
    for (connecting& each : connecting_) {
        give_up(each.socket.release(), ECANCELED);
    }
    connecting_.clear();
}

void descriptor_dialer::resolve() {
    const auto started = lookup_.start(reactor_, target_.address.host, options_->ipv6,
                                       [self = boost::intrusive_ptr<descriptor_dialer>(this)](
                                           const result<std::vector<socket_address>>& found) {
                                           self->guarded([&] {
                                               if (!found) {
                                                   return self->finish(found.error());
                                               }
                                               std::vector<socket_address> addresses = *found;
                                               for (socket_address& each : addresses) {
                                                   set_port(each, self->target_.address.port);
                                               }
                                               self->try_each(std::move(addresses));
                                           });
                                       });
    if (!started) {
        finish(started.error());
    }
}

void descriptor_dialer::try_each(std::vector<socket_address> addresses) {
    addresses_ = std::move(addresses);
    next_address_ = 0;
    try_next();
}

/// Tries the next addresses until one is under way, or the last one failed.
void descriptor_dialer::try_next() {
    next_timer_.stop();
    while (next_address_ < addresses_.size()) {
        const socket_address& address = addresses_[next_address_++];
        if (target_.via == scheme::udp) {
            return open_datagrams(address);
        }
        const result<int> connected = connect(address);
        if (connected) {
            return finish_connected(*connected);
        }
        if (connected.error() == static_cast<errc>(EINPROGRESS)) {
            break;
        }
        last_error_ = connected.error();
    }
    if (connecting_.empty()) {
        return finish(last_error_);
    }
    if (next_address_ < addresses_.size()) {
        next_timer_.start(reactor_, limits::next_address_after,
                          boost::intrusive_ptr<descriptor_dialer>(this),
                          &descriptor_dialer::on_next_due);
    }
}

/// Nothing tells whether somebody receives there: only the first address of a name is used.
void descriptor_dialer::open_datagrams(const socket_address& to) {
    const result<int> opened = open_datagram_sender(target_, to, *options_);
    if (!opened) {
        return finish(opened.error());
    }
    hand_over(make_datagram_stream(reactor_, *opened,
                                   {.to = to, .is_addressed = false, .counters = counters_}));
}

void descriptor_dialer::on_next_due() noexcept {
    guarded([this] { try_next(); });
}

result<void> descriptor_dialer::bind_source(int descriptor, int family) {
    if (!target_.source) {
        return {};
    }
    const auto source = local_address(*target_.source, family == AF_INET6);
    if (!source || source->family() != family) {
        return errc::invalid_argument;
    }
    const int on = 1;
    ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(descriptor, source->get(), source->bytes) != 0) {
        return static_cast<errc>(errno);
    }
    return {};
}

/// @return A connected descriptor.
/// @error EINPROGRESS  It was added to the connections that are not established yet.
result<int> descriptor_dialer::connect(const socket_address& address) {
    const result<int> opened = open_socket(address.family(), *options_, SOCK_STREAM);
    if (!opened) {
        return opened.error();
    }
    const int descriptor = *opened;
    if (const result<void> bound = bind_source(descriptor, address.family()); !bound) {
        return give_up(descriptor, static_cast<int>(bound.error()));
    }
    if (::connect(descriptor, address.get(), address.bytes) == 0) {
        return is_connected_to_itself(descriptor) ? give_up(descriptor, ECONNREFUSED)
                                                  : result<int>(descriptor);
    }
    if (errno != EINPROGRESS) {
        return give_up(descriptor, errno);
    }
    if (const result<void> awaited = await(descriptor); !awaited) {
        return awaited.error();
    }
    return static_cast<errc>(EINPROGRESS);
}

/// @param descriptor  Taken over; closed if this fails.
result<void> descriptor_dialer::await(int descriptor) {
    const std::uint64_t number = ++connecting_count_;
    try {
        connecting& added =
            connecting_.emplace_back(connecting{stream_descriptor(reactor_), number});
        boost::system::error_code refused;
        added.socket.assign(descriptor, refused);
        if (refused) {
            connecting_.pop_back();
            return give_up(descriptor, refused.value());
        }
        added.socket.async_wait(stream_descriptor::wait_write,
                                [self = boost::intrusive_ptr<descriptor_dialer>(this),
                                 number](const boost::system::error_code& cancelled) {
                                    if (!cancelled) {
                                        self->guarded([&] { self->on_writable(number); });
                                    }
                                });
    } catch (const std::bad_alloc&) {
        if (!connecting_.empty() && connecting_.back().number == number) {
            if (connecting_.back().socket.is_open()) {
                connecting_.back().socket.release();
            }
            connecting_.pop_back();
        }
        give_up(descriptor, ENOMEM);
        throw;
    }
    tell(connection_event::connect_delayed, EINPROGRESS);
    return {};
}

void descriptor_dialer::on_writable(std::uint64_t number) {
    const auto found = std::find_if(connecting_.begin(), connecting_.end(),
                                    [=](const connecting& each) { return each.number == number; });
    if (found == connecting_.end()) {
        return;
    }
    const int connected = found->socket.release();
    connecting_.erase(found);
    int error = 0;
    socklen_t error_bytes = sizeof error;
    if (::getsockopt(connected, SOL_SOCKET, SO_ERROR, &error, &error_bytes) != 0) {
        error = errno;
    }
    if (error == 0 && is_connected_to_itself(connected)) {
        error = ECONNREFUSED;
    }
    if (error != 0) {
        last_error_ = give_up(connected, error);
        return try_next();
    }
    finish_connected(connected);
}

void descriptor_dialer::finish_connected(int descriptor) {
    tune_connection(descriptor, *options_);
    finish(descriptor);
}

/// Closes a descriptor of a failed connection.
/// @return The error.
errc descriptor_dialer::give_up(int descriptor, int error) const noexcept {
    tell(connection_event::closed, descriptor);
    close_descriptor(descriptor);
    return static_cast<errc>(error);
}

void descriptor_dialer::tell(connection_event what, std::int32_t value) const noexcept {
    if (observer_ && observer_->watches(what)) {
        observer_->on_connection_event(what, value, target_text_);
    }
}

/// @param outcome  A connected descriptor, or the error.
void descriptor_dialer::finish(result<int> outcome) {
    if (outcome) {
        return hand_over(make_descriptor_stream(reactor_, *outcome));
    }
    end_attempt()(outcome.error());
}

/// @param connected  Null: the reactor refused it.
void descriptor_dialer::hand_over(stream_ptr connected) {
    end_attempt()(connected ? result<stream_ptr>(std::move(connected)) : errc::no_descriptors);
}

dialer::outcome_handler descriptor_dialer::end_attempt() noexcept {
    give_up_connecting();
    addresses_ = {};
    return std::exchange(handler_, nullptr);
}

} // namespace

result<endpoint> socks_proxy_of(const socket_options& options) {
    return decode_endpoint("tcp://" + options.socks_proxy, endpoint_use::dial);
}

dialer_ptr make_dialer(boost::asio::io_context& reactor, endpoint target,
                       std::shared_ptr<const socket_options> options,
                       std::shared_ptr<connection_observer> observer,
                       std::shared_ptr<connection_counters> counters) {
    std::string text = target.text();
    const bool uses_proxy =
        has_host(target.via) && target.via != scheme::udp && !options->socks_proxy.empty();
    if (!uses_proxy) {
        return dialer_ptr{new descriptor_dialer(reactor, std::move(target), std::move(text),
                                                std::move(options), std::move(observer),
                                                std::move(counters))};
    }
    endpoint proxy = *socks_proxy_of(*options);
    proxy.source = target.source;
    dialer_ptr to_proxy{
        new descriptor_dialer(reactor, std::move(proxy), std::move(text), options, observer)};
    return make_socks_dialer(reactor, std::move(to_proxy), target, std::move(options),
                             std::move(observer));
}

} // namespace zlink::transport
