// SPDX-License-Identifier: MPL-2.0

// net/http as a client, and its http.ServeContent as the server that zlink is compared with:
//
//	go_client BASE FOLDER SUMS AUTHORITY
//
// SUMS has a line 'SHA256 BYTES NAME' for each file to fetch.
package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	longest    = 60 * time.Second
	rangeCount = 20
	rangeMax   = 1_000_000
	compared   = "text.txt"
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

func test(name string, body func()) {
	defer func() {
		if failure := recover(); failure != nil {
			fmt.Printf("FAIL %s  %v\n", name, failure)
		} else {
			fmt.Println("PASS", name)
		}
	}()
	body()
}

// client fetches from one server, and counts its connections.
type client struct {
	http        *http.Client
	base        string
	connections int
}

type reply struct {
	status  int
	fields  http.Header
	content []byte
}

func newClient(base string, trusted *x509.CertPool) *client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, DisableCompression: true}
	return &client{http: &http.Client{Transport: transport, Timeout: longest}, base: base}
}

// get fetches a file by its name, with header fields 'name: value'.
func (c *client) get(method, name string, fields ...string) reply {
	request, err := http.NewRequest(method, c.base+(&url.URL{Path: "/" + name}).EscapedPath(), nil)
	must(err)
	for _, field := range fields {
		key, value, _ := strings.Cut(field, ": ")
		request.Header.Add(key, value)
	}
	trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		if !got.Reused {
			c.connections++
		}
	}}
	response, err := c.http.Do(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
	must(err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	must(err)
	return reply{response.StatusCode, response.Header, content}
}

func testWhole(c *client, sums string) {
	lines, err := os.ReadFile(sums)
	must(err)
	for _, line := range strings.Split(strings.TrimSpace(string(lines)), "\n") {
		parts := strings.SplitN(line, " ", 3)
		test("whole "+parts[2], func() {
			answer := c.get("GET", parts[2])
			sum := sha256.Sum256(answer.content)
			check(answer.status == 200, "the status is %d", answer.status)
			check(fmt.Sprint(len(answer.content)) == parts[1], "%d bytes, not %s", len(answer.content), parts[1])
			check(hex.EncodeToString(sum[:]) == parts[0], "the content differs")
		})
	}
}

func testRanges(c *client, folder string) {
	whole, err := os.ReadFile(filepath.Join(folder, "random.bin"))
	must(err)
	test("ranges", func() {
		chosen := rand.New(rand.NewSource(1))
		for count := 0; count < rangeCount; count++ {
			first := chosen.Intn(len(whole))
			last := first + chosen.Intn(rangeMax)
			if last >= len(whole) {
				last = len(whole) - 1
			}
			answer := c.get("GET", "random.bin", fmt.Sprintf("Range: bytes=%d-%d", first, last))
			check(answer.status == 206, "the status is %d", answer.status)
			expected := fmt.Sprintf("bytes %d-%d/%d", first, last, len(whole))
			found := answer.fields.Get("Content-Range")
			check(found == expected, "Content-Range is %s, not %s", found, expected)
			check(bytes.Equal(answer.content, whole[first:last+1]), "the content of %s differs", expected)
		}
	})
	test("several ranges, read by mime/multipart", func() {
		answer := c.get("GET", "random.bin", "Range: bytes=0-9,1000-1999,-10")
		kind, parameters, err := mime.ParseMediaType(answer.fields.Get("Content-Type"))
		must(err)
		check(answer.status == 206 && kind == "multipart/byteranges", "%d, %s", answer.status, kind)
		reader := multipart.NewReader(bytes.NewReader(answer.content), parameters["boundary"])
		for _, expected := range [][2]int{{0, 9}, {1000, 1999}, {len(whole) - 10, len(whole) - 1}} {
			part, err := reader.NextPart()
			must(err)
			content, err := io.ReadAll(part)
			must(err)
			where := fmt.Sprintf("bytes %d-%d/%d", expected[0], expected[1], len(whole))
			check(part.Header.Get("Content-Range") == where, "Content-Range is not %s", where)
			check(bytes.Equal(content, whole[expected[0]:expected[1]+1]), "the content of %s differs", where)
		}
		_, err = reader.NextPart()
		check(err == io.EOF, "there is a further part")
	})
}

// serveContent is a server of Go's for the file that is compared, with the tag that zlink gives it.
func serveContent(folder, tag string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		file, err := os.Open(filepath.Join(folder, compared))
		must(err)
		defer file.Close()
		info, err := file.Stat()
		must(err)
		writer.Header().Set("ETag", tag)
		http.ServeContent(writer, request, compared, info.ModTime(), file)
	}))
}

// testLikeServeContent sends the same requests to zlink and to Go's server, and compares what comes back.
func testLikeServeContent(c *client, folder string) {
	first := c.get("HEAD", compared)
	tag, date := first.fields.Get("ETag"), first.fields.Get("Last-Modified")
	size := first.fields.Get("Content-Length")
	other := serveContent(folder, tag)
	defer other.Close()
	reference := newClient(other.URL, nil)
	written, err := time.Parse(http.TimeFormat, date)
	must(err)
	later := written.Add(time.Hour).Format(http.TimeFormat)
	earlier := written.Add(-time.Hour).Format(http.TimeFormat)
	for _, fields := range [][]string{
		{},
		{"If-None-Match: " + tag},
		{"If-None-Match: W/" + tag},
		{"If-None-Match: *"},
		{`If-None-Match: "a", "b"`},
		{`If-None-Match: "a", ` + tag},
		{`If-None-Match: "a", W/` + tag + `, "b"`},
		{"If-Match: " + tag},
		{"If-Match: W/" + tag},
		{"If-Match: *"},
		{`If-Match: "a", "b"`},
		{`If-Match: "a", ` + tag},
		{"If-Modified-Since: " + date},
		{"If-Modified-Since: " + later},
		{"If-Modified-Since: " + earlier},
		{"If-Modified-Since: yesterday"},
		{"If-Unmodified-Since: " + date},
		{"If-Unmodified-Since: " + later},
		{"If-Unmodified-Since: " + earlier},
		{"If-Unmodified-Since: yesterday"},
		{`If-None-Match: "a"`, "If-Modified-Since: " + later},
		{"If-None-Match: " + tag, "If-Modified-Since: " + earlier},
		{"If-Match: " + tag, "If-Unmodified-Since: " + earlier},
		{"If-Match: " + tag, "If-None-Match: " + tag},
		{`If-Match: "a"`, "If-None-Match: " + tag},
		{"Range: bytes=0-9"},
		{"Range: bytes=0-0"},
		{"Range: bytes=10-"},
		{"Range: bytes=-10"},
		{"Range: bytes=0-99999999"},
		{"Range: bytes=-99999999"},
		{"Range: bytes=" + size + "-"},
		{"Range: bytes=0-0,-1"},
		{"Range: bytes=0-9, 20-29"},
		{"Range: bytes=0-9", "If-Range: " + tag},
		{"Range: bytes=0-9", "If-Range: W/" + tag},
		{"Range: bytes=0-9", `If-Range: "a"`},
		{"Range: bytes=0-9", "If-Range: " + date},
		{"Range: bytes=0-9", "If-Range: " + earlier},
		{"Range: bytes=0-9", "If-None-Match: " + tag},
		{"Range: bytes=0-9", `If-Match: "a"`},
		{"Range: bytes=0-9", "If-Modified-Since: " + date},
	} {
		joined := strings.ReplaceAll(strings.Join(fields, "; "), ": ", "=")
		test("as http.ServeContent, GET "+joined, func() {
			compare(c.get("GET", compared, fields...), reference.get("GET", compared, fields...))
		})
		if !strings.HasPrefix(joined, "Range") {
			test("as http.ServeContent, HEAD "+joined, func() {
				compare(c.get("HEAD", compared, fields...), reference.get("HEAD", compared, fields...))
			})
		}
	}
	// http.ServeContent does not do these as RFC 9110, 14.2, says.
	for _, request := range [][]string{{"HEAD", "bytes=0-9"}, {"HEAD", "bytes=" + size + "-"}, {"GET", "lines=0-9"}} {
		test(fmt.Sprintf("the range is ignored, %s %s", request[0], request[1]), func() {
			answer, plain := c.get(request[0], compared, "Range: "+request[1]), c.get(request[0], compared)
			check(answer.status == 200, "the status is %d", answer.status)
			check(answer.fields.Get("Content-Length") == size, "Content-Length is %s", answer.fields.Get("Content-Length"))
			check(bytes.Equal(answer.content, plain.content), "the content differs")
		})
	}
	if answer := c.get("GET", compared, "If-None-Match: *"); answer.fields.Get("Last-Modified") != "" {
		fmt.Println("NOTE 304 has Last-Modified beside ETag, which RFC 9110, 15.4.5, advises against")
	}
}

func compare(found, expected reply) {
	check(found.status == expected.status, "the status is %d, not %d", found.status, expected.status)
	names := []string{"Content-Range", "ETag"}
	if expected.status != http.StatusNotModified {
		names = append(names, "Last-Modified")
	}
	for _, name := range names {
		same := found.fields.Get(name) == expected.fields.Get(name)
		check(same, "%s is %q, not %q", name, found.fields.Get(name), expected.fields.Get(name))
	}
	if found.status == 200 || found.status == 206 {
		check(bytes.Equal(partsOf(found), partsOf(expected)), "the content differs")
	}
}

// partsOf is the content without what divides its parts, which each server chooses for itself.
func partsOf(answer reply) []byte {
	kind, parameters, err := mime.ParseMediaType(answer.fields.Get("Content-Type"))
	must(err)
	if kind != "multipart/byteranges" || len(answer.content) == 0 {
		return answer.content
	}
	var found bytes.Buffer
	for reader := multipart.NewReader(bytes.NewReader(answer.content), parameters["boundary"]); ; {
		part, err := reader.NextPart()
		if err == io.EOF {
			return found.Bytes()
		}
		must(err)
		fmt.Fprintln(&found, part.Header.Get("Content-Range"))
		_, err = io.Copy(&found, part)
		must(err)
	}
}

func main() {
	base, folder, sums := os.Args[1], os.Args[2], os.Args[3]
	authority, err := os.ReadFile(os.Args[4])
	must(err)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	c := newClient(base, trusted)
	testWhole(c, sums)
	testRanges(c, folder)
	testLikeServeContent(c, folder)
	test("one connection", func() { check(c.connections == 1, "there were %d", c.connections) })
}
