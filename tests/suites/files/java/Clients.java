// SPDX-License-Identifier: MPL-2.0

import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.Set;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * java.net.http: 'Clients BASE FOLDER SUMS AUTHORITY'. SUMS has a line 'SHA256 BYTES NAME' for each file to fetch.
 */
public final class Clients {
    private static final Duration LONGEST = Duration.ofSeconds(60);
    private static final int RANGE_COUNT = 20;
    private static final int RANGE_MAX = 1_000_000;
    private static final String ANOTHER_TAG = "\"other\"";

    private final String title;
    private final HttpClient client;
    private final URI base;
    private final Path folder;

    private interface Body {
        void run() throws Exception;
    }

    private Clients(String title, HttpClient client, URI base, Path folder) {
        this.title = title;
        this.client = client;
        this.base = base;
        this.folder = folder;
    }

    public static void main(String[] arguments) throws Exception {
        URI base = URI.create(arguments[0]);
        SSLContext trust = trusting(arguments[3]);
        List<String> wanted = Files.readAllLines(Path.of(arguments[2]));
        // With HTTP_2 a request over http asks for an upgrade to h2c, which the server has to ignore.
        for (HttpClient.Version version : HttpClient.Version.values()) {
            HttpClient client = HttpClient.newBuilder().sslContext(trust).version(version).build();
            new Clients(version.name(), client, base, Path.of(arguments[1])).run(wanted);
        }
        System.exit(0);
    }

    private static SSLContext trusting(String authority) throws Exception {
        KeyStore known = KeyStore.getInstance(KeyStore.getDefaultType());
        known.load(null, null);
        try (FileInputStream file = new FileInputStream(authority)) {
            known.setCertificateEntry("authority", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(known);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, managers.getTrustManagers(), null);
        return context;
    }

    private void run(List<String> wanted) throws Exception {
        Set<Integer> before = clientPorts();
        for (String line : wanted) {
            String[] parts = line.split(" ", 3);
            test("whole " + parts[2], () -> {
                HttpResponse<byte[]> answer = get(parts[2]);
                equal(answer.statusCode(), 200, "the status");
                equal(answer.body().length, Integer.parseInt(parts[1]), "the number of bytes");
                byte[] sum = MessageDigest.getInstance("SHA-256").digest(answer.body());
                equal(HexFormat.of().formatHex(sum), parts[0], "the SHA-256");
            });
        }
        test("ranges", this::ranges);
        test("conditions", this::conditions);
        test("one connection", () -> {
            Set<Integer> ports = clientPorts();
            ports.removeAll(before);
            equal(ports.size(), 1, "the number of connections");
        });
    }

    private void ranges() throws Exception {
        Path path = folder.resolve("random.bin");
        long size = Files.size(path);
        Random chosen = new Random(1);
        try (FileChannel file = FileChannel.open(path)) {
            for (int count = 0; count < RANGE_COUNT; ++count) {
                long first = chosen.nextInt((int) size);
                long last = Math.min(first + chosen.nextInt(RANGE_MAX), size - 1);
                HttpResponse<byte[]> answer = get("random.bin", "Range", "bytes=" + first + "-" + last);
                ByteBuffer expected = ByteBuffer.allocate((int) (last - first + 1));
                file.read(expected, first);
                equal(answer.statusCode(), 206, "the status");
                String range = "bytes " + first + "-" + last + "/" + size;
                equal(answer.headers().firstValue("Content-Range").orElse(""), range, "Content-Range");
                equal(Arrays.equals(answer.body(), expected.array()), true, "equality of the content");
            }
        }
    }

    private void conditions() throws Exception {
        HttpResponse<byte[]> first = get("text.txt");
        String tag = first.headers().firstValue("ETag").orElseThrow();
        String date = first.headers().firstValue("Last-Modified").orElseThrow();
        for (String[] condition : new String[][] {{"If-None-Match", tag}, {"If-Modified-Since", date}}) {
            HttpResponse<byte[]> answer = get("text.txt", condition);
            equal(answer.statusCode(), 304, "the status with " + condition[0]);
            equal(answer.body().length, 0, "the number of bytes");
            equal(answer.headers().firstValue("ETag").orElse(""), tag, "ETag");
        }
        equal(get("text.txt", "If-None-Match", ANOTHER_TAG).statusCode(), 200, "the status with another tag");
        equal(get("text.txt", "If-Match", ANOTHER_TAG).statusCode(), 412, "the status of If-Match");
    }

    private HttpResponse<byte[]> get(String name, String... fields) throws Exception {
        URI url = new URI(base.getScheme(), null, base.getHost(), base.getPort(), "/" + name, null, null);
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url.toASCIIString())).timeout(LONGEST);
        if (fields.length > 0) {
            request.headers(fields);
        }
        return client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
    }

    /** The ports of all clients that are, or were not long ago, connected to the server. */
    private Set<Integer> clientPorts() throws Exception {
        Set<Integer> found = new HashSet<>();
        for (String table : new String[] {"/proc/net/tcp", "/proc/net/tcp6"}) {
            for (String line : Files.readAllLines(Path.of(table))) {
                String[] columns = line.trim().split("\\s+");
                if (columns[1].indexOf(':') < 0) {
                    continue; // The heading.
                }
                int local = portOf(columns[1]);
                int remote = portOf(columns[2]);
                if (remote != 0 && (local == base.getPort() || remote == base.getPort())) {
                    found.add(local == base.getPort() ? remote : local);
                }
            }
        }
        return found;
    }

    private static int portOf(String address) {
        return Integer.parseInt(address.substring(address.indexOf(':') + 1), 16);
    }

    private void test(String name, Body body) {
        try {
            body.run();
            System.out.println("PASS " + title + "/" + name);
        } catch (Exception failure) {
            System.out.println("FAIL " + title + "/" + name + "  " + failure);
        }
    }

    private static void equal(Object found, Object expected, String what) throws Exception {
        if (!found.equals(expected)) {
            throw new Exception(what + " is " + found + ", not " + expected);
        }
    }
}
