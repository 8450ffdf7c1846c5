// SPDX-License-Identifier: MPL-2.0

// ZLINK_STREAM with github.com/gorilla/websocket at the other end, as client and as server, over ws and wss. The
// program web_peer, which WEB_PEER names, is zlink's side; CERTIFICATES names the folder with its certificate.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	longest     = 20 * time.Second
	connections = 64
)

// check ends the running test unless `holds`.
func check(holds bool, otherwise string, arguments ...any) {
	if !holds {
		panic(fmt.Errorf(otherwise, arguments...))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// owner releases the resources of a test when the test ends.
type owner struct{ ends []func() }

func (o *owner) own(end func()) { o.ends = append(o.ends, end) }

func test(name string, body func(o *owner)) {
	o := &owner{}
	outcome := make(chan any, 1)
	go func() {
		defer func() { outcome <- recover() }()
		body(o)
	}()
	var failure any
	select {
	case failure = <-outcome:
	case <-time.After(2 * longest):
		failure = "the end of the test did not come"
	}
	if failure != nil {
		fmt.Printf("FAIL %s  %v\n", name, failure)
	} else {
		fmt.Println("PASS", name)
	}
	for _, end := range o.ends {
		end()
	}
}

// peer is a running web_peer.
type peer struct {
	endpoint string
	lines    chan string
}

func startPeer(o *owner, arguments ...string) *peer {
	command := exec.Command(os.Getenv("WEB_PEER"), arguments...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	must(err)
	must(command.Start())
	o.own(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	started := &peer{lines: make(chan string, 1000)}
	go func() {
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			started.lines <- scanner.Text()
		}
	}()
	started.endpoint = started.line()
	return started
}

func (p *peer) line() string {
	select {
	case line := <-p.lines:
		return line
	case <-time.After(longest):
		panic(errors.New("web_peer says nothing"))
	}
}

// says reads the next line, which must match.
func (p *peer) says(pattern string) {
	line := p.line()
	check(regexp.MustCompile(pattern).MatchString(line), "web_peer says %q, not %s", line, pattern)
}

// payload is the content that web_peer generates.
func payload(size int) []byte {
	made := make([]byte, size)
	for index := range made {
		made[index] = byte(index*7 + index/251)
	}
	return made
}

// end is one end of a connection, which records pings and pongs while it reads.
type end struct {
	*websocket.Conn
	pings, pongs []string
}

func newEnd(o *owner, connection *websocket.Conn) *end {
	made := &end{Conn: connection}
	answer := connection.PingHandler()
	connection.SetPingHandler(func(said string) error {
		made.pings = append(made.pings, said)
		return answer(said)
	})
	connection.SetPongHandler(func(said string) error {
		made.pongs = append(made.pongs, said)
		return nil
	})
	must(connection.SetReadDeadline(time.Now().Add(longest)))
	o.own(func() { _ = connection.Close() })
	return made
}

func (e *end) gets(kind int, expected []byte) {
	got, message, err := e.ReadMessage()
	must(err)
	check(got == kind && bytes.Equal(message, expected), "%d bytes came back as %d others", len(expected), len(message))
}

func (e *end) echoes(kind int, message []byte) {
	must(e.WriteMessage(kind, message))
	e.gets(kind, message)
}

func (e *end) asks(command string) { must(e.WriteMessage(websocket.TextMessage, []byte(command))) }

// isClosedWith reads to the end, and then closes, as an application does.
func (e *end) isClosedWith(code int, text string) {
	_, _, err := e.ReadMessage()
	var closed *websocket.CloseError
	check(errors.As(err, &closed), "the end is %v", err)
	check(closed.Code == code && closed.Text == text, "the end is %v", closed)
	must(e.Close())
}

func folder(name string) string { return os.Getenv("CERTIFICATES") + "/" + name }

func identity(scheme string) []string {
	if scheme == "ws" {
		return nil
	}
	return []string{"certificate=" + folder("server.crt"), "key=" + folder("server.key")}
}

func trust(scheme string) []string {
	if scheme == "ws" {
		return nil
	}
	return []string{"ca=" + folder("authority.crt")}
}

func bind(o *owner, scheme string, options ...string) *peer {
	return startPeer(o, append(append([]string{"bind", scheme + "://127.0.0.1:*/chat"}, identity(scheme)...), options...)...)
}

func dialer() *websocket.Dialer {
	authority, err := os.ReadFile(folder("authority.crt"))
	must(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	return &websocket.Dialer{HandshakeTimeout: longest, TLSClientConfig: &tls.Config{RootCAs: pool}}
}

func connect(o *owner, endpoint string, subprotocols ...string) *end {
	by := dialer()
	by.Subprotocols = subprotocols
	connection, _, err := by.Dial(endpoint, nil)
	must(err)
	return newEnd(o, connection)
}

// server provides the connections made to it, and their requests.
type server struct {
	endpoint    string
	connections chan *websocket.Conn
	requests    chan *http.Request
}

func serve(o *owner, scheme string, upgrader websocket.Upgrader) *server {
	made := &server{connections: make(chan *websocket.Conn, connections), requests: make(chan *http.Request, connections)}
	handler := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if connection, err := upgrader.Upgrade(w, request, nil); err == nil {
			made.connections <- connection
			made.requests <- request
		}
	})
	listening := httptest.NewUnstartedServer(handler)
	if scheme == "wss" {
		own, err := tls.LoadX509KeyPair(folder("server.crt"), folder("server.key"))
		must(err)
		listening.TLS = &tls.Config{Certificates: []tls.Certificate{own}}
		listening.StartTLS()
	} else {
		listening.Start()
	}
	o.own(func() { _ = listening.Listener.Close() })
	_, address, _ := strings.Cut(listening.URL, "://")
	made.endpoint = scheme + "://" + address + "/chat?room=1"
	return made
}

func (s *server) next(o *owner) *end {
	select {
	case connection := <-s.connections:
		return newEnd(o, connection)
	case <-time.After(longest):
		panic(errors.New("nobody connects"))
	}
}

func reached(o *owner, scheme string, upgrader websocket.Upgrader, options ...string) (*end, *peer, *server) {
	serving := serve(o, scheme, upgrader)
	from := startPeer(o, append(append([]string{"connect", serving.endpoint}, trust(scheme)...), options...)...)
	return serving.next(o), from, serving
}

// bothRoles tests behaviour that does not depend on which side has connected.
func bothRoles(name string, connected func(o *owner, options ...string) (*end, *peer)) {
	test(name+": text", func(o *owner) {
		at, _ := connected(o)
		for _, text := range []string{"", "x", "grün 😀", strings.Repeat("y", 126), strings.Repeat("z", 65536)} {
			at.echoes(websocket.TextMessage, []byte(text))
		}
	})
	test(name+": binary, up to 1 MiB", func(o *owner) {
		at, _ := connected(o)
		for _, size := range []int{0, 1, 125, 126, 65535, 65536, 1 << 20} {
			at.echoes(websocket.BinaryMessage, payload(size))
		}
	})
	test(name+": 1 MiB that zlink makes", func(o *owner) {
		at, _ := connected(o)
		at.asks("!send 1048576")
		at.gets(websocket.BinaryMessage, payload(1<<20))
	})
	test(name+": fragments, with a ping between them", func(o *owner) {
		at, _ := connected(o)
		whole := payload(300_000) // Written in pieces of the write buffer, a frame each.
		writer, err := at.NextWriter(websocket.BinaryMessage)
		must(err)
		for index := 0; index < len(whole); index += 50_000 {
			_, err = writer.Write(whole[index : index+50_000])
			must(err)
			must(at.WriteControl(websocket.PingMessage, []byte("inside"), time.Now().Add(longest)))
		}
		must(writer.Close())
		at.gets(websocket.BinaryMessage, whole)
		check(len(at.pongs) == 6 && at.pongs[0] == "inside", "%d pongs", len(at.pongs))
	})
	test(name+": our ping is answered", func(o *owner) {
		at, _ := connected(o)
		for _, said := range []string{"", "x", strings.Repeat("y", 125)} {
			at.pongs = nil
			must(at.WriteControl(websocket.PingMessage, []byte(said), time.Now().Add(longest)))
			at.echoes(websocket.TextMessage, []byte("behind"))
			check(len(at.pongs) == 1 && at.pongs[0] == said, "the pongs are %q", at.pongs)
		}
	})
	test(name+": zlink pings, and takes the pong", func(o *owner) {
		at, other := connected(o, "heartbeat=50")
		other.says("^come ")
		for count := 0; len(at.pings) < 5; count++ {
			check(count < 100_000, "%d pings", len(at.pings))
			at.echoes(websocket.TextMessage, []byte("still here"))
		}
		check(len(other.lines) == 0, "web_peer has dropped who answered")
	})
	for _, closing := range []struct {
		code int
		text string
	}{{1000, "done"}, {1001, "leaving"}, {4321, "grün"}} {
		closing := closing
		test(fmt.Sprintf("%s: gorilla closes with %d", name, closing.code), func(o *owner) {
			at, other := connected(o)
			other.says("^come ")
			said := websocket.FormatCloseMessage(closing.code, closing.text)
			must(at.WriteControl(websocket.CloseMessage, said, time.Now().Add(longest)))
			at.isClosedWith(closing.code, "")
			other.says(fmt.Sprintf("^gone \\d+ %d %s$", closing.code, closing.text))
		})
		test(fmt.Sprintf("%s: zlink closes with %d", name, closing.code), func(o *owner) {
			at, other := connected(o)
			other.says("^come ")
			at.asks(fmt.Sprintf("!close %d %s", closing.code, closing.text))
			at.isClosedWith(closing.code, closing.text)
			other.says(fmt.Sprintf("^gone \\d+ %d %s$", closing.code, closing.text))
		})
	}
	test(name+": gorilla vanishes", func(o *owner) {
		at, other := connected(o)
		other.says("^come ")
		must(at.Close())
		other.says("^gone \\d+ 1006 ")
	})
}

func exchangeOnMany(ends []*end) {
	var all sync.WaitGroup
	failures := make(chan any, len(ends))
	for index, each := range ends {
		all.Add(1)
		go func(index int, at *end) {
			defer all.Done()
			defer func() {
				if failure := recover(); failure != nil {
					failures <- failure
				}
			}()
			for round := 0; round < 20; round++ {
				at.echoes(websocket.TextMessage, []byte(fmt.Sprint(index, round, strings.Repeat("x", round*index))))
			}
		}(index, each)
	}
	all.Wait()
	if len(failures) > 0 {
		panic(<-failures)
	}
}

func asClient(scheme string) {
	name := scheme + ": gorilla is the client"
	bothRoles(name, func(o *owner, options ...string) (*end, *peer) {
		other := bind(o, scheme, options...)
		return connect(o, other.endpoint), other
	})
	test(name+": the server's favourite subprotocol is agreed on", func(o *owner) {
		other := bind(o, scheme, "subprotocols=two,one")
		at := connect(o, other.endpoint, "three", "one", "two")
		check(at.Subprotocol() == "two", "the subprotocol is %q", at.Subprotocol())
		other.says(`\|Subprotocol: two$`)
		check(connect(o, other.endpoint, "four").Subprotocol() == "", "a subprotocol that nobody has offered")
	})
	test(name+": a client that offers compression is served", func(o *owner) {
		by := dialer()
		by.EnableCompression = true
		connection, _, err := by.Dial(bind(o, scheme).endpoint, nil)
		must(err)
		newEnd(o, connection).echoes(websocket.TextMessage, []byte("hello"))
	})
	test(name+": an Origin that is not listed is refused", func(o *owner) {
		other := bind(o, scheme, "origins=https://example.org")
		_, answer, err := dialer().Dial(other.endpoint, http.Header{"Origin": {"https://example.com"}})
		check(err == websocket.ErrBadHandshake && answer.StatusCode == 403, "the answer is %v", answer)
		connection, _, err := dialer().Dial(other.endpoint, http.Header{"Origin": {"https://example.org"}})
		must(err)
		newEnd(o, connection)
		other.says(`\|Origin: https://example\.org$`)
	})
	test(fmt.Sprintf("%s: %d connections, and a message to all of them", name, connections), func(o *owner) {
		other := bind(o, scheme)
		ends := make([]*end, connections)
		for index := range ends {
			ends[index] = connect(o, other.endpoint)
		}
		exchangeOnMany(ends)
		ends[0].asks("!all 100000")
		for _, each := range ends {
			each.gets(websocket.BinaryMessage, payload(100_000))
		}
		ends[0].gets(websocket.TextMessage, []byte(fmt.Sprint(connections)))
	})
}

func asServer(scheme string) {
	name := scheme + ": gorilla is the server"
	bothRoles(name, func(o *owner, options ...string) (*end, *peer) {
		at, other, _ := reached(o, scheme, websocket.Upgrader{}, options...)
		return at, other
	})
	test(name+": a subprotocol is agreed on", func(o *owner) {
		at, other, serving := reached(o, scheme, websocket.Upgrader{Subprotocols: []string{"two"}}, "subprotocols=one,two")
		check(at.Subprotocol() == "two", "the subprotocol is %q", at.Subprotocol())
		asked := <-serving.requests
		check(asked.URL.String() == "/chat?room=1", "the path is %s", asked.URL)
		offered := websocket.Subprotocols(asked)
		check(strings.Join(offered, " ") == "one two", "the offer is %q", offered)
		other.says(`\|Path: /chat\?room=1\|Subprotocol: two$`)
	})
	test(fmt.Sprintf("%s: %d connections", name, connections), func(o *owner) {
		first, _, serving := reached(o, scheme, websocket.Upgrader{}, fmt.Sprintf("times=%d", connections))
		ends := []*end{first}
		for len(ends) < connections {
			ends = append(ends, serving.next(o))
		}
		exchangeOnMany(ends)
	})
}

func main() {
	for _, scheme := range []string{"ws", "wss"} {
		asClient(scheme)
		asServer(scheme)
	}
}
