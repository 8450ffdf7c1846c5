// SPDX-License-Identifier: MPL-2.0
#pragma once

#include <boost/asio/io_context.hpp>

namespace zlink::runtime {

/// The descriptor that `reactor` waits on, readable while a descriptor or timer of it is ready. It
/// belongs to the reactor. Tasks that were posted do not make it readable.
int reactor_descriptor(boost::asio::io_context& reactor);

} // namespace zlink::runtime
