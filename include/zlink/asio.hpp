// SPDX-License-Identifier: MPL-2.0
//
// Sockets of zlink in programs with Boost.Asio: asynchronous operations with any completion token.
// With ZLINK_ASIO_STANDALONE defined, Asio without Boost is used.
#pragma once

#include <zlink/zlink.hpp>

#ifdef ZLINK_ASIO_STANDALONE
#include <asio/any_io_executor.hpp>
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/bind_allocator.hpp>
#include <asio/dispatch.hpp>
#include <asio/error.hpp>
#include <asio/execution_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/prefer.hpp>
#include <system_error>
namespace zlink::asio {
namespace net = ::asio;
using error_code = std::error_code;
using error_category = std::error_category;
using error_condition = std::error_condition;
inline const error_category& system_errors() noexcept {
    return std::system_category();
}
inline const error_category& generic_errors() noexcept {
    return std::generic_category();
}
} // namespace zlink::asio
#else
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/system/error_code.hpp>
namespace zlink::asio {
namespace net = boost::asio;
using error_code = boost::system::error_code;
using error_category = boost::system::error_category;
using error_condition = boost::system::error_condition;
inline const error_category& system_errors() noexcept {
    return boost::system::system_category();
}
inline const error_category& generic_errors() noexcept {
    return boost::system::generic_category();
}
} // namespace zlink::asio
#endif

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace zlink::asio {

namespace detail {

class own_category final : public error_category {
public:
    const char* name() const noexcept override { return "zlink"; }
    std::string message(int number) const override { return zlink_strerror(number); }
};

/// An error of zlink as Asio's programs expect it: with the system's category, unless errno has no
/// such number.
inline error_code to_asio(const std::error_code& error) noexcept {
    static const own_category own;
    if (!error) {
        return {};
    }
    return {error.value(), error.value() > ZLINK_HAUSNUMERO
                               ? static_cast<const error_category&>(own)
                               : system_errors()};
}

enum class direction : unsigned char { receive, send };

/// An operation that waits until it can be performed. One at a time in each direction.
class operation {
public:
    /// What is to be done once it is taken off the socket.
    enum class outcome : unsigned char { waits, is_over };

    virtual ~operation() = default;
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    /// Tries to do it, without blocking.
    virtual outcome attempt() noexcept = 0;
    /// Calls state::run_attempt() on the handler's executor.
    /// @param may_run_now  Else never from within this call.
    virtual void schedule(bool may_run_now) = 0;
    /// Passes the outcome to the handler, and destroys this. On the handler's executor.
    virtual void complete() = 0;
    /// Does that with `already_started`, later.
    virtual void refuse() = 0;
    /// Destroys this without calling the handler.
    virtual void destroy() noexcept = 0;

    bool is_scheduled = false; ///< run_attempt() follows.
    bool is_cancelled = false;
    std::uint64_t serial = 0; ///< For cancel().

protected:
    operation() = default;
};

struct destroyer {
    void operator()(operation* which) const noexcept { which->destroy(); }
};
using operation_ptr = std::unique_ptr<operation, destroyer>;

class state_base;

/// The sockets of an execution context. Outlives it where a thread of another context is still
/// about to let go of a socket.
class registry {
public:
    void add(state_base& added);
    void remove(state_base& removed) noexcept;
    /// Destroys the operations of all sockets.
    void destroy_operations() noexcept;

private:
    std::mutex mutex_;
    state_base* first_ = nullptr;
};

/// Destroys the operations of an execution context's sockets when it ends, since a handler may own
/// the socket that owns the handler.
class registry_service final : public net::execution_context::service {
public:
    using key_type = registry_service;
    static inline net::execution_context::id id;

    explicit registry_service(net::execution_context& owner)
        : service(owner), sockets(std::make_shared<registry>()) {}

    const std::shared_ptr<registry> sockets;

private:
    void shutdown() noexcept override { sockets->destroy_operations(); }
};

/// What waits for a socket.
///
/// @threads Any. The socket is used under the mutex.
class state_base : public std::enable_shared_from_this<state_base> {
public:
    /// @param reports_readiness  An operation that may_succeed() denies can only wait.
    state_base(net::execution_context& runs_in, bool reports_readiness)
        : reports_readiness_(reports_readiness),
          registry_(net::use_service<registry_service>(runs_in).sockets) {
        registry_->add(*this);
    }
    virtual ~state_base() { registry_->remove(*this); }
    state_base(const state_base&) = delete;
    state_base& operator=(const state_base&) = delete;

    /// A number for an operation that will be started.
    std::uint64_t next_serial() noexcept {
        return serial_.fetch_add(1, std::memory_order_relaxed) + 1;
    }

    /// @throws std::bad_alloc
    void start(direction which, operation_ptr started) {
        const std::lock_guard lock{mutex_};
        operation_ptr& place = waiting(which);
        if (place) {
            return started.release()->refuse();
        }
        if (reports_readiness_ && !may_succeed(which)) {
            place = std::move(started); // on_notified() follows.
            return;
        }
        started->schedule(false); // It runs once the lock is released.
        started->is_scheduled = true;
        place = std::move(started);
    }

    /// Performs the operation, or lets it wait.
    ///
    /// Once the operation is over, so may be the execution context: the caller's hold on the socket
    /// ends before that.
    static void run_attempt(std::shared_ptr<state_base> self, direction which) {
        operation_ptr done;
        {
            const std::lock_guard lock{self->mutex_};
            operation_ptr& place = self->waiting(which);
            if (!place) {
                return; // Destroyed, as the context ends.
            }
            place->is_scheduled = false;
            if (!place->is_cancelled && !self->performs(*place, which)) {
                self.reset(); // The operation holds it, too.
                return;
            }
            done = std::move(place);
        }
        self.reset();
        done.release()->complete();
    }

    /// Cancels the operation with that number, unless it is over.
    void cancel(direction which, std::uint64_t serial) {
        const std::lock_guard lock{mutex_};
        if (operation* const found = waiting(which).get();
            found != nullptr && found->serial == serial) {
            cancel(*found);
        }
    }
    void cancel_all() {
        const std::lock_guard lock{mutex_};
        for (const direction which : {direction::receive, direction::send}) {
            if (operation* const found = waiting(which).get(); found != nullptr) {
                cancel(*found);
            }
        }
    }

    /// On the socket's executor, after zlink has called on_notified().
    void on_change() {
        operation* ready[2] = {};
        {
            const std::lock_guard lock{mutex_};
            for (const direction which : {direction::receive, direction::send}) {
                operation* const found = waiting(which).get();
                if (found != nullptr && !std::exchange(found->is_scheduled, true)) {
                    ready[static_cast<int>(which)] = found;
                }
            }
        }
        // A scheduled operation stays until it has run.
        for (operation* const each : ready) {
            if (each != nullptr) {
                each->schedule(true);
            }
        }
    }

    /// Called by zlink, on any thread.
    static void on_notified(void* hint) noexcept {
        for (bool is_posted = false; !is_posted;) {
            try {
                static_cast<state_base*>(hint)->post_change();
                is_posted = true;
            } catch (const std::bad_alloc&) {
                std::this_thread::yield(); // Else an operation would wait for ever.
            }
        }
    }

    std::mutex& mutex() noexcept { return mutex_; }

protected:
    /// Calls on_change() on the socket's executor.
    virtual void post_change() = 0;
    /// Allows the next call of on_notified(): changes after this are notified.
    /// @return False: the operation would have to wait.
    virtual bool may_succeed(direction which) noexcept = 0;

private:
    friend class registry;

    operation_ptr& waiting(direction which) noexcept { return waiting_[static_cast<int>(which)]; }

    /// @return Whether it is over; otherwise on_notified() will be called when that may change.
    bool performs(operation& tried, direction which) noexcept {
        return tried.attempt() == operation::outcome::is_over ||
               (may_succeed(which) && tried.attempt() == operation::outcome::is_over);
    }

    static void cancel(operation& which) {
        which.is_cancelled = true;
        if (!which.is_scheduled) {
            which.schedule(false);
            which.is_scheduled = true;
        }
    }

    void destroy_all() noexcept {
        operation_ptr taken[2];
        {
            const std::lock_guard lock{mutex_};
            taken[0] = std::move(waiting_[0]);
            taken[1] = std::move(waiting_[1]);
        }
    }

    const bool reports_readiness_;
    const std::shared_ptr<registry> registry_;
    state_base* next_ = nullptr; ///< In the registry, as `previous_`.
    state_base* previous_ = nullptr;
    std::mutex mutex_;
    operation_ptr waiting_[2];
    std::atomic<std::uint64_t> serial_{0};
};

inline void registry::add(state_base& added) {
    const std::lock_guard lock{mutex_};
    added.next_ = first_;
    if (first_ != nullptr) {
        first_->previous_ = &added;
    }
    first_ = &added;
}

inline void registry::remove(state_base& removed) noexcept {
    const std::lock_guard lock{mutex_};
    if (removed.previous_ != nullptr) {
        removed.previous_->next_ = removed.next_;
    } else if (first_ == &removed) {
        first_ = removed.next_;
    }
    if (removed.next_ != nullptr) {
        removed.next_->previous_ = removed.previous_;
    }
}

inline void registry::destroy_operations() noexcept {
    while (true) {
        std::shared_ptr<state_base> held;
        {
            const std::lock_guard lock{mutex_};
            for (state_base* each = first_; each != nullptr && !held; each = each->next_) {
                const std::lock_guard waiting{each->mutex_};
                if (each->waiting_[0] || each->waiting_[1]) {
                    held = each->weak_from_this().lock();
                }
            }
        }
        if (!held) {
            return;
        }
        held->destroy_all(); // May destroy sockets, and so remove them here.
    }
}

/// What waits for a socket of one type.
template<class Socket, class Executor>
class state final : public state_base {
public:
    state(const Executor& runs_on, Socket&& taken)
        : state_base(net::query(runs_on, net::execution::context), reports_readiness),
          executor(runs_on), socket(std::move(taken)) {
        zlink::detail::unwrap(
            socket.notify(&state_base::on_notified, static_cast<state_base*>(this)));
    }

    const Executor executor;
    Socket socket;

private:
    void post_change() override {
        if (std::shared_ptr<state_base> self = weak_from_this().lock()) {
            net::post(executor, [self = std::move(self)] { self->on_change(); });
        }
    }
    bool may_succeed(direction which) noexcept override {
        const auto now = socket.ready();
        return !now || (which == direction::receive ? now->can_receive : now->can_send);
    }

    // Calls of REQ and REP out of turn fail at once, and readiness does not tell.
    static constexpr bool reports_readiness =
        Socket::type != pattern::req && Socket::type != pattern::rep;
};

/// Passes a value to a handler behind the error; none for void.
template<class Value>
struct delivered {
    using signature = void(error_code, Value);
    Value value{};
    template<class Handler>
    static void call(Handler& handler, const error_code& error, delivered&& made) {
        std::move(handler)(error, std::move(made.value));
    }
};
template<>
struct delivered<void> {
    using signature = void(error_code);
    template<class Handler>
    static void call(Handler& handler, const error_code& error, delivered&&) {
        std::move(handler)(error);
    }
};

/// An operation with its handler.
/// @tparam Action  Called with the socket and the delivered value; returns the error, EAGAIN if it
///                 would block.
template<class State, class Value, class Action, class Handler>
class handled_operation final : public operation {
    using executor_type = net::associated_executor_t<Handler, decltype(State::executor)>;
    using allocator_type = typename std::allocator_traits<
        net::associated_allocator_t<Handler>>::template rebind_alloc<handled_operation>;
    // While it waits, neither context runs out of work.
    using work_type = std::decay_t<decltype(net::prefer(std::declval<const executor_type&>(),
                                                        net::execution::outstanding_work.tracked))>;
    using own_work_type = std::decay_t<decltype(net::prefer(
        std::declval<decltype((State::executor))>(), net::execution::outstanding_work.tracked))>;

public:
    /// @throws std::bad_alloc
    static operation_ptr make(std::shared_ptr<State> of, direction which, Action&& action,
                              Handler&& handler) {
        allocator_type allocator{net::get_associated_allocator(handler)};
        handled_operation* const room =
            std::allocator_traits<allocator_type>::allocate(allocator, 1);
        try {
            return operation_ptr(new (room) handled_operation(
                std::move(of), which, std::move(action), std::move(handler)));
        } catch (...) {
            std::allocator_traits<allocator_type>::deallocate(allocator, room, 1);
            throw;
        }
    }

    outcome attempt() noexcept override {
        try {
            const std::error_code failed = action_(state_->socket, made_);
            if (zlink::is_again(failed)) {
                return outcome::waits;
            }
            error_ = to_asio(failed);
        } catch (const std::bad_alloc&) {
            error_ = to_asio({ENOMEM, zlink::category()});
        }
        return outcome::is_over;
    }

    void schedule(bool may_run_now) override {
        auto run = net::bind_allocator(net::get_associated_allocator(handler_),
                                       [state = state_, which = which_]() mutable {
                                           State::run_attempt(std::move(state), which);
                                       });
        const executor_type runs_on = executor_; // This may be destroyed meanwhile.
        if (may_run_now) {
            net::dispatch(runs_on, std::move(run));
        } else {
            net::post(runs_on, std::move(run));
        }
    }

    void refuse() override {
        error_ = net::error::already_started;
        const executor_type runs_on = executor_;
        auto allocator = net::get_associated_allocator(handler_);
        net::post(runs_on, net::bind_allocator(allocator, [self = operation_ptr(this)]() mutable {
                      self.release()->complete();
                  }));
    }

    void complete() override {
        Handler handler{std::move(handler_)};
        const error_code error = is_cancelled ? error_code(net::error::operation_aborted) : error_;
        delivered<Value> made{std::move(made_)};
        const work_type work{std::move(work_)};
        destroy_with(handler);
        if (auto slot = net::get_associated_cancellation_slot(handler); slot.is_connected()) {
            slot.clear();
        }
        delivered<Value>::call(handler, error, std::move(made));
    }

    void destroy() noexcept override {
        const Handler handler{std::move(handler_)};
        destroy_with(handler);
    }

private:
    handled_operation(std::shared_ptr<State> of, direction which, Action&& action,
                      Handler&& handler)
        : which_(which), handler_(std::move(handler)),
          executor_(net::get_associated_executor(handler_, of->executor)),
          work_(net::prefer(executor_, net::execution::outstanding_work.tracked)),
          own_work_(net::prefer(of->executor, net::execution::outstanding_work.tracked)),
          state_(std::move(of)), action_(std::move(action)) {}

    void destroy_with(const Handler& handler) noexcept {
        allocator_type allocator{net::get_associated_allocator(handler)};
        this->~handled_operation();
        std::allocator_traits<allocator_type>::deallocate(allocator, this, 1);
    }

    direction which_;
    Handler handler_;
    executor_type executor_;
    work_type work_;
    own_work_type own_work_;
    std::shared_ptr<State> state_;
    Action action_;
    delivered<Value> made_;
    error_code error_;
};

} // namespace detail

/// A socket of zlink with asynchronous operations.
///
/// One operation may be under way in each direction; a further one ends with already_started. Each
/// tries when its handler's executor gets to it, and takes a message only then: an operation that
/// is cancelled, or loses in `a || b`, has taken none and sent none. Cancellation of any type
/// (terminal, partial, total) ends the operation with operation_aborted. Handlers are never called
/// from within the initiating function, or cancel().
///
/// Errors are those of zlink, and ENOMEM, with the system's category, and for numbers that errno
/// lacks (such as ETERM) one of its own.
///
/// @tparam Socket  zlink::push_socket, zlink::stream_socket, ...
/// @threads  One at a time, as for sockets of Asio: on a context with several threads by a strand.
template<class Socket, class Executor = net::any_io_executor>
class basic_socket {
public:
    using executor_type = Executor;
    using next_layer_type = Socket;
    template<class Other>
    struct rebind_executor {
        using other = basic_socket<Socket, Other>;
    };

    /// @throws std::system_error  As opening a socket.
    basic_socket(const Executor& runs_on, context& owner) : basic_socket(runs_on, Socket(owner)) {}

    template<class ExecutionContext>
    requires std::convertible_to<ExecutionContext&, net::execution_context&>
    basic_socket(ExecutionContext& runs_in, context& owner)
        : basic_socket(Executor(runs_in.get_executor()), owner) {}

    /// Takes over an open socket.
    basic_socket(const Executor& runs_on, Socket&& taken)
        : state_(std::make_shared<state_type>(runs_on, std::move(taken))) {}

    basic_socket(basic_socket&&) noexcept = default;
    basic_socket& operator=(basic_socket&& from) noexcept {
        if (this != &from) {
            close();
            state_ = std::move(from.state_);
        }
        return *this;
    }
    ~basic_socket() { close(); }

    executor_type get_executor() const noexcept { return state_->executor; }

    /// The socket, for everything that does not wait: options, bind(), connect(), and sending with
    /// flags::dont_wait.
    Socket& next_layer() noexcept { return state_->socket; }
    Socket* operator->() noexcept { return &state_->socket; }

    /// Ends all operations with operation_aborted.
    void cancel() {
        if (state_) {
            state_->cancel_all();
        }
    }

    /// Closes the socket; operations end with operation_aborted.
    void close() noexcept {
        if (state_) {
            state_->cancel_all();
            const std::lock_guard lock{state_->mutex()};
            state_->socket.close();
        }
    }

    /// Waits until receiving would not block.
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_wait_receive(Token&& token = Token()) {
        return start<void>(
            detail::direction::receive,
            [](Socket& of, auto&) { return await(of, &readiness::can_receive); },
            std::forward<Token>(token));
    }
    /// Waits until sending would not block.
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_wait_send(Token&& token = Token()) {
        return start<void>(
            detail::direction::send,
            [](Socket& of, auto&) { return await(of, &readiness::can_send); },
            std::forward<Token>(token));
    }

    // Sockets other than STREAM.

    /// Receives a frame: void(error_code, zlink::message).
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_receive(Token&& token = Token()) requires(zlink::detail::receives(Socket::type)) {
        return start<message>(
            detail::direction::receive,
            [](Socket& of, auto& made) { return of.recv(made.value, flags::dont_wait).error(); },
            std::forward<Token>(token));
    }

    /// Receives a frame into `into`, in place of its content: void(error_code, std::size_t).
    /// @param into  Outlives the operation.
    template<class Token = net::default_completion_token_t<Executor>>
    auto
    async_receive_into(message& into,
                       Token&& token = Token()) requires(zlink::detail::receives(Socket::type)) {
        return start<std::size_t>(
            detail::direction::receive,
            [&into](Socket& of, auto& made) {
                return take(of.recv(into, flags::dont_wait), made.value);
            },
            std::forward<Token>(token));
    }

    /// Receives a message of several frames: void(error_code, zlink::multipart).
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_receive_multipart(Token&& token = Token()) requires(
        zlink::detail::receives(Socket::type)) {
        return start<multipart>(
            detail::direction::receive,
            [](Socket& of, auto& made) {
                return take(of.recv_multipart(flags::dont_wait), made.value);
            },
            std::forward<Token>(token));
    }

    /// Receives frames that have arrived, at least one: void(error_code, std::size_t), with their
    /// number.
    /// @param into  Outlives the operation. Not empty.
    template<class Token = net::default_completion_token_t<Executor>>
    auto
    async_receive_batch(std::span<message> into,
                        Token&& token = Token()) requires(zlink::detail::receives(Socket::type)) {
        return start<std::size_t>(
            detail::direction::receive,
            [into](Socket& of, auto& made) -> std::error_code {
                std::error_code failed;
                while (made.value < into.size() && !failed) {
                    failed = of.recv(into[made.value], flags::dont_wait).error();
                    made.value += failed ? 0 : 1;
                }
                return made.value != 0 ? std::error_code{} : failed;
            },
            std::forward<Token>(token));
    }

    /// Sends a frame: void(error_code, std::size_t), with its size.
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_send(message content,
                    Token&& token = Token()) requires(zlink::detail::sends(Socket::type)) {
        return async_send(std::move(content), flags::none, std::forward<Token>(token));
    }
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_send(message content, flags how,
                    Token&& token = Token()) requires(zlink::detail::sends(Socket::type)) {
        return start<std::size_t>(
            detail::direction::send,
            [how, content = std::move(content)](Socket& of, auto& made) mutable {
                return take(of.send(std::move(content), how | flags::dont_wait), made.value);
            },
            std::forward<Token>(token));
    }
    /// Sends a message of several frames: void(error_code).
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_send(multipart frames,
                    Token&& token = Token()) requires(zlink::detail::sends(Socket::type)) {
        return start<void>(
            detail::direction::send,
            [frames = std::move(frames)](Socket& of, auto&) mutable {
                return of.send(std::move(frames), flags::dont_wait).error();
            },
            std::forward<Token>(token));
    }

    // STREAM.

    /// Receives a message, event or request: void(error_code, zlink::stream_event).
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_receive(Token&& token = Token()) requires(Socket::type == pattern::stream) {
        return start<stream_event>(
            detail::direction::receive,
            [](Socket& of, auto& made) { return take(of.recv(flags::dont_wait), made.value); },
            std::forward<Token>(token));
    }

    /// Receives messages without copying them: void(error_code, std::span<stream_message>), those
    /// of `into` that were received. They are valid as stream_socket::recv_batch() says.
    /// @param into  Outlives the operation. Not empty.
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_receive_batch(std::span<stream_message> into,
                             Token&& token = Token()) requires(Socket::type == pattern::stream) {
        return start<std::span<stream_message>>(
            detail::direction::receive,
            [into](Socket& of, auto& made) {
                return take(of.recv_batch(into, flags::dont_wait), made.value);
            },
            std::forward<Token>(token));
    }

    /// Sends a message to a peer: void(error_code, std::size_t), with its size. Waits while the
    /// peer has no room.
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_send(peer_id to, message content,
                    Token&& token = Token()) requires(Socket::type == pattern::stream) {
        return async_send(to, std::move(content), flags::none, std::forward<Token>(token));
    }
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_send(peer_id to, message content, flags how,
                    Token&& token = Token()) requires(Socket::type == pattern::stream) {
        return start<std::size_t>(
            detail::direction::send,
            [to, how, content = std::move(content)](Socket& of, auto& made) mutable {
                return take(of.send(to, std::move(content), how | flags::dont_wait), made.value);
            },
            std::forward<Token>(token));
    }

    /// Sends a region of a file as one binary message: void(error_code). Waits as async_send().
    /// @param file  The caller's; it may be closed once the operation has ended.
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_send_file(peer_id to, int file, std::uint64_t offset, std::uint64_t bytes,
                         Token&& token = Token()) requires(Socket::type == pattern::stream) {
        return start<void>(
            detail::direction::send,
            [to, file, offset, bytes](Socket& of, auto&) {
                return of.send_file(to, file, offset, bytes, flags::dont_wait).error();
            },
            std::forward<Token>(token));
    }

    /// Answers a request: void(error_code). Waits while the client has no room.
    /// @param how  flags::more: parts follow.
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_reply(peer_id to, int status, http_fields fields, message content, flags how,
                     Token&& token = Token()) requires(Socket::type == pattern::stream) {
        return start<void>(
            detail::direction::send,
            [to, status, how, fields = std::move(fields), content = std::move(content)](Socket& of,
                                                                                        auto&) {
                return of.reply(to, status, fields, content, how | flags::dont_wait).error();
            },
            std::forward<Token>(token));
    }
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_reply(peer_id to, int status, http_fields fields, message content,
                     Token&& token = Token()) requires(Socket::type == pattern::stream) {
        return async_reply(to, status, std::move(fields), std::move(content), flags::none,
                           std::forward<Token>(token));
    }
    /// Answers with a region of a file: void(error_code). Waits as async_reply().
    /// @param file  The caller's; it may be closed once the operation has ended.
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_reply_file(peer_id to, int status, http_fields fields, int file,
                          std::uint64_t offset, std::uint64_t bytes,
                          Token&& token = Token()) requires(Socket::type == pattern::stream) {
        return start<void>(
            detail::direction::send,
            [to, status, file, offset, bytes, fields = std::move(fields)](Socket& of, auto&) {
                return of.reply_file(to, status, fields, file, offset, bytes, flags::dont_wait)
                    .error();
            },
            std::forward<Token>(token));
    }
    /// Sends a further part of an answer: void(error_code). Waits as async_reply().
    /// @param how  flags::more: another one follows.
    template<class Token = net::default_completion_token_t<Executor>>
    auto async_reply_part(peer_id to, message content, flags how,
                          Token&& token = Token()) requires(Socket::type == pattern::stream) {
        return start<void>(
            detail::direction::send,
            [to, how, content = std::move(content)](Socket& of, auto&) {
                return of.reply_part(to, content, how | flags::dont_wait).error();
            },
            std::forward<Token>(token));
    }

private:
    using state_type = detail::state<Socket, Executor>;

    template<class Value>
    static std::error_code take(result<Value> from, Value& into) noexcept {
        if (from) {
            into = std::move(*from);
        }
        return from.error();
    }

    static std::error_code await(Socket& of, bool readiness::*which) noexcept {
        const result<readiness> now = of.ready();
        if (!now) {
            return now.error();
        }
        return (*now).*which ? std::error_code{} : std::error_code{EAGAIN, category()};
    }

    /// Starts an operation once the token asks for it.
    template<class Value, class Action>
    struct initiation {
        using executor_type = Executor;
        executor_type get_executor() const noexcept { return state->executor; }

        template<class Handler>
        void operator()(Handler&& handler, Action action) const {
            using handler_type = std::decay_t<Handler>;
            using made = detail::handled_operation<state_type, Value, Action, handler_type>;
            handler_type own{std::forward<Handler>(handler)};
            auto slot = net::get_associated_cancellation_slot(own);
            detail::operation_ptr started =
                made::make(state, which, std::move(action), std::move(own));
            started->serial = state->next_serial();
            if (slot.is_connected()) {
                // Before it starts: it may be over, and the slot gone, once start() has returned.
                slot.assign([weak = std::weak_ptr<state_type>(state), to = which,
                             serial = started->serial](net::cancellation_type kind) {
                    const auto found = weak.lock();
                    if (kind != net::cancellation_type::none && found) {
                        found->cancel(to, serial);
                    }
                });
            }
            state->start(which, std::move(started));
        }

        std::shared_ptr<state_type> state;
        detail::direction which;
    };

    template<class Value, class Action, class Token>
    auto start(detail::direction which, Action&& action, Token&& token) {
        return net::async_initiate<Token, typename detail::delivered<Value>::signature>(
            initiation<Value, std::decay_t<Action>>{state_, which}, token,
            std::forward<Action>(action));
    }

    std::shared_ptr<state_type> state_;
};

using pair_socket = basic_socket<zlink::pair_socket>;
using pub_socket = basic_socket<zlink::pub_socket>;
using sub_socket = basic_socket<zlink::sub_socket>;
using req_socket = basic_socket<zlink::req_socket>;
using rep_socket = basic_socket<zlink::rep_socket>;
using dealer_socket = basic_socket<zlink::dealer_socket>;
using router_socket = basic_socket<zlink::router_socket>;
using pull_socket = basic_socket<zlink::pull_socket>;
using push_socket = basic_socket<zlink::push_socket>;
using xpub_socket = basic_socket<zlink::xpub_socket>;
using xsub_socket = basic_socket<zlink::xsub_socket>;
using raw_stream_socket = basic_socket<zlink::raw_stream_socket>;
using stream_socket = basic_socket<zlink::stream_socket>;

/// Does the I/O of a context without I/O threads on an executor: one thread, and one reactor, for
/// zlink and everything else of the program.
///
/// @threads The executor's; one at a time.
class reactor {
public:
    /// @param driven  A context with 0 I/O threads, which outlives this.
    /// @throws std::system_error  The context has I/O threads.
    reactor(const net::any_io_executor& runs_on, context& driven)
        : waits_(std::make_shared<waiting>(runs_on, driven)) {
        waits_->wait(waits_);
    }
    template<class ExecutionContext>
    requires std::convertible_to<ExecutionContext&, net::execution_context&>
    reactor(ExecutionContext& runs_in, context& driven)
        : reactor(net::any_io_executor(runs_in.get_executor()), driven) {}

    reactor(reactor&&) noexcept = default;
    reactor& operator=(reactor&&) = delete;
    ~reactor() { stop(); }

    /// Ends. While it has not ended the execution context does not run out of work.
    void stop() noexcept {
        if (waits_) {
            waits_->stop();
        }
    }

private:
    struct waiting {
        waiting(const net::any_io_executor& runs_on, context& driven)
            : context(&driven), descriptor(runs_on, zlink::detail::unwrap(driven.descriptor())) {}
        ~waiting() { stop(); }

        void wait(const std::shared_ptr<waiting>& self) {
            descriptor.async_wait(descriptor.wait_read, [self](const error_code& failed) {
                if (!failed && self->context != nullptr && self->context->run_ready()) {
                    self->wait(self);
                }
            });
        }
        /// The descriptor belongs to the context, and stays open.
        void stop() noexcept {
            context = nullptr;
            if (descriptor.is_open()) {
                descriptor.release();
            }
        }

        zlink::context* context;
        net::posix::stream_descriptor descriptor;
    };

    std::shared_ptr<waiting> waits_;
};

} // namespace zlink::asio
