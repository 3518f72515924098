package hostile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A request is a text as in HTTP: a line with method and path, headers, an empty line, a body. Host and Content-Length
// are added where they are missing. These lines are no headers, but say how it is sent:
//
//	Raw: yes          as it is written, with nothing added; it need not be HTTP
//	Endless: N        so many bytes more of the body are sent, all of them "x"
//	Clients: N        by so many clients, at the same time
//	Slow: yes         the body comes one byte at a time, for a while, and never ends
//	To: NAME          to another address of the program
type request struct {
	raw, slow bool
	endless   int64
	clients   int
	to        string
	bytes     []byte
}

// parseRequest reads one. host is the value of the header Host.
func parseRequest(input []byte, host string) (request, error) {
	r := request{clients: 1}
	head, body, _ := bytes.Cut(input, []byte("\n\n"))
	first, rest, _ := bytes.Cut(head, []byte("\n"))
	var headers []string
	given := map[string]bool{}
	for line := range strings.SplitSeq(string(rest), "\n") {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		var err error
		switch name {
		case "":
		case "Raw":
			r.raw = true
		case "Slow":
			r.slow = true
		case "Endless":
			r.endless, err = strconv.ParseInt(value, 10, 64)
		case "Clients":
			r.clients, err = strconv.Atoi(value)
		case "To":
			r.to = value
		default:
			headers = append(headers, line)
			given[textproto.CanonicalMIMEHeaderKey(name)] = true
		}
		if err != nil {
			return r, err
		}
	}
	if r.raw {
		r.bytes = body
		return r, nil
	}
	if !bytes.Contains(first, []byte("HTTP/")) {
		first = append(bytes.Clone(first), " HTTP/1.1"...)
	}
	if !given["Host"] {
		headers = append(headers, "Host: "+host)
	}
	if !given["Content-Length"] && !given["Transfer-Encoding"] {
		headers = append(headers, fmt.Sprint("Content-Length: ", int64(len(body))+r.endless))
	}
	r.bytes = fmt.Appendf(nil, "%s\r\n%s\r\n\r\n%s", first, strings.Join(headers, "\r\n"), body)
	return r, nil
}

// answer is what came back on one connection.
type answer struct {
	status int // 0: no HTTP, or the connection was closed
	body   []byte
}

const (
	answerTime = 20 * time.Second
	maxAnswer  = 16 << 20 // bytes that are read of an answer
)

// send sends a request, by as many clients as it says, and returns the answer of the first one.
func (r *request) send(ctx context.Context, addresses map[string]string) (answer, error) {
	address, ok := addresses[r.to]
	if !ok {
		return answer{}, fmt.Errorf("there is no address %q", r.to)
	}
	all := make([]answer, r.clients)
	failed := make([]error, r.clients)
	var clients sync.WaitGroup
	for i := range all {
		clients.Go(func() { all[i], failed[i] = r.once(ctx, address) })
	}
	clients.Wait()
	return all[0], errors.Join(failed...)
}

// once sends it over a connection of its own. That the program hangs up is no error.
func (r *request) once(ctx context.Context, address string) (answer, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, address = "unix", path
	}
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return answer{}, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = c.Close() }() // it may be closed already
	_ = c.SetDeadline(time.Now().Add(answerTime))
	written := make(chan struct{})
	go func() {
		defer close(written)
		r.write(c)
	}()
	defer func() {
		_ = c.Close() // for who writes to it
		<-written
	}()
	if r.slow || r.raw { // it need not answer
		_ = c.SetReadDeadline(time.Now().Add(time.Second / 2))
	}
	in := bufio.NewReader(io.LimitReader(c, maxAnswer))
	if r.raw {
		b, _ := io.ReadAll(in)
		return answer{body: b}, nil
	}
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) && !r.slow {
			return answer{}, fmt.Errorf("no answer within %s", answerTime)
		}
		return answer{}, nil // it hung up
	}
	defer res.Body.Close()
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		_ = c.SetReadDeadline(time.Now().Add(time.Second)) // it goes on for as long as the client listens
	}
	b, _ := io.ReadAll(res.Body)
	var h bytes.Buffer
	_ = res.Header.Write(&h)
	return answer{status: res.StatusCode, body: append(h.Bytes(), b...)}, nil
}

func (r *request) write(w io.Writer) {
	if r.slow {
		for _, b := range r.bytes[:min(len(r.bytes), 400)] {
			if _, err := w.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(time.Millisecond) // the attack is that it is slow
		}
		return
	}
	if _, err := w.Write(r.bytes); err != nil {
		return
	}
	_, _ = io.Copy(w, io.LimitReader(xs{}, r.endless))
}

// xs never end.
type xs struct{}

func (xs) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// tryRequest tries an attack that is a request.
func tryRequest(ctx context.Context, a Attack, addresses map[string]string) (Outcome, error) {
	r, err := parseRequest(a.Input, addresses[""])
	if err != nil {
		return Outcome{}, err
	}
	got, err := r.send(ctx, addresses)
	return Outcome{Refused: got.status == 0 || got.status >= http.StatusBadRequest, Said: string(got.body)}, err
}
