// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "base/endpoint.hpp"
#include "pipe/pipe.hpp"
#include "runtime/io_thread.hpp"
#include "transport/listener.hpp"
#include "transport/tls_context.hpp"

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace zlink::socket {

/// One successful bind or connect call.
struct binding {
    std::string address;  ///< The form in ZMQ_LAST_ENDPOINT.
    std::string spelling; ///< The argument of bind; empty if that had a wildcard.
    std::uint64_t call_id;
    scheme via;
    bool listens;
    boost::intrusive_ptr<transport::listener> listener; ///< tcp and ipc, bound.
    runtime::io_thread* thread = nullptr;               ///< The thread of `listener`.
    pipe::pipe_ptr joined;                              ///< inproc, connected.
    transport::tls_context_ptr tls;                     ///< With TLS, bound.
};

/// The successful bind and connect calls of a socket that are not undone, and the address of the
/// last one.
///
/// @threads The socket's.
class bindings {
public:
    /// Makes room for one more, so that the next add() cannot fail.
    /// @throws std::bad_alloc
    void reserve_one() { all_.reserve(all_.size() + 1); }

    /// @param made  With a call_id above all others.
    /// @throws std::bad_alloc  Nothing changed.
    void add(binding made) { all_.push_back(std::move(made)); }

    /// Undoes the last add().
    void remove_last() noexcept { all_.pop_back(); }

    /// Removes the one with that call_id, if there is one.
    void remove(std::uint64_t call_id) noexcept;
    void clear() noexcept { all_.clear(); }

    /// @return Null if there is none.
    binding* find(std::uint64_t call_id) noexcept;
    const binding* find(std::uint64_t call_id) const noexcept;

    /// Those with that address: as it was given or as in ZMQ_LAST_ENDPOINT, otherwise in any
    /// equivalent form.
    /// @param where      `address`, decoded.
    /// @param uses_ipv6  ZMQ_IPV6.
    /// @return Their call ids, ascending.
    std::vector<std::uint64_t> with_address(std::string_view address, const endpoint& where,
                                            bool uses_ipv6) const;

    auto begin() noexcept { return all_.begin(); }
    auto end() noexcept { return all_.end(); }
    auto begin() const noexcept { return all_.begin(); }
    auto end() const noexcept { return all_.end(); }

    /// Sets ZMQ_LAST_ENDPOINT.
    void note_endpoint(std::string text) noexcept;
    const std::string& last_endpoint() const noexcept { return last_endpoint_; }
    /// @threads any
    std::string last_endpoint_copy() const {
        const std::lock_guard lock{last_endpoint_mutex_};
        return last_endpoint_;
    }

private:
    std::vector<binding> all_;               ///< By ascending call_id.
    mutable std::mutex last_endpoint_mutex_; ///< For writing, and for reading by other threads.
    std::string last_endpoint_;
};

/// Whether `where` has a wildcard, so that it identifies no endpoint.
bool has_wildcard(const endpoint& where) noexcept;

} // namespace zlink::socket
