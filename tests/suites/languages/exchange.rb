# Exchanges messages with peer.py by ffi-rzmq: exchange.rb connect|bind PREFIX
require 'ffi-rzmq'

ROLE, PREFIX = ARGV
CONTEXT = ZMQ::Context.new
TIMEOUT_MS = 10_000

def ensure_ok(result)
  raise ZMQ::Util.error_string unless ZMQ::Util.resultcode_ok?(result)
end

def open_socket(number, type, options = {})
  socket = CONTEXT.socket(type)
  { ZMQ::LINGER => 0, ZMQ::RCVTIMEO => TIMEOUT_MS, ZMQ::SNDTIMEO => TIMEOUT_MS }.merge(options).each do |name, value|
    ensure_ok socket.setsockopt(name, value)
  end
  endpoint = format('%s%02d', PREFIX, number)
  ensure_ok(ROLE == 'bind' ? socket.bind(endpoint) : socket.connect(endpoint))
  socket
end

def send_frames(socket, *frames)
  ensure_ok socket.send_strings(frames)
end

def recv_frames(socket)
  frames = []
  ensure_ok socket.recv_strings(frames)
  frames
end

def equal(came, right)
  raise "#{came.inspect[0, 60]}, not #{right.inspect[0, 60]}" unless came == right
end

def test(name)
  yield
  puts "PASS #{name}"
rescue StandardError => e
  puts "FAIL #{name}  #{e.message.tr("\n", ' ')}"
end

test 'push_pull' do
  push = open_socket(1, ZMQ::PUSH)
  pull = open_socket(2, ZMQ::PULL)
  sent = (0...100).map { |i| "message #{i}" }
  sent.each { |message| send_frames(push, message) }
  equal(sent.map { recv_frames(pull) }, sent.map { |message| [message] })
  [push, pull].each(&:close)
end

test 'subscriber' do
  sub = open_socket(3, ZMQ::SUB, ZMQ::SUBSCRIBE => 'red')
  came = (0...20).map { recv_frames(sub)[0] }
  equal(came.grep(/^red \d+$/), came)
  sub.close
end

test 'publisher' do
  pub = open_socket(4, ZMQ::PUB)
  pull = open_socket(5, ZMQ::PULL, ZMQ::RCVTIMEO => 10)
  came = []
  1000.times do |i|
    %w[blue red].each { |colour| send_frames(pub, "#{colour} #{i}") }
    frames = []
    came << frames[0] if pull.recv_strings(frames) >= 0 && frames.any?
    break if came.size >= 20
  end
  equal(came.size, 20)
  equal(came.grep(/^red \d+$/), came)
  [pub, pull].each(&:close)
end

def ask(number, options = {})
  req = open_socket(number, ZMQ::REQ, options)
  10.times do |i|
    send_frames(req, "question #{i}", '')
    equal(recv_frames(req), ["question #{i}", ''])
  end
  req.close
end

def answer(number, options = {})
  rep = open_socket(number, ZMQ::REP, options)
  last = ''
  10.times do |i|
    equal(recv_frames(rep), ["question #{i}", last])
    send_frames(rep, last = "answer #{i}")
  end
  rep.close
end

test('requester') { ask(6) }
test('replier') { answer(7) }

test 'dealer' do
  dealer = open_socket(8, ZMQ::DEALER)
  frames = ['first', '', (0..255).map(&:chr).join.b * 1000]
  send_frames(dealer, *frames)
  came = recv_frames(dealer)
  equal(came.map(&:bytes), frames.map(&:bytes))
  dealer.close
end

test 'router' do
  router = open_socket(9, ZMQ::ROUTER)
  last = ''
  10.times do |i|
    id, *frames = recv_frames(router)
    equal(frames, ["part #{i}", '', last])
    send_frames(router, id, '', last = "answer #{i}")
  end
  router.close
end

test 'poll' do
  dealer = open_socket(8, ZMQ::DEALER)
  poller = ZMQ::Poller.new
  poller.register_readable(dealer)
  equal(poller.poll(50), 0)
  equal(poller.readables, [])
  send_frames(dealer, 'x')
  equal(poller.poll(TIMEOUT_MS), 1)
  equal(poller.readables, [dealer])
  equal(recv_frames(dealer), ['x'])
  dealer.close
end

test 'options' do
  socket = CONTEXT.socket(ZMQ::DEALER)
  { ZMQ::LINGER => 17, ZMQ::SNDHWM => 5, ZMQ::RCVHWM => 6, ZMQ::IDENTITY => 'me', ZMQ::RECONNECT_IVL => 20,
    ZMQ::MAXMSGSIZE => 12_345_678_901, ZMQ::AFFINITY => 1 }.each do |name, value|
    ensure_ok socket.setsockopt(name, value)
    came = []
    ensure_ok socket.getsockopt(name, came)
    equal(came, [value])
  end
  came = []
  ensure_ok socket.getsockopt(ZMQ::FD, came)
  equal(came[0] > 2, true)
  socket.close
end

test 'errors' do
  socket = CONTEXT.socket(ZMQ::REQ)
  equal([socket.recv_string(+'', ZMQ::DONTWAIT), ZMQ::Util.errno], [-1, ZMQ::EFSM])
  equal([socket.connect('nonsense'), ZMQ::Util.errno], [-1, Errno::EINVAL::Errno])
  equal([socket.bind('bad://x'), ZMQ::Util.errno], [-1, Errno::EPROTONOSUPPORT::Errno])
  equal([socket.setsockopt(ZMQ::SNDHWM, -1), ZMQ::Util.errno], [-1, Errno::EINVAL::Errno])
  equal([socket.send_string('x', ZMQ::DONTWAIT), ZMQ::Util.errno], [-1, ZMQ::EAGAIN])
  ensure_ok socket.close
end

CLIENT = { ZMQ::CURVE_SERVERKEY => ENV['SERVER_PUBLIC'], ZMQ::CURVE_PUBLICKEY => ENV['CLIENT_PUBLIC'],
           ZMQ::CURVE_SECRETKEY => ENV['CLIENT_SECRET'] }.freeze
SERVER = { ZMQ::CURVE_SERVER => 1, ZMQ::CURVE_SECRETKEY => ENV['SERVER_SECRET'] }.freeze
test('curve_client') { ask(10, CLIENT) }
test('curve_server') { answer(11, SERVER) }
test('terminates') { ensure_ok CONTEXT.terminate }
