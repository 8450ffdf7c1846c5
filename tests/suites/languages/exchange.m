% Exchanges messages with peer.py by Octave's package zeromq: exchange.m connect|bind PREFIX
1;
pkg load zeromq
global is_binding prefix;
arguments = argv();
is_binding = strcmp(arguments{1}, "bind");
prefix = arguments{2};

function socket = open_socket(number, kind, options = {})
  global is_binding prefix;
  socket = zmq_socket(kind);
  for i = 1:2:numel(options)
    zmq_setsockopt(socket, options{i}, options{i + 1});
  end
  endpoint = sprintf("%s%02d", prefix, number);
  if is_binding
    done = zmq_bind(socket, endpoint);
  else
    done = zmq_connect(socket, endpoint);
  end
  equal(logical(done), true);
end

% zmq_recv waits for ever, so this waits at most ten seconds before.
function frame = recv_frame(socket)
  if ! zmq_poll(socket, 10000)
    error("nothing came");
  end
  frame = char(zmq_recv(socket, 300000));
  frame = frame(:)';
end

function frames = recv_frames(socket)
  frames = {recv_frame(socket)};
  while zmq_getsockopt(socket, ZMQ_RCVMORE)
    frames{end + 1} = recv_frame(socket);
  end
end

function send_frames(socket, frames)
  for i = 1:numel(frames)
    flags = ifelse_more(i < numel(frames));
    sent = zmq_send(socket, uint8(frames{i}), flags);
    equal(double(sent), numel(frames{i}));
  end
end

function flags = ifelse_more(is_more)
  flags = 0;
  if is_more
    flags = ZMQ_SNDMORE;
  end
end

function equal(came, right)
  if iscell(right)
    came = cellfun(@(frame) char(frame(:)'), came, "UniformOutput", false);
    same = numel(came) == numel(right) && all(cellfun(@(a, b) (isempty(a) && isempty(b)) || isequal(a, b), came, right));
  else
    same = isequal(came, right);
  end
  if ! same
    error("%s, not %s", disp(came)(1:min(end, 60)), disp(right)(1:min(end, 60)));
  end
end

function test_case(name, body)
  try
    body();
    printf("PASS %s\n", name);
  catch failure
    printf("FAIL %s  %s\n", name, regexprep(failure.message, '\s+', ' '));
  end
  fflush(stdout);
end

function push_pull()
  push = open_socket(1, ZMQ_PUSH);
  pull = open_socket(2, ZMQ_PULL);
  for i = 0:99
    send_frames(push, {sprintf("message %d", i)});
  end
  for i = 0:99
    equal(recv_frames(pull), {sprintf("message %d", i)});
  end
  zmq_close(push);
  zmq_close(pull);
end

function subscriber()
  sub = open_socket(3, ZMQ_SUB, {ZMQ_SUBSCRIBE, "red"});
  for i = 1:20
    equal(isempty(regexp(recv_frames(sub){1}, '^red \d+$')), false);
  end
  zmq_close(sub);
end

function publisher()
  pub = open_socket(4, ZMQ_PUB);
  pull = open_socket(5, ZMQ_PULL);
  count = 0;
  for i = 0:999
    send_frames(pub, {sprintf("blue %d", i)});
    send_frames(pub, {sprintf("red %d", i)});
    if zmq_poll(pull, 10)
      equal(isempty(regexp(recv_frames(pull){1}, '^red \d+$')), false);
      count += 1;
    end
    if count == 20
      break
    end
  end
  equal(count, 20);
  zmq_close(pub);
  zmq_close(pull);
end

function ask(number, options = {})
  req = open_socket(number, ZMQ_REQ, options);
  for i = 0:9
    send_frames(req, {sprintf("question %d", i), ""});
    equal(recv_frames(req), {sprintf("question %d", i), ""});
  end
  zmq_close(req);
end

function answer(number, options = {})
  rep = open_socket(number, ZMQ_REP, options);
  last = "";
  for i = 0:9
    equal(recv_frames(rep), {sprintf("question %d", i), last});
    last = sprintf("answer %d", i);
    send_frames(rep, {last});
  end
  zmq_close(rep);
end

function dealer()
  socket = open_socket(8, ZMQ_DEALER);
  frames = {"first", "", char(repmat(0:255, 1, 1000))};
  send_frames(socket, frames);
  equal(recv_frames(socket), frames);
  zmq_close(socket);
end

function router()
  socket = open_socket(9, ZMQ_ROUTER);
  last = "";
  for i = 0:9
    frames = recv_frames(socket);
    equal(frames(2:end), {sprintf("part %d", i), "", last});
    last = sprintf("answer %d", i);
    send_frames(socket, {frames{1}, "", last});
  end
  zmq_close(socket);
end

function poll()
  socket = open_socket(8, ZMQ_DEALER);
  equal(logical(zmq_poll(socket, 50)), false);
  send_frames(socket, {"x"});
  equal(logical(zmq_poll(socket, 10000)), true);
  equal(recv_frames(socket), {"x"});
  zmq_close(socket);
end

function options()
  socket = zmq_socket(ZMQ_DEALER);
  zmq_setsockopt(socket, ZMQ_BACKLOG, 17);
  equal(double(zmq_getsockopt(socket, ZMQ_BACKLOG)), 17);
  zmq_setsockopt(socket, ZMQ_IDENTITY, "me");
  equal(char(zmq_getsockopt(socket, ZMQ_IDENTITY)), "me");
  equal(double(zmq_getsockopt(socket, ZMQ_TYPE)), double(ZMQ_DEALER));
  zmq_close(socket);
end

function fails(call, words)
  try
    call();
  catch failure
    if isempty(strfind(failure.message, words))
      error("'%s' does not say '%s'", failure.message, words);
    end
    return
  end
  error("no error");
end

function errors()
  socket = zmq_socket(ZMQ_REQ);
  fails(@() zmq_connect(socket, "nonsense"), "Invalid argument");
  fails(@() zmq_bind(socket, "bad://x"), "Protocol not supported");
  equal(isempty(zmq_recv(socket, 10, ZMQ_DONTWAIT)), true);
  zmq_close(socket);
end

test_case("push_pull", @push_pull);
test_case("subscriber", @subscriber);
test_case("publisher", @publisher);
test_case("requester", @() ask(6));
test_case("replier", @() answer(7));
test_case("dealer", @dealer);
test_case("router", @router);
test_case("poll", @poll);
test_case("options", @options);
test_case("errors", @errors);
test_case("curve_client", @() ask(10, {ZMQ_CURVE_SERVERKEY, getenv("SERVER_PUBLIC"), ...
    ZMQ_CURVE_PUBLICKEY, getenv("CLIENT_PUBLIC"), ZMQ_CURVE_SECRETKEY, getenv("CLIENT_SECRET")}));
test_case("curve_server", @() answer(11, {ZMQ_CURVE_SERVER, 1, ZMQ_CURVE_SECRETKEY, getenv("SERVER_SECRET")}));
