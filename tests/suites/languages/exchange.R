# Exchanges messages with peer.py by pbdZMQ: exchange.R connect|bind PREFIX
suppressPackageStartupMessages(library(pbdZMQ))
arguments <- commandArgs(trailingOnly = TRUE)
is_binding <- arguments[1] == "bind"
prefix <- arguments[2]
timeout_ms <- 10000L
context <- zmq.ctx.new()
type <- ZMQ.ST()
option <- ZMQ.SO()
flag <- ZMQ.SR()
strict <- ZMQ.MC(stop.at.error = TRUE)
silent <- ZMQ.MC(warning.at.error = FALSE)

open_socket <- function(number, kind, ...) {
  socket <- zmq.socket(context, kind)
  zmq.setsockopt(socket, option$LINGER, 0L, MC = strict)
  zmq.setsockopt(socket, option$RCVTIMEO, timeout_ms, MC = strict)
  zmq.setsockopt(socket, option$SNDTIMEO, timeout_ms, MC = strict)
  for (set in list(...)) zmq.setsockopt(socket, set[[1]], set[[2]], MC = strict)
  endpoint <- sprintf("%s%02d", prefix, number)
  if (is_binding) zmq.bind(socket, endpoint, MC = strict) else zmq.connect(socket, endpoint, MC = strict)
  socket
}

send_frames <- function(socket, frames) {
  for (i in seq_along(frames)) {
    frame <- frames[[i]]
    if (is.character(frame)) frame <- charToRaw(frame)
    equal(zmq.send(socket, frame, if (i < length(frames)) flag$SNDMORE else 0L), length(frame))
  }
}

recv_raw <- function(socket) {
  frames <- list()
  repeat {
    came <- zmq.recv(socket, 300000L, buf.type = "raw")
    if (came$len < 0) stop("nothing came")
    frames[[length(frames) + 1]] <- came$buf[seq_len(came$len)]
    if (zmq.getsockopt(socket, option$RCVMORE, 0L) == 0) break
  }
  frames
}
recv_frames <- function(socket) lapply(recv_raw(socket), rawToChar)

equal <- function(came, right) {
  if (!identical(came, right) && !isTRUE(all.equal(came, right))) {
    stop(paste(substr(deparse(came)[1], 1, 60), "not", substr(deparse(right)[1], 1, 60)))
  }
}

test <- function(name, body) {
  tryCatch({
    body
    cat("PASS", name, "\n")
  }, error = function(e) cat("FAIL ", name, "  ", gsub("\\s+", " ", conditionMessage(e)), "\n", sep = ""))
}

ask <- function(number, ...) {
  req <- open_socket(number, type$REQ, ...)
  for (i in 0:9) {
    send_frames(req, list(paste("question", i), ""))
    equal(recv_frames(req), list(paste("question", i), ""))
  }
  zmq.close(req)
}

answer <- function(number, ...) {
  rep_socket <- open_socket(number, type$REP, ...)
  last <- ""
  for (i in 0:9) {
    equal(recv_frames(rep_socket), list(paste("question", i), last))
    last <- paste("answer", i)
    send_frames(rep_socket, list(last))
  }
  zmq.close(rep_socket)
}

test("push_pull", {
  push <- open_socket(1, type$PUSH)
  pull <- open_socket(2, type$PULL)
  for (i in 0:99) send_frames(push, list(paste("message", i)))
  for (i in 0:99) equal(recv_frames(pull), list(paste("message", i)))
  zmq.close(push)
  zmq.close(pull)
})

test("subscriber", {
  sub <- open_socket(3, type$SUB, list(option$SUBSCRIBE, "red"))
  for (i in 1:20) equal(grepl("^red [0-9]+$", recv_frames(sub)[[1]]), TRUE)
  zmq.close(sub)
})

test("publisher", {
  pub <- open_socket(4, type$PUB)
  pull <- open_socket(5, type$PULL)
  count <- 0
  for (i in 0:999) {
    send_frames(pub, list(paste("blue", i)))
    send_frames(pub, list(paste("red", i)))
    zmq.poll(c(pull), c(ZMQ.PO()$POLLIN), 10L)
    if (zmq.poll.get.revents(1) == ZMQ.PO()$POLLIN) {
      equal(grepl("^red [0-9]+$", recv_frames(pull)[[1]]), TRUE)
      count <- count + 1
    }
    if (count == 20) break
  }
  equal(count, 20)
  zmq.close(pub)
  zmq.close(pull)
})

test("requester", ask(6))
test("replier", answer(7))

test("dealer", {
  dealer <- open_socket(8, type$DEALER)
  frames <- list(charToRaw("first"), raw(0), rep(as.raw(0:255), 1000))
  send_frames(dealer, frames)
  equal(recv_raw(dealer), frames)
  zmq.close(dealer)
})

test("router", {
  router <- open_socket(9, type$ROUTER)
  last <- ""
  for (i in 0:9) {
    frames <- recv_raw(router)
    equal(lapply(frames[-1], rawToChar), list(paste("part", i), "", last))
    last <- paste("answer", i)
    send_frames(router, list(frames[[1]], "", last))
  }
  zmq.close(router)
})

test("poll", {
  dealer <- open_socket(8, type$DEALER)
  zmq.poll(c(dealer), c(ZMQ.PO()$POLLIN), 50L)
  equal(zmq.poll.get.revents(1), 0L)
  send_frames(dealer, list("x"))
  zmq.poll(c(dealer), c(ZMQ.PO()$POLLIN), timeout_ms)
  equal(zmq.poll.get.revents(1), ZMQ.PO()$POLLIN)
  equal(recv_frames(dealer), list("x"))
  zmq.close(dealer)
})

test("options", {
  socket <- zmq.socket(context, type$DEALER)
  for (set in list(list(option$LINGER, 17L), list(option$SNDHWM, 5L), list(option$RCVHWM, 6L))) {
    zmq.setsockopt(socket, set[[1]], set[[2]], MC = strict)
    equal(zmq.getsockopt(socket, set[[1]], 0L, MC = strict), set[[2]])
  }
  equal(zmq.getsockopt(socket, option$TYPE, 0L, MC = strict), type$DEALER)
  zmq.close(socket)
})

test("errors", {
  socket <- zmq.socket(context, type$REQ)
  equal(is.null(zmq.connect(socket, "nonsense", MC = silent)), TRUE)
  equal(is.null(zmq.bind(socket, "bad://x", MC = silent)), TRUE)
  equal(is.null(zmq.setsockopt(socket, option$SNDHWM, -1L, MC = silent)), TRUE)
  equal(zmq.send(socket, "x", flag$DONTWAIT), -1L)
  equal(zmq.recv(socket, 10L, flag$DONTWAIT)$len, -1L)
  zmq.close(socket)
})

test("curve_client", ask(10, list(option$CURVE_SERVERKEY, Sys.getenv("SERVER_PUBLIC")),
  list(option$CURVE_PUBLICKEY, Sys.getenv("CLIENT_PUBLIC")), list(option$CURVE_SECRETKEY, Sys.getenv("CLIENT_SECRET"))))
test("curve_server", answer(11, list(option$CURVE_SERVER, 1L), list(option$CURVE_SECRETKEY, Sys.getenv("SERVER_SECRET"))))
