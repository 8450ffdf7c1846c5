import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.zeromq.SocketType;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;
import zmq.ZError;

/** A process with JeroMQ sockets that a test controls through standard input; see ../../peer.py. */
final class Peer {
    static final ZMQ.Context CONTEXT = ZMQ.context(1);
    private static final Gson GSON = new GsonBuilder().serializeNulls().create();

    public static void main(String[] arguments) throws Exception {
        Map<String, Worker> workers = new HashMap<>();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            JsonObject command = JsonParser.parseString(line).getAsJsonObject();
            workers.computeIfAbsent(command.get("socket").getAsString(), Worker::new).commands.add(command);
        }
        Runtime.getRuntime().halt(0); // The test is over. Open sockets are not waited for.
    }

    static synchronized void reply(JsonObject reply) {
        System.out.println(GSON.toJson(reply));
        System.out.flush();
    }
}

/** Carries out the commands of one socket, in order. */
final class Worker extends Thread {
    private static final int COUNTER_BYTES = 12;

    final BlockingQueue<JsonObject> commands = new LinkedBlockingQueue<>();
    private ZMQ.Socket socket;

    Worker(String name) {
        super(name);
        setDaemon(true);
        start();
    }

    @Override
    public void run() {
        while (true) {
            JsonObject reply = new JsonObject();
            try {
                JsonObject command = commands.take();
                reply.add("id", command.get("id"));
                reply.add("ok", carryOut(command));
            } catch (ZMQException error) {
                reply.addProperty("error", error.toString());
                reply.addProperty("errno", nameOf(error.getErrorCode()));
            } catch (Exception error) {
                reply.addProperty("error", error.toString());
                reply.addProperty("errno", "");
            }
            Peer.reply(reply);
        }
    }

    private JsonElement carryOut(JsonObject command) {
        switch (command.get("op").getAsString()) {
            case "open": return open(command);
            case "set": return set(command.get("option").getAsString(), command.get("value"));
            case "bind": return bind(command.get("endpoint").getAsString());
            case "connect": return checked("connect", socket.connect(command.get("endpoint").getAsString()));
            case "close": return close();
            case "send": return send(command);
            case "recv": return recv(command);
            case "echo": return echo(command);
            case "ask": return ask(command);
            case "send_numbered": return sendNumbered(command);
            case "recv_numbered": return recvNumbered(command);
            default: throw new IllegalArgumentException("no such command: " + command);
        }
    }

    private JsonElement open(JsonObject command) {
        socket = Peer.CONTEXT.socket(SocketType.valueOf(command.get("kind").getAsString()));
        for (Map.Entry<String, JsonElement> field : command.entrySet()) {
            if (!List.of("id", "op", "socket", "kind").contains(field.getKey())) {
                set(field.getKey(), field.getValue());
            }
        }
        return null;
    }

    private JsonElement set(String option, JsonElement value) {
        return checked(option, isSet(option, value));
    }

    private boolean isSet(String option, JsonElement value) {
        switch (option) {
            case "LINGER": return socket.setLinger(value.getAsInt());
            case "SNDHWM": return socket.setSndHWM(value.getAsInt());
            case "RCVHWM": return socket.setRcvHWM(value.getAsInt());
            case "RECONNECT_IVL": return socket.setReconnectIVL(value.getAsInt());
            case "HEARTBEAT_IVL": return socket.setHeartbeatIvl(value.getAsInt());
            case "HEARTBEAT_TIMEOUT": return socket.setHeartbeatTimeout(value.getAsInt());
            case "REQ_RELAXED": return socket.setReqRelaxed(value.getAsInt() != 0);
            case "REQ_CORRELATE": return socket.setReqCorrelate(value.getAsInt() != 0);
            case "ROUTER_MANDATORY": return socket.setRouterMandatory(value.getAsInt() != 0);
            case "ROUTING_ID": return socket.setIdentity(data(value));
            case "SUBSCRIBE": return socket.subscribe(data(value));
            case "UNSUBSCRIBE": return socket.unsubscribe(data(value));
            case "ZAP_DOMAIN": return socket.setZapDomain(data(value));
            case "PLAIN_SERVER": return socket.setPlainServer(value.getAsInt() != 0);
            case "PLAIN_USERNAME": return socket.setPlainUsername(data(value));
            case "PLAIN_PASSWORD": return socket.setPlainPassword(data(value));
            case "CURVE_SERVER": return socket.setCurveServer(value.getAsInt() != 0);
            case "CURVE_PUBLICKEY": return socket.setCurvePublicKey(data(value));
            case "CURVE_SECRETKEY": return socket.setCurveSecretKey(data(value));
            case "CURVE_SERVERKEY": return socket.setCurveServerKey(data(value));
            default: throw new IllegalArgumentException("no such option: " + option);
        }
    }

    private JsonElement bind(String endpoint) {
        checked("bind", socket.bind(endpoint));
        return new JsonPrimitive(socket.getLastEndpoint());
    }

    private JsonElement close() {
        socket.close();
        return null;
    }

    private JsonElement send(JsonObject command) {
        if (command.has("timeout")) {
            socket.setSendTimeOut(command.get("timeout").getAsInt());
        }
        sendParts(parts(command.get("parts")));
        return null;
    }

    private JsonElement recv(JsonObject command) {
        if (command.has("timeout")) {
            socket.setReceiveTimeOut(command.get("timeout").getAsInt());
        }
        JsonArray received = new JsonArray();
        for (byte[] part : recvParts()) {
            received.add(Base64.getEncoder().encodeToString(part));
        }
        return received;
    }

    private JsonElement echo(JsonObject command) {
        waitLong();
        for (int left = command.get("count").getAsInt(); left > 0; --left) {
            sendParts(recvParts());
        }
        return null;
    }

    private JsonElement ask(JsonObject command) {
        waitLong();
        int count = command.get("count").getAsInt();
        for (int index = 0; index < count; ++index) {
            byte[] request = numbered(index, command.get("size").getAsInt());
            sendParts(List.of(request));
            List<byte[]> reply = recvParts();
            if (reply.size() != 1 || !Arrays.equals(reply.get(0), request)) {
                throw new IllegalStateException("request " + index + " was answered with something else");
            }
        }
        return null;
    }

    private JsonElement sendNumbered(JsonObject command) {
        waitLong();
        List<byte[]> prefix = command.has("prefix") ? parts(command.get("prefix")) : List.of();
        int count = command.get("count").getAsInt();
        for (int index = 0; index < count; ++index) {
            List<byte[]> message = new ArrayList<>(prefix);
            message.add(numbered(index, command.get("size").getAsInt()));
            sendParts(message);
        }
        return null;
    }

    private JsonElement recvNumbered(JsonObject command) {
        waitLong();
        int skip = command.has("skip") ? command.get("skip").getAsInt() : 0;
        int count = command.get("count").getAsInt();
        for (int index = 0; index < count; ++index) {
            List<byte[]> message = recvParts();
            byte[] expected = numbered(index, command.get("size").getAsInt());
            if (message.size() != skip + 1 || !Arrays.equals(message.get(skip), expected)) {
                throw new IllegalStateException("something else came where message " + index + " was due");
            }
        }
        return null;
    }

    /** The index-th message of a stream, as peer.py makes it. */
    private static byte[] numbered(long index, int size) {
        byte[] message = new byte[Math.max(COUNTER_BYTES, size)];
        Arrays.fill(message, (byte) index);
        ByteBuffer.wrap(message).putInt(0).putLong(index);
        return message;
    }

    private void waitLong() {
        socket.setSendTimeOut(30000);
        socket.setReceiveTimeOut(30000);
    }

    private void sendParts(List<byte[]> parts) {
        for (int index = 0; index < parts.size(); ++index) {
            checked("send", socket.send(parts.get(index), index + 1 < parts.size() ? ZMQ.SNDMORE : 0));
        }
    }

    private List<byte[]> recvParts() {
        List<byte[]> parts = new ArrayList<>();
        do {
            byte[] part = socket.recv();
            checked("recv", part != null);
            parts.add(part);
        } while (socket.hasReceiveMore());
        return parts;
    }

    private JsonElement checked(String operation, boolean isDone) {
        if (!isDone) {
            throw new ZMQException(operation, socket.errno());
        }
        return null;
    }

    private static String nameOf(int errno) {
        switch (errno) {
            case ZError.EAGAIN: return "EAGAIN";
            case ZError.EHOSTUNREACH: return "EHOSTUNREACH";
            case ZError.EADDRINUSE: return "EADDRINUSE";
            default: return Integer.toString(errno);
        }
    }

    private static byte[] data(JsonElement base64) {
        return Base64.getDecoder().decode(base64.getAsString());
    }

    private static List<byte[]> parts(JsonElement array) {
        List<byte[]> parts = new ArrayList<>();
        for (JsonElement part : array.getAsJsonArray()) {
            parts.add(data(part));
        }
        return parts;
    }
}
