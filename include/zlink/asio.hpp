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
#include <asio/execution/bad_executor.hpp>
#include <asio/execution_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/prefer.hpp>
#include <system_error>
namespace zlink::asio {
namespace net = ::asio;
using error_code = std::error_code;
using error_category = std::error_category;
inline const error_category& system_errors() noexcept {
    return std::system_category();
}
inline const error_category& own_errors() noexcept {
    return category();
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
#include <boost/asio/execution/bad_executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/system/error_code.hpp>
namespace zlink::asio {
namespace net = boost::asio;
using error_code = boost::system::error_code;
using error_category = boost::system::error_category;
inline const error_category& system_errors() noexcept {
    return boost::system::system_category();
}
/// The category of zlink's errors that errno has no number for.
inline const error_category& own_errors() noexcept {
    class own_category final : public error_category {
        const char* name() const noexcept override { return "zlink"; }
        std::string message(int number) const override { return zlink_strerror(number); }
    };
    static const own_category only;
    return only;
}
} // namespace zlink::asio

namespace zlink {

inline bool operator==(const asio::error_code& one, errc other) noexcept {
    return one == asio::error_code(static_cast<int>(other), asio::own_errors());
}

} // namespace zlink
#endif

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace zlink::asio {

namespace detail {

/// An error of zlink as Asio's programs expect it: with the system's category, unless errno has no
/// such number.
inline error_code to_asio(const std::error_code& error) noexcept {
    if (!error) {
        return {};
    }
    return {error.value(), error.value() > ZLINK_HAUSNUMERO ? own_errors() : system_errors()};
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

    /// Tries to do it, without blocking. If it waits, on_notified() is called when that may change.
    virtual outcome attempt() noexcept = 0;
    /// Calls state::run_attempt() on the socket's executor.
    /// @param may_run_now  Else never from within this call.
    virtual void schedule(bool may_run_now) = 0;
    /// Passes the outcome to the handler, on its executor, and destroys this. On the socket's
    /// executor.
    virtual void complete() = 0;
    /// Passes it `already_started`, later.
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

/// An object that uses an execution context, and may outlive it.
class dependant {
public:
    virtual ~dependant() = default;
    dependant(const dependant&) = delete;
    dependant& operator=(const dependant&) = delete;

    /// The context ends: nothing of it may be used after this returns.
    virtual void end() noexcept = 0;
    /// An owner of this; null: it is being destroyed.
    virtual std::shared_ptr<void> owner() noexcept = 0;

protected:
    dependant() = default;

private:
    friend class dependants;
    dependant* next_ = nullptr;
    dependant* previous_ = nullptr;
    bool has_ended_ = false;
};

/// Those of one execution context. They hold this, so that one that outlives the context can leave.
class dependants {
public:
    void add(dependant& added) {
        const std::lock_guard lock{mutex_};
        added.next_ = first_;
        if (first_ != nullptr) {
            first_->previous_ = &added;
        }
        first_ = &added;
    }

    void remove(dependant& removed) noexcept {
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

    void end_all() noexcept {
        while (true) {
            dependant* next = nullptr;
            std::shared_ptr<void> held;
            {
                const std::lock_guard lock{mutex_};
                for (next = first_; next != nullptr; next = next->next_) {
                    if (!std::exchange(next->has_ended_, true) && (held = next->owner())) {
                        break;
                    }
                }
            }
            if (next == nullptr) {
                return;
            }
            next->end(); // May destroy others, and so remove them here.
        }
    }

private:
    std::mutex mutex_;
    dependant* first_ = nullptr;
};

/// Tells the dependants of an execution context that it ends: their operations are destroyed, since
/// a handler may own the socket that owns the handler.
class registry final : public net::execution_context::service {
public:
    using key_type = registry;
    static inline net::execution_context::id id;

    explicit registry(net::execution_context& owner) : service(owner) {}

    const std::shared_ptr<dependants>& all() const noexcept { return all_; }

private:
    void shutdown() noexcept override { all_->end_all(); }

    const std::shared_ptr<dependants> all_ = std::make_shared<dependants>();
};

/// What waits for a socket.
///
/// @threads Any. The socket is used under the mutex.
class state_base : public dependant, public std::enable_shared_from_this<state_base> {
public:
    explicit state_base(net::execution_context& runs_in)
        : others_(net::use_service<registry>(runs_in).all()) {
        others_->add(*this);
    }
    ~state_base() override { others_->remove(*this); }

    /// @throws bad_executor  The execution context was destroyed.
    void require_executor() {
        const std::lock_guard lock{mutex_};
        if (is_over_) {
            throw net::execution::bad_executor();
        }
    }

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
        started->schedule(false); // It runs once the lock is released.
        started->is_scheduled = true;
        place = std::move(started);
    }

    /// Performs the operation, or lets it wait. On the socket's executor.
    void run_attempt(direction which) {
        operation_ptr done;
        {
            const std::lock_guard lock{mutex_};
            operation_ptr& place = waiting(which);
            if (!place) {
                return; // Destroyed, as the context ends.
            }
            place->is_scheduled = false;
            if (!place->is_cancelled && place->attempt() == operation::outcome::waits) {
                return;
            }
            done = std::move(place);
        }
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
    /// Calls post_change() no longer, and lets go of the executor. Under the mutex.
    virtual void leave_executor() noexcept = 0;

private:
    operation_ptr& waiting(direction which) noexcept { return waiting_[static_cast<int>(which)]; }

    static void cancel(operation& which) {
        which.is_cancelled = true;
        if (!which.is_scheduled) {
            which.schedule(false);
            which.is_scheduled = true;
        }
    }

    void end() noexcept override {
        operation_ptr taken[2];
        {
            const std::lock_guard lock{mutex_};
            is_over_ = true;
            leave_executor();
            taken[0] = std::move(waiting_[0]);
            taken[1] = std::move(waiting_[1]);
        }
    }
    std::shared_ptr<void> owner() noexcept override { return weak_from_this().lock(); }

    const std::shared_ptr<dependants> others_;
    std::mutex mutex_;
    operation_ptr waiting_[2];
    bool is_over_ = false; ///< The execution context was destroyed, or is about to be.
    std::atomic<std::uint64_t> serial_{0};
};

/// What waits for a socket of one type.
template<class Socket, class Executor>
class state final : public state_base {
public:
    state(const Executor& runs_on, Socket&& taken)
        : state_base(net::query(runs_on, net::execution::context)), executor(runs_on),
          socket(std::move(taken)) {
        zlink::detail::unwrap(
            socket.notify(&state_base::on_notified, static_cast<state_base*>(this)));
    }

    Executor executor; ///< Does not change while the execution context exists.
    Socket socket;

private:
    void leave_executor() noexcept override {
        static_cast<void>(socket.notify(nullptr, nullptr));
        if constexpr (std::is_default_constructible_v<Executor>) {
            executor = Executor(); // A strand's must not outlive the context.
        }
    }

    void post_change() override {
        if (std::shared_ptr<state_base> self = weak_from_this().lock()) {
            net::post(executor, [self = std::move(self)] { self->on_change(); });
        }
    }
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
    using own_work_type =
        std::decay_t<decltype(net::prefer(std::declval<const decltype(State::executor)&>(),
                                          net::execution::outstanding_work.tracked))>;

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
        auto run =
            net::bind_allocator(net::get_associated_allocator(handler_),
                                [state = state_, which = which_] { state->run_attempt(which); });
        const auto& runs_on = state_->executor; // The caller holds it; this may be destroyed.
        if (may_run_now) {
            net::dispatch(runs_on, std::move(run));
        } else {
            net::post(runs_on, std::move(run));
        }
    }

    void refuse() override {
        error_ = net::error::already_started;
        const executor_type runs_on = executor_;
        net::post(runs_on, take_completion());
    }

    void complete() override {
        if (is_cancelled) {
            error_ = net::error::operation_aborted;
        }
        const executor_type runs_on = executor_;
        net::dispatch(runs_on, take_completion());
    }

    void destroy() noexcept override {
        const Handler handler{std::move(handler_)};
        destroy_with(handler);
    }

private:
    struct completion {
        void operator()() {
            if (auto slot = net::get_associated_cancellation_slot(handler); slot.is_connected()) {
                slot.clear();
            }
            delivered<Value>::call(handler, error, std::move(made));
        }

        Handler handler;
        error_code error;
        delivered<Value> made;
        work_type work;
    };

    /// Destroys this.
    auto take_completion() {
        completion taken{std::move(handler_), error_, std::move(made_), std::move(work_)};
        destroy_with(taken.handler);
        auto allocator = net::get_associated_allocator(taken.handler);
        return net::bind_allocator(allocator, std::move(taken));
    }

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
/// is performed on this object's executor just before its handler is called: an operation that is
/// cancelled, or loses in `a || b`, has taken no message and sent none, if the handler has the same
/// executor. To another one the outcome is passed on, and may then be that of a message.
/// Cancellation of any type (terminal, partial, total) ends the operation with operation_aborted.
/// Handlers are never called from within the initiating function, or cancel().
///
/// Errors are those of zlink, and ENOMEM, with the system's category, and for numbers that errno
/// lacks (such as ETERM) zlink's.
///
/// One that was moved from can be closed, cancelled, assigned to and destroyed, nothing else. One
/// whose execution context was destroyed, too; its next_layer() can be used, and its initiating
/// functions throw net::execution::bad_executor.
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
        zlink::detail::receives(Socket::type) && zlink::detail::has_frames(Socket::type)) {
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
                    Token&& token = Token()) requires(zlink::detail::sends(Socket::type) &&
                                                      zlink::detail::has_frames(Socket::type)) {
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
            state->require_executor();
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
#ifdef ZLINK_BUILD_DRAFT_API
using server_socket = basic_socket<zlink::server_socket>;
using client_socket = basic_socket<zlink::client_socket>;
using radio_socket = basic_socket<zlink::radio_socket>;
using dish_socket = basic_socket<zlink::dish_socket>;
using gather_socket = basic_socket<zlink::gather_socket>;
using scatter_socket = basic_socket<zlink::scatter_socket>;
using dgram_socket = basic_socket<zlink::dgram_socket>;
using peer_socket = basic_socket<zlink::peer_socket>;
using channel_socket = basic_socket<zlink::channel_socket>;
#endif

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

    /// Ends. While it has not ended the execution context does not run out of work. It may outlive
    /// the execution context, and ends with that.
    void stop() noexcept {
        if (waits_) {
            waits_->stop();
        }
    }

private:
    struct waiting final : detail::dependant, std::enable_shared_from_this<waiting> {
        waiting(const net::any_io_executor& runs_on, context& driven)
            : others(
                  net::use_service<detail::registry>(net::query(runs_on, net::execution::context))
                      .all()),
              context(&driven) {
            descriptor.emplace(runs_on, zlink::detail::unwrap(driven.descriptor()));
            others->add(*this);
        }
        ~waiting() override {
            others->remove(*this);
            stop();
        }

        void wait(const std::shared_ptr<waiting>& self) {
            descriptor->async_wait(descriptor->wait_read, [self](const error_code& failed) {
                if (!failed && self->context != nullptr && self->context->run_ready()) {
                    self->wait(self);
                }
            });
        }
        /// The descriptor belongs to the context, and stays open.
        void stop() noexcept {
            context = nullptr;
            if (descriptor && descriptor->is_open()) {
                descriptor->release();
            }
        }
        void end() noexcept override {
            stop();
            descriptor.reset();
        }
        std::shared_ptr<void> owner() noexcept override { return weak_from_this().lock(); }

        const std::shared_ptr<detail::dependants> others;
        zlink::context* context;
        std::optional<net::posix::stream_descriptor> descriptor;
    };

    std::shared_ptr<waiting> waits_;
};

} // namespace zlink::asio
