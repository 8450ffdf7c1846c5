"""Options of both sides of PLAIN and CURVE, and the ZAP handler that accepts or refuses clients."""

# Keys of the CURVE specification's examples (26/CURVEZMQ), in Z85.
SERVER_PUBLIC = b"rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
SERVER_SECRET = b"JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"
CLIENT_PUBLIC = b"Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
CLIENT_SECRET = b"D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"

PLAIN_SERVER = {"PLAIN_SERVER": 1, "ZAP_DOMAIN": b"global"}
PLAIN_CLIENT = {"PLAIN_USERNAME": b"joe", "PLAIN_PASSWORD": b"secret"}
CURVE_SERVER = {"CURVE_SERVER": 1, "CURVE_SECRETKEY": SERVER_SECRET}
CURVE_CLIENT = {
    "CURVE_PUBLICKEY": CLIENT_PUBLIC,
    "CURVE_SECRETKEY": CLIENT_SECRET,
    "CURVE_SERVERKEY": SERVER_PUBLIC,
}


class Handler:
    """The ZAP handler of a process, whose replies the test gives."""

    def __init__(self, process):
        self._socket = process.socket("REP")
        self._socket.bind("inproc://zeromq.zap.01")

    def question(self):
        return self._socket.recv()

    def reply(self, *frames):
        self._socket.send(*frames)

    def decide(self, status, user=b"user", metadata=b""):
        question = self.question()
        self.reply(b"1.0", question[1], status, b"text", user, metadata)
        return question
