// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "runtime/readiness.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <utility>

namespace zlink::runtime {

/// Calls `task` on the reactor's thread, soon and never from within post(). In place of Asio's
/// post(), of which a reactor that another one drives does not learn.
/// @threads any
/// @throws std::bad_alloc
template<class Task>
void post(boost::asio::io_context& reactor, Task&& task) {
    boost::asio::post(reactor, std::forward<Task>(task));
    readiness::of(reactor).wake();
}

} // namespace zlink::runtime
