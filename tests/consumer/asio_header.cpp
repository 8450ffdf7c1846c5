// SPDX-License-Identifier: MPL-2.0
//
// A program of the C++ interface that asks for nothing itself, neither C++20 nor Boost's headers.
#include <boost/asio/io_context.hpp>
#include <zlink/asio.hpp>
#include <zlink/zlink.hpp>

int main() {
    boost::asio::io_context reactor;
    zlink::context context;
    static_assert(__cplusplus >= 202002L);
    return reactor.run() == 0 ? 0 : 1;
}
