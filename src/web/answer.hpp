// SPDX-License-Identifier: MPL-2.0
#pragma once

#include "files/file_root.hpp"
#include "web/response.hpp"
#include "web/site.hpp"
#include "wire/http/refusal.hpp"
#include "wire/http/request.hpp"

#include <chrono>
#include <optional>

namespace zlink::web {

/// Answers a request with a file, or the reason why there is none (RFC 9110).
/// @param now  For Date.
/// @param how  Whether it may wait for a disk.
/// @return Nothing if it would have to wait.
/// @throws std::bad_alloc
std::optional<response> answer(const wire::http::request& asked, const site& from,
                               std::chrono::sys_seconds now, files::file_root::may_block how);

/// The answer to a request that is not carried out; the connection ends with it.
/// @param has_content  False for HEAD.
/// @throws std::bad_alloc
response refuse(const wire::http::refusal& why, std::chrono::sys_seconds now,
                bool has_content = true);

} // namespace zlink::web
