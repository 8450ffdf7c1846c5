//! A process with sockets of the `zeromq` crate that a test controls through standard input; see ../../peer.py.

use base64::{engine::general_purpose::STANDARD, Engine};
use bytes::Bytes;
use serde_json::{json, Value};
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout, Instant};
use zeromq::util::PeerIdentity;
use zeromq::*;

const LONG: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_millis(5);
const COUNTER_BYTES: usize = 12;

/// The reply to a failed command: a text, and the name of ZeroMQ's error if there is one.
struct Failure(String, &'static str);

type Outcome<T> = Result<T, Failure>;

impl From<ZmqError> for Failure {
    fn from(error: ZmqError) -> Self {
        let errno = match error {
            ZmqError::Other("Destination client not found by identity") => "EHOSTUNREACH",
            _ => "",
        };
        Failure(error.to_string(), errno)
    }
}

fn failed<T>(text: impl Into<String>) -> Outcome<T> {
    Err(Failure(text.into(), ""))
}

/// One type for all kinds of socket, because `Socket` is not object-safe.
enum AnySocket {
    Pub(PubSocket),
    Sub(SubSocket),
    Xpub(XPubSocket),
    Xsub(XSubSocket),
    Req(ReqSocket),
    Rep(RepSocket),
    Dealer(DealerSocket),
    Router(RouterSocket),
    Push(PushSocket),
    Pull(PullSocket),
}

/// Does `$body` with the socket inside, whatever its kind is.
macro_rules! with_socket {
    ($any:expr, $socket:ident => $body:expr) => {
        match $any {
            AnySocket::Pub($socket) => $body,
            AnySocket::Sub($socket) => $body,
            AnySocket::Xpub($socket) => $body,
            AnySocket::Xsub($socket) => $body,
            AnySocket::Req($socket) => $body,
            AnySocket::Rep($socket) => $body,
            AnySocket::Dealer($socket) => $body,
            AnySocket::Router($socket) => $body,
            AnySocket::Push($socket) => $body,
            AnySocket::Pull($socket) => $body,
        }
    };
}

impl AnySocket {
    fn open(kind: &str, options: SocketOptions) -> Outcome<Self> {
        Ok(match kind {
            "PUB" => Self::Pub(PubSocket::with_options(options)),
            "SUB" => Self::Sub(SubSocket::with_options(options)),
            "XPUB" => Self::Xpub(XPubSocket::with_options(options)),
            "XSUB" => Self::Xsub(XSubSocket::with_options(options)),
            "REQ" => Self::Req(ReqSocket::with_options(options)),
            "REP" => Self::Rep(RepSocket::with_options(options)),
            "DEALER" => Self::Dealer(DealerSocket::with_options(options)),
            "ROUTER" => Self::Router(RouterSocket::with_options(options)),
            "PUSH" => Self::Push(PushSocket::with_options(options)),
            "PULL" => Self::Pull(PullSocket::with_options(options)),
            _ => return failed(format!("no such kind of socket: {kind}")),
        })
    }

    async fn bind(&mut self, endpoint: &str) -> ZmqResult<Endpoint> {
        with_socket!(self, socket => socket.bind(endpoint).await)
    }

    /// Waits for the peer, which ZeroMQ's connect does not.
    async fn connect(&mut self, endpoint: &str) -> ZmqResult<()> {
        with_socket!(self, socket => socket.connect(endpoint).await)
    }

    async fn send(&mut self, message: ZmqMessage) -> ZmqResult<()> {
        match self {
            Self::Pub(socket) => socket.send(message).await,
            Self::Xpub(socket) => socket.send(message).await,
            Self::Xsub(socket) => socket.send(message).await,
            Self::Req(socket) => socket.send(message).await,
            Self::Rep(socket) => socket.send(message).await,
            Self::Dealer(socket) => socket.send(message).await,
            Self::Router(socket) => socket.send(message).await,
            Self::Push(socket) => socket.send(message).await,
            Self::Sub(_) | Self::Pull(_) => Err(ZmqError::Socket("it only receives")),
        }
    }

    async fn recv(&mut self) -> ZmqResult<ZmqMessage> {
        match self {
            Self::Sub(socket) => socket.recv().await,
            Self::Xpub(socket) => socket.recv().await,
            Self::Xsub(socket) => socket.recv().await,
            Self::Req(socket) => socket.recv().await,
            Self::Rep(socket) => socket.recv().await,
            Self::Dealer(socket) => socket.recv().await,
            Self::Router(socket) => socket.recv().await,
            Self::Pull(socket) => socket.recv().await,
            Self::Pub(_) | Self::Push(_) => Err(ZmqError::Socket("it only sends")),
        }
    }

    async fn set(&mut self, option: &str, topic: &str) -> Outcome<()> {
        match (self, option) {
            (Self::Sub(socket), "SUBSCRIBE") => Ok(socket.subscribe(topic).await?),
            (Self::Sub(socket), "UNSUBSCRIBE") => Ok(socket.unsubscribe(topic).await?),
            _ => failed(format!("no such option: {option}")),
        }
    }
}

/// Carries out the commands of one socket, in order.
async fn work(mut commands: mpsc::UnboundedReceiver<Value>) {
    let mut socket = None;
    while let Some(command) = commands.recv().await {
        let id = &command["id"];
        reply(match carry_out(&mut socket, &command).await {
            Ok(value) => json!({"id": id, "ok": value}),
            Err(Failure(text, errno)) => json!({"id": id, "error": text, "errno": errno}),
        });
    }
}

async fn carry_out(slot: &mut Option<AnySocket>, command: &Value) -> Outcome<Value> {
    let op = text(&command["op"]);
    if op == "open" {
        *slot = Some(open(command)?);
        return Ok(Value::Null);
    }
    if op == "close" {
        *slot = None;
        return Ok(Value::Null);
    }
    let Some(socket) = slot else {
        return failed("the socket is not open");
    };
    match op {
        "set" => set(socket, command).await?,
        "bind" => return bind(socket, text(&command["endpoint"])).await,
        "connect" => socket.connect(text(&command["endpoint"])).await?,
        "send" => send(socket, parts(&command["parts"])?, limit(command)).await?,
        "recv" => return Ok(encoded(&recv(socket, limit(command)).await?)),
        "echo" => echo(socket, command).await?,
        "ask" => ask(socket, command).await?,
        "send_numbered" => send_numbered(socket, command).await?,
        "recv_numbered" => recv_numbered(socket, command).await?,
        _ => return failed(format!("no such command: {op}")),
    }
    Ok(Value::Null)
}

/// Options that the library does not have, such as high-water marks, keep its behaviour.
fn open(command: &Value) -> Outcome<AnySocket> {
    let mut options = SocketOptions::default();
    if command["ROUTING_ID"].is_string() {
        options.peer_identity(PeerIdentity::try_from(data(&command["ROUTING_ID"])?)?);
    }
    AnySocket::open(text(&command["kind"]), options)
}

async fn set(socket: &mut AnySocket, command: &Value) -> Outcome<()> {
    let Ok(topic) = String::from_utf8(data(&command["value"])?) else {
        return failed("a topic has to be a text");
    };
    socket.set(text(&command["option"]), &topic).await
}

async fn bind(socket: &mut AnySocket, endpoint: &str) -> Outcome<Value> {
    let bound = socket.bind(&endpoint.replace(":*", ":0")).await?;
    Ok(json!(bound.to_string()))
}

/// Sends, and retries until `limit` while there is no peer, because ZeroMQ's send waits for one.
async fn send(socket: &mut AnySocket, parts: Vec<Bytes>, limit: Duration) -> Outcome<()> {
    let deadline = Instant::now() + limit;
    loop {
        let Ok(message) = ZmqMessage::try_from(parts.clone()) else {
            return failed("a message has to have parts");
        };
        match socket.send(message).await {
            Err(ZmqError::ReturnToSender { .. }) if Instant::now() < deadline => sleep(RETRY).await,
            outcome => return Ok(outcome?),
        }
    }
}

async fn recv(socket: &mut AnySocket, limit: Duration) -> Outcome<Vec<Bytes>> {
    match timeout(limit, socket.recv()).await {
        Ok(received) => Ok(received?.into_vec()),
        Err(_) => Err(Failure("nothing came".into(), "EAGAIN")),
    }
}

async fn echo(socket: &mut AnySocket, command: &Value) -> Outcome<()> {
    for _ in 0..number(&command["count"]) {
        let message = recv(socket, LONG).await?;
        send(socket, message, LONG).await?;
    }
    Ok(())
}

async fn ask(socket: &mut AnySocket, command: &Value) -> Outcome<()> {
    for index in 0..number(&command["count"]) {
        let request = numbered(index, number(&command["size"]));
        send(socket, vec![request.clone()], LONG).await?;
        if recv(socket, LONG).await? != [request] {
            return failed(format!("request {index} was answered with something else"));
        }
    }
    Ok(())
}

async fn send_numbered(socket: &mut AnySocket, command: &Value) -> Outcome<()> {
    let prefix = parts(&command["prefix"])?;
    for index in 0..number(&command["count"]) {
        let mut message = prefix.clone();
        message.push(numbered(index, number(&command["size"])));
        send(socket, message, LONG).await?;
    }
    Ok(())
}

async fn recv_numbered(socket: &mut AnySocket, command: &Value) -> Outcome<()> {
    let skip = number(&command["skip"]);
    for index in 0..number(&command["count"]) {
        let message = recv(socket, LONG).await?;
        if message.len() != skip + 1 || message[skip] != numbered(index, number(&command["size"])) {
            return failed(format!("something else came where message {index} was due"));
        }
    }
    Ok(())
}

/// The index-th message of a stream, as peer.py makes it.
fn numbered(index: usize, size: usize) -> Bytes {
    let mut message = vec![index as u8; size.max(COUNTER_BYTES)];
    message[..4].fill(0);
    message[4..COUNTER_BYTES].copy_from_slice(&(index as u64).to_be_bytes());
    message.into()
}

fn limit(command: &Value) -> Duration {
    command["timeout"].as_u64().map_or(LONG, Duration::from_millis)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> usize {
    value.as_u64().unwrap_or_default() as usize
}

fn data(value: &Value) -> Outcome<Vec<u8>> {
    STANDARD.decode(text(value)).or_else(|error| failed(error.to_string()))
}

fn parts(value: &Value) -> Outcome<Vec<Bytes>> {
    let none = Vec::new();
    let encoded = value.as_array().unwrap_or(&none);
    encoded.iter().map(|part| Ok(data(part)?.into())).collect()
}

fn encoded(parts: &[Bytes]) -> Value {
    parts.iter().map(|part| STANDARD.encode(part)).collect()
}

fn reply(line: Value) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}").and_then(|()| output.flush()).expect("the test reads the replies");
}

#[tokio::main]
async fn main() {
    let mut workers = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line.expect("text")).expect("a line of JSON");
        let commands = workers.entry(command["socket"].to_string()).or_insert_with(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            tokio::spawn(work(receiver));
            sender
        });
        commands.send(command).expect("a worker does not end");
    }
    std::process::exit(0); // The test is over. Open sockets are not waited for.
}
