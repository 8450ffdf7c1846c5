// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "server_settings.hpp"

#include <boost/asio/ssl/context.hpp>

namespace stream_bench {

inline boost::asio::ssl::context make_tls_context(const server_settings& settings) {
    boost::asio::ssl::context context{boost::asio::ssl::context::tls_server};
    if (settings.is_secure()) {
        context.use_certificate_chain_file(settings.certificate);
        context.use_private_key_file(settings.key, boost::asio::ssl::context::pem);
        // Ten thousand connections release their record buffers when idle.
        SSL_CTX_set_mode(context.native_handle(), SSL_MODE_RELEASE_BUFFERS);
    }
    return context;
}

} // namespace stream_bench
