// SPDX-License-Identifier: MPL-2.0

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A file server on blocking sockets with a thread per connection, from a pool of threads that are
 * used again. The mode "copy" reads a file into the heap and writes it to the socket (java.io);
 * "transfer" has the kernel send it (FileChannel.transferTo). GET with one range, persistent
 * connections, nothing else.
 */
public final class PlainServer {
    private static final int BUFFER_BYTES = 65536;
    private static final int LINE_BYTES_MAX = 8192;
    private static final int BACKLOG = 4096;

    private final Path folder;
    private final boolean transfers;

    private PlainServer(Path folder, boolean transfers) {
        this.folder = folder;
        this.transfers = transfers;
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 3 || !(arguments[2].equals("copy") || arguments[2].equals("transfer"))) {
            System.err.println("usage: PlainServer PORT FOLDER copy|transfer");
            System.exit(2);
        }
        var server = new PlainServer(Path.of(arguments[1]), arguments[2].equals("transfer"));
        var listener = ServerSocketChannel.open();
        listener.setOption(StandardSocketOptions.SO_REUSEADDR, true);
        int port = Integer.parseInt(arguments[0]);
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), BACKLOG);
        ExecutorService threads = Executors.newCachedThreadPool();
        while (true) {
            SocketChannel peer = listener.accept();
            threads.execute(() -> server.serve(peer));
        }
    }

    private void serve(SocketChannel peer) {
        try (peer) {
            peer.setOption(StandardSocketOptions.TCP_NODELAY, true);
            // The streams of a socket, not of its channel: these copy through a buffer less.
            InputStream input = new BufferedInputStream(peer.socket().getInputStream());
            byte[] buffer = new byte[transfers ? 0 : BUFFER_BYTES];
            Request request = new Request();
            while (request.read(input)) {
                answer(peer, request, buffer);
                if (request.closes) {
                    return;
                }
            }
        } catch (IOException | NumberFormatException ended) {
            // The peer has gone, or it does not speak HTTP: the connection ends.
        }
    }

    private void answer(SocketChannel peer, Request request, byte[] buffer) throws IOException {
        // A name of the folder itself only: no slash, and so no way out of it.
        Path file = folder.resolve(request.name);
        if (request.name.isEmpty() || request.name.startsWith(".") || request.name.contains("/")
                || !Files.isRegularFile(file)) {
            write(peer, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
            return;
        }
        if (transfers) {
            try (FileChannel content = FileChannel.open(file, StandardOpenOption.READ)) {
                long total = content.size();
                long end = startResponse(peer, request, total);
                for (long position = request.first; position < end; ) {
                    position += content.transferTo(position, end - position, peer);
                }
            }
            return;
        }
        try (RandomAccessFile content = new RandomAccessFile(file.toFile(), "r")) {
            long end = startResponse(peer, request, content.length());
            OutputStream output = peer.socket().getOutputStream();
            content.seek(request.first);
            for (long rest = end - request.first; rest > 0; ) {
                int got = content.read(buffer, 0, (int) Math.min(buffer.length, rest));
                if (got < 0) {
                    throw new IOException("the file has shrunk");
                }
                output.write(buffer, 0, got);
                rest -= got;
            }
        }
    }

    /** Sends the head; returns the end of the part that is to follow. */
    private static long startResponse(SocketChannel peer, Request request, long total)
            throws IOException {
        if (!request.hasRange) {
            write(peer, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
                    + "Accept-Ranges: bytes\r\nContent-Length: " + total + "\r\n\r\n");
            return total;
        }
        if (request.first >= total) {
            write(peer, "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */" + total
                    + "\r\nContent-Length: 0\r\n\r\n");
            return request.first;
        }
        long last = Math.min(request.last, total - 1);
        write(peer, "HTTP/1.1 206 Partial Content\r\nContent-Type: application/octet-stream\r\n"
                + "Accept-Ranges: bytes\r\nContent-Length: " + (last - request.first + 1)
                + "\r\nContent-Range: bytes " + request.first + "-" + last + "/" + total + "\r\n\r\n");
        return last + 1;
    }

    private static void write(SocketChannel peer, String head) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(head.getBytes(StandardCharsets.ISO_8859_1));
        while (bytes.hasRemaining()) {
            peer.write(bytes);
        }
    }

    /** What matters of a request. */
    private static final class Request {
        private final byte[] line = new byte[LINE_BYTES_MAX];
        private String name;
        private boolean hasRange;
        private boolean closes;
        private long first;
        private long last;

        /** Returns false if the peer has closed the connection instead of sending a request. */
        boolean read(InputStream input) throws IOException {
            String start = readLine(input);
            if (start == null) {
                return false;
            }
            String[] words = start.split(" ");
            if (words.length != 3 || !words[0].equals("GET") || !words[1].startsWith("/")) {
                throw new IOException("not a request that is understood");
            }
            name = words[1].substring(1);
            hasRange = false;
            closes = false;
            first = 0;
            last = Long.MAX_VALUE;
            for (String field = readLine(input); ; field = readLine(input)) {
                if (field == null) {
                    throw new IOException("the head of a request ends early");
                }
                if (field.isEmpty()) {
                    return true;
                }
                int colon = field.indexOf(':');
                if (colon < 0) {
                    throw new IOException("a malformed field");
                }
                decodeField(field.substring(0, colon), field.substring(colon + 1).trim());
            }
        }

        private void decodeField(String field, String value) {
            if (field.equalsIgnoreCase("Connection")) {
                closes = value.equalsIgnoreCase("close");
            } else if (field.equalsIgnoreCase("Range") && value.startsWith("bytes=")) {
                int dash = value.indexOf('-');
                first = Long.parseLong(value.substring("bytes=".length(), dash));
                last = dash + 1 == value.length() ? Long.MAX_VALUE
                        : Long.parseLong(value.substring(dash + 1));
                hasRange = true;
            }
        }

        private String readLine(InputStream input) throws IOException {
            for (int length = 0; length < line.length; ) {
                int octet = input.read();
                if (octet < 0) {
                    return null;
                }
                if (octet == '\n') {
                    int end = length > 0 && line[length - 1] == '\r' ? length - 1 : length;
                    return new String(line, 0, end, StandardCharsets.ISO_8859_1);
                }
                line[length++] = (byte) octet;
            }
            throw new IOException("a line is too long");
        }
    }
}
