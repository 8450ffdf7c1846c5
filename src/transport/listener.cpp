// SPDX-License-Identifier: MPL-2.0
#include "transport/listener.hpp"

#include "base/error_text.hpp"
#include "base/limits.hpp"
#include "base/own_descriptors.hpp"
#include "base/retry.hpp"
#include "transport/accept_filter.hpp"
#include "transport/address.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <new>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace zlink::transport {

using boost::asio::posix::stream_descriptor;

namespace {

errc last_error() noexcept {
    return static_cast<errc>(errno);
}

/// @param where  The endpoint that has the address.
result<listening> listen_at(const socket_address& address, const endpoint& where,
                            const socket_options& options, connection_observer& observer) {
    const result<int> created = open_socket(address.family(), options, SOCK_STREAM);
    if (!created) {
        return created.error();
    }
    const int descriptor = *created;
    if (address.family() != AF_UNIX) {
        const int on = 1;
        ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (options.reuse_port &&
            ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) {
            const errc error = last_error();
            close_descriptor(descriptor);
            return error;
        }
    }
    if (::bind(descriptor, address.get(), address.bytes) != 0 ||
        ::listen(descriptor, options.backlog) != 0) {
        const errc error = last_error();
        if (error == errc::no_such_endpoint) { // ENOENT, of a Unix-domain socket only.
            set_error_text("the folder of the socket's file does not exist");
        }
        close_descriptor(descriptor);
        observer.on_connection_event(connection_event::closed, descriptor, {});
        return error;
    }
    try {
        listening opened;
        opened.descriptor = descriptor;
        opened.endpoint_text = local_endpoint_text(descriptor, where);
        return opened;
    } catch (...) {
        close_descriptor(descriptor);
        throw;
    }
}

/// As libzmq, takes over the path of a listener that is gone, and also of one that still runs.
result<listening> listen_at_path(const endpoint& where, const socket_options& options,
                                 connection_observer& observer) {
    const std::string& path = where.path;
    const result<socket_address> address = unix_address(path);
    if (!address) {
        return address.error();
    }
    if (path[0] != '@') {
        struct stat found;
        if (::lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) {
            ::unlink(path.c_str());
        }
    }
    std::string unlink_path = path; // Before a descriptor is open that would have to be closed.
    result<listening> opened = listen_at(*address, where, options, observer);
    if (opened && path[0] != '@') {
        opened->unlink_path = std::move(unlink_path);
        struct stat made;
        if (::lstat(path.c_str(), &made) == 0) {
            opened->file_device = made.st_dev;
            opened->file_number = made.st_ino;
        }
    }
    return opened;
}

/// Takes over a listening descriptor of the application, whatever address `where` has.
result<listening> listen_with(int descriptor, const endpoint& where) {
    int listens = 0;
    socklen_t listens_bytes = sizeof listens;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_bytes) != 0) {
        const errc error = last_error();
        set_error_text("ZLINK_USE_FD is not a socket");
        return error;
    }
    if (listens == 0) {
        set_error_text("ZLINK_USE_FD is not a listening socket");
        return errc::invalid_argument; // It would always be ready, and no peer could connect.
    }
    const int flags = ::fcntl(descriptor, F_GETFL);
    if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0) {
        return last_error();
    }
    listening opened;
    opened.descriptor = descriptor;
    opened.endpoint_text = local_endpoint_text(descriptor, where);
    if (opened.endpoint_text.empty()) {
        return errc::not_a_socket;
    }
    return opened;
}

/// Listens at the first address of a name that is local.
result<listening> listen_at_name(const endpoint& where, const socket_options& options,
                                 connection_observer& observer) {
    const auto found = addresses_of(where.address.host, options.ipv6);
    if (!found) {
        if (found.error() == errc::no_memory) {
            return errc::no_memory;
        }
        set_error_text("there is no interface or host \"" + where.address.host + "\"");
        return static_cast<errc>(ENODEV);
    }
    result<listening> opened = static_cast<errc>(ENODEV);
    for (socket_address each : *found) {
        set_port(each, where.address.port);
        opened = listen_at(each, where, options, observer);
        if (opened || opened.error() != static_cast<errc>(EADDRNOTAVAIL)) {
            break;
        }
    }
    return opened;
}

result<listening> listen_at_chosen_path(const socket_options& options,
                                        connection_observer& observer) {
    const char* const temporary = std::getenv("TMPDIR");
    std::string folder =
        (temporary != nullptr ? std::string{temporary} : std::string{"/tmp"}) + "/zlinkXXXXXX";
    if (::mkdtemp(folder.data()) == nullptr) {
        return last_error();
    }
    endpoint chosen;
    chosen.via = scheme::ipc;
    chosen.path = folder + "/socket";
    result<listening> opened = listen_at_path(chosen, options, observer);
    if (opened) {
        opened->unlink_folder = folder;
    } else {
        ::rmdir(folder.c_str());
    }
    return opened;
}

} // namespace

result<listening> open_listening(const endpoint& where, const socket_options& options,
                                 connection_observer& observer) {
    if (options.use_descriptor >= 0) {
        return listen_with(options.use_descriptor, where);
    }
    if (where.via == scheme::ipc) {
        return where.path == "*" ? listen_at_chosen_path(options, observer)
                                 : listen_at_path(where, options, observer);
    }
    const auto address = local_address(where.address, options.ipv6);
    if (!address) {
        return listen_at_name(where, options, observer);
    }
    result<listening> opened = listen_at(*address, where, options, observer);
    if (!opened && opened.error() == static_cast<errc>(EAFNOSUPPORT) && options.ipv6 &&
        where.address.host == "*") {
        // A system without IPv6 still has its IPv4 wildcard.
        return listen_at(*local_address(where.address, false), where, options, observer);
    }
    return opened;
}

listener::listener(boost::asio::io_context& reactor, listening opened,
                   std::shared_ptr<const socket_options> options,
                   std::shared_ptr<connection_observer> observer, pipe::departures_ptr gone,
                   std::shared_ptr<connection_counters> counters)
    : reactor_(reactor), opened_(std::move(opened)), options_(std::move(options)),
      observer_(std::move(observer)), gone_(std::move(gone)), counters_(std::move(counters)),
      limiter_(make_connection_limiter(*options_)), socket_(reactor), pause_timer_(reactor) {}

listener::~listener() {
    stop();
}

void listener::start(accept_handler handler) noexcept {
    handler_ = std::move(handler);
    watch();
}

void listener::watch() noexcept {
    if (address_is_free_.load(std::memory_order_relaxed)) {
        return;
    }
    boost::system::error_code refused;
    retry_allocation([&] { socket_.assign(opened_.descriptor, refused); });
    if (refused) {
        tell_failed(refused.value());
        return pause();
    }
    wait();
}

void listener::stop() noexcept {
    const int descriptor = std::exchange(opened_.descriptor, -1);
    if (descriptor < 0) {
        return;
    }
    boost::system::error_code ignored;
    {
        const fork_gate::hold held;
        if (socket_.is_open()) {
            forget_descriptor(descriptor);
            socket_.close(ignored);
        } else {
            close_descriptor(descriptor);
        }
    }
    pause_timer_.cancel();
    handler_ = nullptr;
}

void listener::free_address() noexcept {
    remove_file();
    // Before the descriptor is replaced: an accept that fails afterwards finds the flag set.
    address_is_free_.store(true, std::memory_order_seq_cst);
    const int quiet = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (quiet < 0) {
        ::shutdown(opened_.descriptor, SHUT_RDWR); // Another socket that shares the port can
                                                   // listen.
        return;
    }
    ::dup3(quiet, opened_.descriptor, O_CLOEXEC);
    ::close(quiet);
}

void listener::remove_file() const noexcept {
    if (opened_.unlink_path.empty()) {
        return;
    }
    struct stat found;
    if (::lstat(opened_.unlink_path.c_str(), &found) == 0 && found.st_dev == opened_.file_device &&
        found.st_ino == opened_.file_number) {
        ::unlink(opened_.unlink_path.c_str());
    }
    if (!opened_.unlink_folder.empty()) {
        ::rmdir(opened_.unlink_folder.c_str());
    }
}

void listener::wait() noexcept {
    retry_allocation([this] {
        const boost::intrusive_ptr<listener> self{this};
        socket_.async_wait(stream_descriptor::wait_read, [self](const boost::system::error_code&) {
            if (self->handler_) {
                self->accept_some();
            }
        });
    });
}

void listener::accept_some() noexcept {
    for (int count = 0; count < limits::accepts_per_turn && handler_; ++count) {
        if (gone_ && gone_->unreported_count.load(std::memory_order_relaxed) >=
                         limits::unreported_disconnects_max) {
            tell_failed(ENOBUFS);
            return pause();
        }
        const int accepted = open_descriptor([this] {
            return ::accept4(opened_.descriptor, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        });
        if (accepted >= 0) {
            if (options_->lacks_security || !may_stay(accepted, *options_)) {
                close_descriptor(accepted);
                tell_failed(options_->lacks_security ? EACCES : ECONNREFUSED);
                continue;
            }
            tune_connection(accepted, *options_);
            try {
                result<counted_connection_ptr> who = admit(accepted);
                if (!who) {
                    close_descriptor(accepted);
                    tell_failed(static_cast<int>(who.error()));
                    continue;
                }
                handler_(accepted, std::move(*who));
            } catch (const std::bad_alloc&) {
                close_descriptor(accepted);
                tell_failed(ENOMEM);
                return pause();
            }
            continue;
        }
        const int error = errno;
        if (address_is_free_.load(std::memory_order_seq_cst)) {
            return;
        }
        if (error == EAGAIN || error == EWOULDBLOCK) {
            break;
        }
        tell_failed(error);
        if (is_shortage(static_cast<errc>(error))) {
            return pause();
        }
        // Any other error is that of a single connection (accept(2), "Error handling").
    }
    if (handler_) {
        wait();
    }
}

/// @error  As connection_limiter::admit() and counted_connection::count_address().
result<counted_connection_ptr> listener::admit(int descriptor) const {
    if (!limiter_) {
        return counted_connection_ptr{};
    }
    result<counted_connection_ptr> who = connection_limiter::admit(limiter_);
    if (who && !options_->proxy_protocol) {
        if (const result<void> placed = (*who)->count_address(peer_address(descriptor)); !placed) {
            return placed.error();
        }
    }
    return who;
}

void listener::tell_failed(int error) const noexcept {
    if (counters_) {
        counters_->on_event(connection_event::accept_failed, error);
    }
    observer_->on_connection_event(connection_event::accept_failed, error, opened_.endpoint_text);
}

void listener::pause() noexcept {
    pause_timer_.expires_after(limits::shortage_pause);
    const auto go_on =
        [self = boost::intrusive_ptr<listener>(this)](const boost::system::error_code& cancelled) {
            if (cancelled || !self->handler_) {
                return;
            }
            if (self->socket_.is_open()) {
                self->accept_some();
            } else {
                self->watch();
            }
        };
    retry_allocation([&] { pause_timer_.async_wait(go_on); });
}

} // namespace zlink::transport
