// A process with go-zeromq/zmq4 sockets that a test controls through standard input; see ../../peer.py.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/security/plain"
)

const (
	counterOctets = 12
	longWait      = 30 * time.Second
	retryInterval = 5 * time.Millisecond
)

var errAgain = errors.New("EAGAIN")

type command struct {
	Number   int             `json:"id"`
	Op       string          `json:"op"`
	Socket   string          `json:"socket"`
	Kind     string          `json:"kind"`
	Option   string          `json:"option"`
	Value    json.RawMessage `json:"value"`
	Endpoint string          `json:"endpoint"`
	Parts    [][]byte        `json:"parts"`
	Prefix   [][]byte        `json:"prefix"`
	Timeout  *int            `json:"timeout"`
	Count    int             `json:"count"`
	Size     int             `json:"size"`
	Skip     int             `json:"skip"`

	RoutingID []byte `json:"ROUTING_ID"`
	Username  []byte `json:"PLAIN_USERNAME"`
	Password  []byte `json:"PLAIN_PASSWORD"`
	Server    int    `json:"PLAIN_SERVER"`
}

type reply struct {
	Number int `json:"id"`
	OK     any `json:"ok"`
}

type failure struct {
	Number int    `json:"id"`
	Error  string `json:"error"`
	Errno  string `json:"errno"`
}

type arrival struct {
	message zmq4.Msg
	err     error
}

// A worker carries out the commands of one socket, in order.
type worker struct {
	commands chan command
	socket   zmq4.Socket
	pending  chan arrival // Of a Recv that outlived its time limit; Recv itself has none.
}

var makers = map[string]func(context.Context, ...zmq4.Option) zmq4.Socket{
	"PAIR": zmq4.NewPair, "PUSH": zmq4.NewPush, "PULL": zmq4.NewPull,
	"PUB": zmq4.NewPub, "SUB": zmq4.NewSub, "XPUB": zmq4.NewXPub, "XSUB": zmq4.NewXSub,
	"REQ": zmq4.NewReq, "REP": zmq4.NewRep, "DEALER": zmq4.NewDealer, "ROUTER": zmq4.NewRouter,
}

func (w *worker) run(output *writer) {
	for c := range w.commands {
		result, err := w.carryOut(c)
		switch {
		case errors.Is(err, errAgain):
			output.write(failure{c.Number, c.Op, "EAGAIN"})
		case err != nil:
			output.write(failure{c.Number, err.Error(), ""})
		default:
			output.write(reply{c.Number, result})
		}
	}
}

func (w *worker) carryOut(c command) (any, error) {
	switch c.Op {
	case "open":
		return nil, w.open(c)
	case "set":
		return nil, w.set(c)
	case "bind":
		return w.bind(c.Endpoint)
	case "connect":
		return nil, w.socket.Dial(c.Endpoint) // Waits for the peer, which ZeroMQ's connect does not.
	case "close":
		return nil, w.socket.Close()
	case "send":
		return nil, w.send(c.Parts, timeout(c))
	case "recv":
		return w.recv(timeout(c))
	case "echo":
		return nil, w.echo(c.Count)
	case "ask":
		return nil, w.ask(c.Count, c.Size)
	case "send_numbered":
		return nil, w.sendNumbered(c)
	case "recv_numbered":
		return nil, w.recvNumbered(c)
	}
	return nil, fmt.Errorf("no such command: %s", c.Op)
}

// Options that the library does not have, such as high-water marks, keep its behaviour.
func (w *worker) open(c command) error {
	options := []zmq4.Option{
		zmq4.WithAutomaticReconnect(true),
		zmq4.WithDialerMaxRetries(-1),
		zmq4.WithDialerRetry(20 * time.Millisecond),
		zmq4.WithLogger(log.New(os.Stderr, "", 0)),
	}
	if c.RoutingID != nil {
		options = append(options, zmq4.WithID(c.RoutingID))
	}
	if c.Server != 0 || c.Username != nil {
		options = append(options, zmq4.WithSecurity(plain.Security(string(c.Username), string(c.Password))))
	}
	w.socket = makers[c.Kind](context.Background(), options...)
	return nil
}

func (w *worker) set(c command) error {
	names := map[string]string{"SUBSCRIBE": zmq4.OptionSubscribe, "UNSUBSCRIBE": zmq4.OptionUnsubscribe}
	var topic []byte
	if err := json.Unmarshal(c.Value, &topic); err != nil {
		return err
	}
	return w.socket.SetOption(names[c.Option], string(topic))
}

func (w *worker) bind(endpoint string) (string, error) {
	err := w.socket.Listen(strings.Replace(endpoint, ":*", ":0", 1))
	if err != nil || strings.HasPrefix(endpoint, "ipc:") {
		return endpoint, err
	}
	return "tcp://" + w.socket.Addr().String(), nil
}

// Some socket types refuse to send while there is no peer, but ZeroMQ's send waits for one.
func (w *worker) send(parts [][]byte, limit time.Duration) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(retryInterval) {
		err := w.socket.SendMulti(zmq4.NewMsgFrom(parts...))
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func (w *worker) recv(limit time.Duration) ([][]byte, error) {
	if w.pending == nil {
		w.pending = make(chan arrival, 1)
		go func(arrivals chan<- arrival) {
			message, err := w.socket.Recv()
			for errors.Is(err, io.EOF) { // A connection has ended; the next one delivers messages again.
				message, err = w.socket.Recv()
			}
			arrivals <- arrival{message, err}
		}(w.pending)
	}
	select {
	case arrived := <-w.pending:
		w.pending = nil
		return withoutNil(arrived.message.Frames), arrived.err
	case <-time.After(limit):
		return nil, errAgain
	}
}

// JSON distinguishes an empty part from a nil one, which the library returns for an empty part.
func withoutNil(parts [][]byte) [][]byte {
	for index, part := range parts {
		if part == nil {
			parts[index] = []byte{}
		}
	}
	return parts
}

func (w *worker) echo(count int) error {
	for range count {
		message, err := w.recv(longWait)
		if err != nil {
			return err
		}
		if err := w.send(message, longWait); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) ask(count, size int) error {
	for index := range count {
		request := numbered(index, size)
		if err := w.send([][]byte{request}, longWait); err != nil {
			return err
		}
		answer, err := w.recv(longWait)
		if err != nil {
			return err
		}
		if len(answer) != 1 || !bytes.Equal(answer[0], request) {
			return fmt.Errorf("request %d was answered with something else", index)
		}
	}
	return nil
}

func (w *worker) sendNumbered(c command) error {
	for index := range c.Count {
		message := append(append([][]byte{}, c.Prefix...), numbered(index, c.Size))
		if err := w.send(message, longWait); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) recvNumbered(c command) error {
	for index := range c.Count {
		message, err := w.recv(longWait)
		if err != nil {
			return fmt.Errorf("message %d: %w", index, err)
		}
		if len(message) != c.Skip+1 || !bytes.Equal(message[c.Skip], numbered(index, c.Size)) {
			return fmt.Errorf("something else came where message %d was due", index)
		}
	}
	return nil
}

// The index-th message of a stream, as peer.py makes it.
func numbered(index, size int) []byte {
	message := bytes.Repeat([]byte{byte(index)}, max(counterOctets, size))
	binary.BigEndian.PutUint32(message, 0)
	binary.BigEndian.PutUint64(message[4:], uint64(index))
	return message
}

func timeout(c command) time.Duration {
	if c.Timeout == nil {
		return longWait
	}
	return time.Duration(*c.Timeout) * time.Millisecond
}

type writer struct {
	mutex sync.Mutex
	lines *json.Encoder
}

func (w *writer) write(line any) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if err := w.lines.Encode(line); err != nil {
		log.Fatal(err)
	}
}

func main() {
	output := &writer{lines: json.NewEncoder(os.Stdout)}
	workers := map[string]*worker{}
	lines := json.NewDecoder(os.Stdin)
	for {
		var c command
		if err := lines.Decode(&c); err != nil {
			return // The test is over. Open sockets are not waited for.
		}
		w, isKnown := workers[c.Socket]
		if !isKnown {
			w = &worker{commands: make(chan command, 64)}
			workers[c.Socket] = w
			go w.run(output)
		}
		w.commands <- c
	}
}
