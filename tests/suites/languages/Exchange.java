import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;

/** Exchanges messages with peer.py by jzmq: Exchange connect|bind PREFIX. jzmq 3.1 has no CURVE. */
public final class Exchange {
    private static final int TIMEOUT_MS = 10000;
    private static final ZMQ.Context CONTEXT = ZMQ.context(1);
    private static boolean isBinding;
    private static String prefix;

    private interface Body {
        void run() throws Exception;
    }

    public static void main(String[] arguments) {
        isBinding = arguments[0].equals("bind");
        prefix = arguments[1];
        test("push_pull", Exchange::pushPull);
        test("subscriber", Exchange::subscriber);
        test("publisher", Exchange::publisher);
        test("requester", Exchange::requester);
        test("replier", Exchange::replier);
        test("dealer", Exchange::dealer);
        test("router", Exchange::router);
        test("poll", Exchange::poll);
        test("options", Exchange::options);
        test("errors", Exchange::errors);
        test("terminates", CONTEXT::term);
    }

    private static void test(String name, Body body) {
        try {
            body.run();
            System.out.println("PASS " + name);
        } catch (Throwable error) {
            System.out.println("FAIL " + name + "  " + error.toString().replaceAll("\\s+", " "));
        }
    }

    private static ZMQ.Socket open(int number, int type) {
        ZMQ.Socket socket = CONTEXT.socket(type);
        socket.setLinger(0);
        socket.setReceiveTimeOut(TIMEOUT_MS);
        socket.setSendTimeOut(TIMEOUT_MS);
        if (type == ZMQ.SUB) {
            socket.subscribe("red".getBytes());
        }
        String endpoint = String.format("%s%02d", prefix, number);
        if (isBinding) {
            socket.bind(endpoint);
        } else {
            socket.connect(endpoint);
        }
        return socket;
    }

    private static void sendFrames(ZMQ.Socket socket, byte[]... frames) {
        for (int i = 0; i < frames.length; i++) {
            equal(socket.send(frames[i], i + 1 < frames.length ? ZMQ.SNDMORE : 0), true);
        }
    }

    private static List<byte[]> recvFrames(ZMQ.Socket socket) {
        List<byte[]> frames = new ArrayList<>();
        do {
            byte[] frame = socket.recv();
            if (frame == null) {
                throw new IllegalStateException("nothing came");
            }
            frames.add(frame);
        } while (socket.hasReceiveMore());
        return frames;
    }

    private static List<String> texts(List<byte[]> frames) {
        List<String> texts = new ArrayList<>();
        for (byte[] frame : frames) {
            texts.add(new String(frame));
        }
        return texts;
    }

    private static void equal(Object came, Object right) {
        if (!came.equals(right)) {
            throw new IllegalStateException(came + ", not " + right);
        }
    }

    private static int errorOf(Runnable call) {
        try {
            call.run();
            return 0;
        } catch (ZMQException error) {
            return error.getErrorCode();
        }
    }

    private static void pushPull() {
        ZMQ.Socket push = open(1, ZMQ.PUSH);
        ZMQ.Socket pull = open(2, ZMQ.PULL);
        for (int i = 0; i < 100; i++) {
            equal(push.send("message " + i), true);
        }
        for (int i = 0; i < 100; i++) {
            equal(texts(recvFrames(pull)), Arrays.asList("message " + i));
        }
        push.close();
        pull.close();
    }

    private static void subscriber() {
        ZMQ.Socket sub = open(3, ZMQ.SUB);
        for (int i = 0; i < 20; i++) {
            equal(sub.recvStr().matches("red \\d+"), true);
        }
        sub.close();
    }

    private static void publisher() {
        ZMQ.Socket pub = open(4, ZMQ.PUB);
        ZMQ.Socket pull = open(5, ZMQ.PULL);
        pull.setReceiveTimeOut(10);
        int count = 0;
        for (int i = 0; i < 1000 && count < 20; i++) {
            pub.send("blue " + i);
            pub.send("red " + i);
            String came = pull.recvStr();
            if (came != null) {
                equal(came.matches("red \\d+"), true);
                count++;
            }
        }
        equal(count, 20);
        pub.close();
        pull.close();
    }

    private static void requester() {
        ZMQ.Socket req = open(6, ZMQ.REQ);
        for (int i = 0; i < 10; i++) {
            sendFrames(req, ("question " + i).getBytes(), new byte[0]);
            equal(texts(recvFrames(req)), Arrays.asList("question " + i, ""));
        }
        req.close();
    }

    private static void replier() {
        ZMQ.Socket rep = open(7, ZMQ.REP);
        String last = "";
        for (int i = 0; i < 10; i++) {
            equal(texts(recvFrames(rep)), Arrays.asList("question " + i, last));
            last = "answer " + i;
            equal(rep.send(last), true);
        }
        rep.close();
    }

    private static void dealer() {
        ZMQ.Socket dealer = open(8, ZMQ.DEALER);
        byte[] binary = new byte[256000];
        for (int i = 0; i < binary.length; i++) {
            binary[i] = (byte) i;
        }
        sendFrames(dealer, "first".getBytes(), new byte[0], binary);
        List<byte[]> came = recvFrames(dealer);
        equal(came.size(), 3);
        equal(texts(came.subList(0, 2)), Arrays.asList("first", ""));
        equal(Arrays.equals(came.get(2), binary), true);
        dealer.close();
    }

    private static void router() {
        ZMQ.Socket router = open(9, ZMQ.ROUTER);
        String last = "";
        for (int i = 0; i < 10; i++) {
            List<byte[]> frames = recvFrames(router);
            equal(texts(frames.subList(1, frames.size())), Arrays.asList("part " + i, "", last));
            last = "answer " + i;
            sendFrames(router, frames.get(0), new byte[0], last.getBytes());
        }
        router.close();
    }

    private static void poll() {
        ZMQ.Socket dealer = open(8, ZMQ.DEALER);
        ZMQ.Poller poller = CONTEXT.poller(1);
        poller.register(dealer, ZMQ.Poller.POLLIN);
        equal(poller.poll(50), 0);
        equal(poller.pollin(0), false);
        equal(dealer.send("x"), true);
        equal(poller.poll(TIMEOUT_MS), 1);
        equal(poller.pollin(0), true);
        equal(dealer.recvStr(), "x");
        dealer.close();
    }

    private static void options() {
        ZMQ.Socket socket = CONTEXT.socket(ZMQ.DEALER);
        socket.setLinger(17);
        equal(socket.getLinger(), 17L);
        socket.setSndHWM(5);
        equal(socket.getSndHWM(), 5L);
        socket.setRcvHWM(6);
        equal(socket.getRcvHWM(), 6L);
        socket.setIdentity("me".getBytes());
        equal(new String(socket.getIdentity()), "me");
        socket.setMaxMsgSize(12345678901L);
        equal(socket.getMaxMsgSize(), 12345678901L);
        equal(socket.getType(), ZMQ.DEALER);
        equal(socket.getFD() > 2, true);
        socket.close();
    }

    private static void errors() {
        ZMQ.Socket socket = CONTEXT.socket(ZMQ.REQ);
        equal(errorOf(() -> socket.recv(ZMQ.DONTWAIT)), 156384763); // EFSM
        equal(errorOf(() -> socket.connect("nonsense")), 22);
        equal(errorOf(() -> socket.bind("bad://x")), 93);
        equal(errorOf(() -> socket.setSndHWM(-1)), 22);
        equal(socket.send("x".getBytes(), ZMQ.DONTWAIT), false); // EAGAIN
        socket.close();
    }
}
