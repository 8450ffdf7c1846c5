// SPDX-License-Identifier: MPL-2.0
//
// The C++20 interface of zlink. zlink/asio.hpp, for programs with Boost.Asio, is apart.
#pragma once

#include <zlink/context.hpp>
#include <zlink/error.hpp>
#include <zlink/http.hpp>
#include <zlink/message.hpp>
#include <zlink/monitor.hpp>
#include <zlink/option.hpp>
#include <zlink/poll.hpp>
#include <zlink/socket.hpp>
#include <zlink/stream.hpp>
