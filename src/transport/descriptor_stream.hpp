// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "transport/stream.hpp"

#include <boost/asio/io_context.hpp>

namespace zlink::transport {

/// A stream over a connected, non-blocking tcp or unix socket.
/// @param descriptor  Taken over.
/// @return Null if the reactor refused it (out of descriptors or memory); it is closed then.
stream_ptr make_descriptor_stream(boost::asio::io_context& reactor, int descriptor) noexcept;

} // namespace zlink::transport
