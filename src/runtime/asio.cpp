// SPDX-License-Identifier: MPL-2.0
// The one translation unit that compiles Asio itself (BOOST_ASIO_SEPARATE_COMPILATION).
#include <boost/asio/impl/src.hpp>
