// SPDX-License-Identifier: MPL-2.0
#include "api/boundary.hpp"
#include "api/symbols.hpp"

extern "C" int zlink_curve_keypair(char* /*public_key*/, char* /*secret_key*/) {
    return zlink::api::to_c(zlink::result<void>{zlink::errc::not_supported});
}
ZLINK_ALSO_ZMQ(curve_keypair)

extern "C" int zlink_curve_public(char* /*public_key*/, const char* /*secret_key*/) {
    return zlink::api::to_c(zlink::result<void>{zlink::errc::not_supported});
}
ZLINK_ALSO_ZMQ(curve_public)
