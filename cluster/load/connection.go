package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/ingero-io/ingero/cluster/rawcodec"
	"github.com/ingero-io/ingero/cluster/wire"
)

// connection is a kept connection. It is used by one goroutine at a time.
type connection interface {
	// push sends a request, and reports whether the answer has a threshold from a quorum.
	push(ctx context.Context, body []byte) (quorum bool, err error)
	close()
}

func dial(ctx context.Context, address, token string) (connection, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return nil, fmt.Errorf("invalid address %q: write http://HOST:PORT or grpc://HOST:PORT", address)
	case u.Scheme == "http":
		return dialHTTP(ctx, u.Host, token)
	case u.Scheme == "grpc":
		return dialGRPC(u.Host, token)
	}
	return nil, fmt.Errorf("invalid address %q: want http:// or grpc://", address)
}

// overHTTP is a connection of HTTP/1.1. It does not use net/http, whose client takes more CPU time than the server,
// which shares the CPUs.
type overHTTP struct {
	host, token string
	conn        net.Conn
	in          *bufio.Reader
	out         []byte
	body        []byte
}

func dialHTTP(ctx context.Context, host, token string) (*overHTTP, error) {
	c := &overHTTP{host: host, token: token}
	return c, c.dial(ctx)
}

func (c *overHTTP) dial(ctx context.Context) (err error) {
	if c.conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", c.host); err == nil {
		c.in = bufio.NewReader(c.conn)
	}
	return err
}

func (c *overHTTP) close() {
	if c.conn != nil {
		_ = c.conn.Close() // nothing is in flight
		c.conn = nil
	}
}

func (c *overHTTP) push(ctx context.Context, body []byte) (quorum bool, err error) {
	b := c.begin("POST", wire.PushPath+"?cluster_id="+cluster)
	b = append(b, "Content-Type: "+wire.TypeProtobuf+"\r\nContent-Length: "...)
	b = append(strconv.AppendInt(b, int64(len(body)), 10), "\r\n\r\n"...)
	return c.ask(ctx, append(b, body...))
}

// get sends a GET request, and reports whether the answer has a threshold from a quorum.
func (c *overHTTP) get(ctx context.Context, path string) (quorum bool, err error) {
	return c.ask(ctx, append(c.begin("GET", path), "\r\n"...))
}

func (c *overHTTP) begin(method, path string) []byte {
	b := append(c.out[:0], method...)
	b = append(append(append(b, ' '), path...), " HTTP/1.1\r\nHost: "...)
	b = append(append(b, c.host...), "\r\n"...)
	if c.token != "" {
		b = append(append(append(b, "Authorization: Bearer "...), c.token...), "\r\n"...)
	}
	return b
}

// askTime bounds the time until an answer.
const askTime = 10 * time.Second

// ask sends a request and reads the answer. A connection that has failed is made again by the next request.
func (c *overHTTP) ask(ctx context.Context, request []byte) (quorum bool, err error) {
	c.out = request
	if c.conn == nil {
		if err := c.dial(ctx); err != nil {
			return false, err
		}
	}
	_ = c.conn.SetDeadline(time.Now().Add(askTime)) // fails only if it is closed, which Write reports too
	if _, err = c.conn.Write(request); err == nil {
		quorum, err = c.answer()
	}
	if err != nil {
		c.close()
	}
	return quorum, err
}

var (
	quorumMet     = []byte("x-ingero-quorum-met: true")
	contentLength = []byte("content-length: ")
	statusOK      = []byte("HTTP/1.1 200 ")
	errNoLength   = errors.New("the answer has no valid Content-Length")
)

func (c *overHTTP) answer() (quorum bool, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return false, err
	}
	status := ""
	if !bytes.HasPrefix(line, statusOK) {
		status = string(bytes.TrimSpace(line))
	}
	length := -1
	for {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return false, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case len(line) == 0:
			return quorum, c.rest(length, status)
		case len(line) == len(quorumMet) && bytes.EqualFold(line, quorumMet):
			quorum = true
		case len(line) > len(contentLength) && bytes.EqualFold(line[:len(contentLength)], contentLength):
			if length, err = strconv.Atoi(string(line[len(contentLength):])); err != nil {
				return false, err
			}
		}
	}
}

// rest reads the rest of an answer, of length bytes. status is the status line of an error, empty for success.
func (c *overHTTP) rest(length int, status string) error {
	if length < 0 || length > wire.MaxRequest {
		return errNoLength
	}
	c.body = append(c.body[:0], make([]byte, length)...)
	if _, err := io.ReadFull(c.in, c.body); err != nil {
		return err
	}
	if status == "" {
		return nil
	}
	if why := wire.ParseStatus(c.body); why != "" {
		status += ": " + why
	}
	return errors.New(status)
}

// overGRPC is a gRPC connection.
type overGRPC struct {
	conn  *grpc.ClientConn
	token string
}

func dialGRPC(host, token string) (*overGRPC, error) {
	conn, err := grpc.NewClient("passthrough:///"+host, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawcodec.Codec{})))
	return &overGRPC{conn, token}, err
}

func (c *overGRPC) close() { _ = c.conn.Close() } // nothing is in flight

func (c *overGRPC) push(ctx context.Context, body []byte) (quorum bool, err error) {
	if c.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.token)
	}
	var header metadata.MD
	var out []byte
	if err := c.conn.Invoke(ctx, wire.PushMethod, &body, &out, grpc.Header(&header)); err != nil {
		return false, err
	}
	met := header.Get("ingero-quorum-met")
	return len(met) > 0 && met[0] == "true", nil
}
