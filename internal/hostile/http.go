package hostile

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
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
//	Plain: yes        without TLS, to a port with TLS, too
//	Protocol: NAME    TLS is asked for this protocol: h2
type request struct {
	raw, slow, plain bool
	endless          int64
	clients          int
	to, protocol     string
	tls              *tls.Config // for addresses with TLS
	bytes            []byte
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
		case "Plain":
			r.plain = true
		case "Protocol":
			r.protocol = value
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

// errTurnedAway says that the attack itself was not sent: no TLS came about, or too many waited at a socket.
var errTurnedAway = errors.New("turned away")

// send sends a request, by as many clients as it says, and returns the answer of the first one whose request was sent.
// Of many clients, some may be turned away before.
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
	sent := slices.IndexFunc(failed, func(err error) bool { return !errors.Is(err, errTurnedAway) })
	if sent < 0 {
		return answer{}, failed[0]
	}
	failed = slices.DeleteFunc(failed, func(err error) bool { return errors.Is(err, errTurnedAway) })
	return all[sent], errors.Join(failed...)
}

// once sends it over a connection of its own. That the program hangs up is no error.
func (r *request) once(ctx context.Context, address string) (answer, error) {
	c, err := r.dial(ctx, address)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = c.Close() }() // it may be closed already
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
		return answer{status: statusOf(b), body: b}, nil
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

// statusOf is the status of an answer to bytes that need not be a request; 0 if it is none.
func statusOf(b []byte) int {
	if res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(b)), nil); err == nil {
		_ = res.Body.Close() // it is read from memory
		return res.StatusCode
	}
	// Frames of HTTP/2: that there are headers says that a stream was answered. Their status is compressed.
	const frame, headers = 9, 1
	for len(b) >= frame {
		if b[3] == headers {
			return http.StatusOK
		}
		n := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		b = b[min(len(b), frame+n):]
	}
	return 0
}

// Addresses begin with these where they are no plain TCP.
const (
	unixAddress = "unix:"
	tlsAddress  = "tls:"
)

// dial connects, with TLS where the address has it.
func (r *request) dial(ctx context.Context, address string) (net.Conn, error) {
	network := "tcp"
	if path, ok := strings.CutPrefix(address, unixAddress); ok {
		network, address = "unix", path
	}
	address, encrypted := strings.CutPrefix(address, tlsAddress)
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	switch {
	case errors.Is(err, syscall.EAGAIN): // TCP waits for a place in the queue; sockets of Unix do not
		return nil, fmt.Errorf("%w: %w", errTurnedAway, err)
	case err != nil:
		return nil, fmt.Errorf("connect: %w", err)
	}
	_ = c.SetDeadline(time.Now().Add(answerTime))
	if !encrypted || r.plain {
		return c, nil
	}
	conf := r.tls.Clone()
	if r.protocol != "" {
		conf.NextProtos = []string{r.protocol}
	}
	t := tls.Client(c, conf)
	err = t.HandshakeContext(ctx)
	if got := t.ConnectionState().NegotiatedProtocol; err == nil && got != r.protocol {
		err = fmt.Errorf("it speaks %q, not %q", got, r.protocol)
	}
	if err != nil {
		_ = c.Close() // nothing was sent
		return nil, fmt.Errorf("%w: %w", errTurnedAway, err)
	}
	return t, nil
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

// tryRequest tries an attack that is a request. conf is for addresses with TLS.
func tryRequest(ctx context.Context, a Attack, addresses map[string]string, conf *tls.Config) (Outcome, error) {
	r, err := parseRequest(a.Input, strings.TrimPrefix(addresses[""], tlsAddress))
	if err != nil {
		return Outcome{}, err
	}
	r.tls = conf
	got, err := r.send(ctx, addresses)
	return Outcome{Refused: got.refused(), Said: string(got.body)}, err
}

// refused reports whether an answer is none, or an error. MCP has its errors in answers that are well by HTTP.
func (a *answer) refused() bool {
	if a.status == 0 || a.status >= http.StatusBadRequest {
		return true
	}
	for line := range bytes.Lines(a.body) {
		var m struct {
			JSONRPC string
			Error   json.RawMessage
			Result  struct{ IsError bool }
		}
		err := json.Unmarshal(bytes.TrimPrefix(line, []byte("data: ")), &m)
		if err == nil && m.JSONRPC != "" && (m.Error != nil || m.Result.IsError) {
			return true
		}
	}
	return false
}
