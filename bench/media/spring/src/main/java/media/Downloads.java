// SPDX-License-Identifier: MPL-2.0
package media;

import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.core.io.FileSystemResource;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.ResourceRegion;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpRange;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** The same files in two ways. */
@RestController
public class Downloads {
    private final Path folder;

    public Downloads(@Value("${media.folder}") Path folder) {
        this.folder = folder;
    }

    /** Spring's own way: a message converter copies the region through the heap. */
    @GetMapping(path = "/region/{name}", headers = HttpHeaders.RANGE)
    public ResponseEntity<ResourceRegion> region(@PathVariable String name,
            @RequestHeader HttpHeaders headers) throws IOException {
        Resource file = new FileSystemResource(find(name));
        long total = file.contentLength();
        HttpRange range = firstRange(headers);
        long first = startOf(range, total);
        ResourceRegion region = new ResourceRegion(file, first, range.getRangeEnd(total) - first + 1);
        return ResponseEntity.status(HttpStatus.PARTIAL_CONTENT)
                .contentType(MediaType.APPLICATION_OCTET_STREAM)
                .header(HttpHeaders.ACCEPT_RANGES, "bytes")
                .body(region);
    }

    /** The whole file in the same way. */
    @GetMapping(path = "/region/{name}", headers = "!" + HttpHeaders.RANGE)
    public ResponseEntity<Resource> whole(@PathVariable String name) {
        return ResponseEntity.ok()
                .contentType(MediaType.APPLICATION_OCTET_STREAM)
                .body(new FileSystemResource(find(name)));
    }

    /** By FileChannel.transferTo into the response. */
    @GetMapping("/transfer/{name}")
    public void transfer(@PathVariable String name, @RequestHeader HttpHeaders headers,
            HttpServletResponse response) throws IOException {
        try (FileChannel file = FileChannel.open(find(name), StandardOpenOption.READ)) {
            long total = file.size();
            long first = 0;
            long end = total;
            HttpRange range = firstRange(headers);
            if (range != null) {
                first = startOf(range, total);
                end = range.getRangeEnd(total) + 1;
                response.setStatus(HttpServletResponse.SC_PARTIAL_CONTENT);
                response.setHeader(HttpHeaders.CONTENT_RANGE,
                        "bytes " + first + "-" + (end - 1) + "/" + total);
            }
            response.setContentType(MediaType.APPLICATION_OCTET_STREAM_VALUE);
            response.setHeader(HttpHeaders.ACCEPT_RANGES, "bytes");
            response.setContentLengthLong(end - first);
            WritableByteChannel target = Channels.newChannel(response.getOutputStream());
            while (first < end) {
                first += file.transferTo(first, end - first, target);
            }
        }
    }

    private Path find(String name) {
        Path file = folder.resolve(name);
        if (name.startsWith(".") || !file.getParent().equals(folder) || !Files.isRegularFile(file)) {
            throw new ResponseStatusException(HttpStatus.NOT_FOUND);
        }
        return file;
    }

    private static HttpRange firstRange(HttpHeaders headers) {
        List<HttpRange> ranges = headers.getRange();
        return ranges.isEmpty() ? null : ranges.get(0);
    }

    private static long startOf(HttpRange range, long total) {
        long first = range.getRangeStart(total);
        if (first >= total) {
            throw new ResponseStatusException(HttpStatus.REQUESTED_RANGE_NOT_SATISFIABLE);
        }
        return first;
    }
}
