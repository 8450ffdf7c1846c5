// SPDX-License-Identifier: MPL-2.0
//
// The one translation unit that compiles Asio itself (BOOST_ASIO_SEPARATE_COMPILATION), and the one
// that knows something of its inside.
#include "runtime/reactor_descriptor.hpp"

#include <boost/asio/detail/epoll_reactor.hpp>
#include <boost/asio/impl/src.hpp>

namespace zlink::runtime {

namespace {

using boost::asio::detail::epoll_reactor;

// Asio has no function that returns the descriptor. An explicit instantiation may name a private
// member (C++20, 13.9.2/6), and stops to compile if that gets another name.
int epoll_reactor::*descriptor_member() noexcept;

template<int epoll_reactor::*Member>
struct private_member {
    friend int epoll_reactor::*descriptor_member() noexcept { return Member; }
};

template struct private_member<&epoll_reactor::epoll_fd_>;

} // namespace

int reactor_descriptor(boost::asio::io_context& reactor) {
    return boost::asio::use_service<epoll_reactor>(reactor).*descriptor_member();
}

} // namespace zlink::runtime
