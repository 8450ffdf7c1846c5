-- SPDX-License-Identifier: MPL-2.0
--
-- wrk asks for a random aligned chunk, or for a random one of several whole files. Arguments: path
-- (with {} for the number of a file), number of files, bytes of a file, bytes of a chunk (0: whole).

local path, file_count, chunk_count, chunk_bytes

function init(arguments)
   path = arguments[1]
   file_count = tonumber(arguments[2])
   chunk_bytes = tonumber(arguments[4])
   chunk_count = chunk_bytes > 0 and math.floor(tonumber(arguments[3]) / chunk_bytes) or 1
   math.randomseed(1)
end

function request()
   local target = path:gsub("{}", tostring(math.random(0, file_count - 1)))
   if chunk_bytes == 0 then
      return wrk.format("GET", target)
   end
   local first = math.random(0, chunk_count - 1) * chunk_bytes
   -- %d, because numbers beyond 2^31 are written with an exponent by default.
   local range = string.format("bytes=%d-%d", first, first + chunk_bytes - 1)
   return wrk.format("GET", target, {["Range"] = range})
end

function done(summary, latency, requests)
   local errors = summary.errors
   io.write(string.format(
      '{"event": "result", "requests": %d, "bytes": %d, "microseconds": %d, "errors": %d, ' ..
      '"avg_us": %.1f, "p50_us": %d, "p95_us": %d, "p99_us": %d, "max_us": %d}\n',
      summary.requests, summary.bytes, summary.duration,
      errors.connect + errors.read + errors.write + errors.status + errors.timeout,
      latency.mean, latency:percentile(50), latency:percentile(95), latency:percentile(99),
      latency.max))
   io.flush()
end
