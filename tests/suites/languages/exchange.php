<?php
// Exchanges messages with peer.py by php-zmq: exchange.php connect|bind PREFIX
[, $role, $prefix] = $argv;
$context = new ZMQContext();
const TIMEOUT_MS = 10000;

function open_socket($number, $type, $options = [])
{
    global $context, $role, $prefix;
    $socket = new ZMQSocket($context, $type);
    $options += [ZMQ::SOCKOPT_LINGER => 0, ZMQ::SOCKOPT_RCVTIMEO => TIMEOUT_MS, ZMQ::SOCKOPT_SNDTIMEO => TIMEOUT_MS];
    foreach ($options as $name => $value) {
        $socket->setSockOpt($name, $value);
    }
    $endpoint = sprintf('%s%02d', $prefix, $number);
    $role === 'bind' ? $socket->bind($endpoint) : $socket->connect($endpoint);
    return $socket;
}

function recv_frames($socket)
{
    $frames = $socket->recvMulti();
    if ($frames === false) {
        throw new Exception('nothing came');
    }
    return $frames;
}

function equal($came, $right)
{
    if ($came !== $right) {
        throw new Exception(substr(var_export($came, true), 0, 60) . ', not ' . substr(var_export($right, true), 0, 60));
    }
}

function test($name, $body)
{
    try {
        $body();
        echo "PASS $name\n";
    } catch (Throwable $error) {
        echo "FAIL $name  ", preg_replace('/\s+/', ' ', $error->getMessage()), "\n";
    }
}

// The code of the exception that a call throws.
function code_of($call)
{
    try {
        return var_export($call(), true);
    } catch (ZMQException $error) {
        return $error->getCode();
    }
}

test('push_pull', function () {
    $push = open_socket(1, ZMQ::SOCKET_PUSH);
    $pull = open_socket(2, ZMQ::SOCKET_PULL);
    for ($i = 0; $i < 100; $i++) {
        $push->send("message $i");
    }
    for ($i = 0; $i < 100; $i++) {
        equal(recv_frames($pull), ["message $i"]);
    }
});

test('subscriber', function () {
    $sub = open_socket(3, ZMQ::SOCKET_SUB, [ZMQ::SOCKOPT_SUBSCRIBE => 'red']);
    for ($i = 0; $i < 20; $i++) {
        equal(preg_match('/^red \d+$/', $sub->recv()), 1);
    }
});

test('publisher', function () {
    $pub = open_socket(4, ZMQ::SOCKET_PUB);
    $pull = open_socket(5, ZMQ::SOCKET_PULL, [ZMQ::SOCKOPT_RCVTIMEO => 10]);
    $count = 0;
    for ($i = 0; $i < 1000 && $count < 20; $i++) {
        $pub->send("blue $i");
        $pub->send("red $i");
        $came = $pull->recv();
        if ($came !== false) {
            equal(preg_match('/^red \d+$/', $came), 1);
            $count++;
        }
    }
    equal($count, 20);
});

function ask($number, $options = [])
{
    $req = open_socket($number, ZMQ::SOCKET_REQ, $options);
    for ($i = 0; $i < 10; $i++) {
        $req->sendMulti(["question $i", '']);
        equal(recv_frames($req), ["question $i", '']);
    }
}

function answer($number, $options = [])
{
    $rep = open_socket($number, ZMQ::SOCKET_REP, $options);
    $last = '';
    for ($i = 0; $i < 10; $i++) {
        equal(recv_frames($rep), ["question $i", $last]);
        $rep->send($last = "answer $i");
    }
}

test('requester', function () { ask(6); });
test('replier', function () { answer(7); });

test('dealer', function () {
    $dealer = open_socket(8, ZMQ::SOCKET_DEALER);
    $frames = ['first', '', str_repeat(implode(array_map('chr', range(0, 255))), 1000)];
    $dealer->sendMulti($frames);
    equal(recv_frames($dealer), $frames);
});

test('router', function () {
    $router = open_socket(9, ZMQ::SOCKET_ROUTER);
    $last = '';
    for ($i = 0; $i < 10; $i++) {
        $frames = recv_frames($router);
        $id = array_shift($frames);
        equal($frames, ["part $i", '', $last]);
        $router->sendMulti([$id, '', $last = "answer $i"]);
    }
});

test('poll', function () {
    $dealer = open_socket(8, ZMQ::SOCKET_DEALER);
    $poll = new ZMQPoll();
    $poll->add($dealer, ZMQ::POLL_IN);
    $readable = $writable = [];
    equal($poll->poll($readable, $writable, 50), 0);
    equal($readable, []);
    $dealer->send('x');
    equal($poll->poll($readable, $writable, TIMEOUT_MS), 1);
    equal($readable, [$dealer]);
    equal($dealer->recv(), 'x');
});

test('options', function () {
    global $context;
    $socket = new ZMQSocket($context, ZMQ::SOCKET_DEALER);
    $options = [ZMQ::SOCKOPT_LINGER => 17, ZMQ::SOCKOPT_SNDHWM => 5, ZMQ::SOCKOPT_RCVHWM => 6,
        ZMQ::SOCKOPT_IDENTITY => 'me', ZMQ::SOCKOPT_RECONNECT_IVL => 20, ZMQ::SOCKOPT_MAXMSGSIZE => 12345678901];
    foreach ($options as $name => $value) {
        $socket->setSockOpt($name, $value);
        equal($socket->getSockOpt($name), $value);
    }
    equal($socket->getSockOpt(ZMQ::SOCKOPT_TYPE), ZMQ::SOCKET_DEALER);
});

test('errors', function () {
    global $context;
    $socket = new ZMQSocket($context, ZMQ::SOCKET_REQ);
    equal(code_of(fn () => $socket->recv(ZMQ::MODE_DONTWAIT)), ZMQ::ERR_EFSM);
    equal(code_of(fn () => $socket->connect('nonsense')), 22);
    equal(code_of(fn () => $socket->bind('bad://x')), 93);
    equal(code_of(fn () => $socket->setSockOpt(ZMQ::SOCKOPT_SNDHWM, -1)), 22);
    equal($socket->send('x', ZMQ::MODE_DONTWAIT), false); // EAGAIN
});

$client = [ZMQ::SOCKOPT_CURVE_SERVERKEY => getenv('SERVER_PUBLIC'), ZMQ::SOCKOPT_CURVE_PUBLICKEY => getenv('CLIENT_PUBLIC'),
    ZMQ::SOCKOPT_CURVE_SECRETKEY => getenv('CLIENT_SECRET')];
$server = [ZMQ::SOCKOPT_CURVE_SERVER => 1, ZMQ::SOCKOPT_CURVE_SECRETKEY => getenv('SERVER_SECRET')];
test('curve_client', function () use ($client) { ask(10, $client); });
test('curve_server', function () use ($server) { answer(11, $server); });
