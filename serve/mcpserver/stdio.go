package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/serve/webserver"
)

// maxPending is how many requests of one peer may be unanswered before reading stops: a peer that
// does not read answers must wait, and cannot fill memory.
const maxPending = 64

// Stdio serves one peer: one JSON-RPC message a line, until in ends or ctx does. Requests read
// before the end are still answered, so that a file of requests is answered in full.
//
// The SDK's own transport ends at the first line it cannot parse. This one answers such a line with
// an error and continues.
func Stdio(ctx context.Context, server *mcp.Server, in io.Reader, out io.Writer) error {
	c := newLineConn(in, out)
	session, err := server.Connect(ctx, connector{c}, nil)
	if err != nil {
		return fmt.Errorf("serve standard input: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		go session.Close() //nolint:errcheck // its error is what Wait returns
		select {
		case err = <-ended:
		case <-time.After(webserver.Patience):
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if w := c.broken(); w != nil {
		return fmt.Errorf("write to the client: %w", w)
	}
	return err
}

// connector passes a connection to the SDK.
type connector struct{ mcp.Connection }

// Connect implements mcp.Transport.
func (c connector) Connect(context.Context) (mcp.Connection, error) { return c.Connection, nil }

// lineConn is a connection of messages, one a line.
type lineConn struct {
	lines  chan inLine
	freed  chan struct{} // a request was answered
	closed chan struct{}
	close  sync.Once

	mu      sync.Mutex              // guards the next two
	pending map[jsonrpc.ID]struct{} // requests without a result
	open    int                     // requests whose answer is not written

	writing sync.Mutex // guards out, and keeps lines whole
	out     io.Writer
	failed  error // the first failed write
}

type inLine struct {
	text []byte
	err  error
}

func newLineConn(in io.Reader, out io.Writer) *lineConn {
	c := &lineConn{
		lines: make(chan inLine), freed: make(chan struct{}, 1), closed: make(chan struct{}),
		pending: map[jsonrpc.ID]struct{}{}, out: out,
	}
	go c.readLines(newLineReader(in, MaxMessage))
	return c
}

// readLines runs until in ends. A blocked read of standard input cannot be
// interrupted, so Close does not wait for it.
func (c *lineConn) readLines(in *lineReader) {
	for {
		text, err := in.next()
		select {
		case c.lines <- inLine{text, err}:
		case <-c.closed:
			return
		}
		if err != nil && !errors.Is(err, errLong) {
			return
		}
	}
}

// Read implements mcp.Connection. Lines that are not messages are answered here.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if err := c.wait(ctx, maxPending-1); err != nil {
			return nil, err
		}
		var l inLine
		select {
		case l = <-c.lines:
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if l.err != nil && !errors.Is(l.err, errLong) {
			// The SDK cancels running calls when there is no more to read.
			wait, cancel := context.WithTimeout(ctx, webserver.Patience)
			defer cancel()
			_ = c.wait(wait, 0) // calls that have not ended by then are cancelled
			return nil, l.err
		}
		msg, no := c.take(l)
		if no != nil {
			if err := c.write(no.encode()); err != nil {
				return nil, err
			}
		}
		if msg != nil {
			return msg, nil
		}
	}
}

// take parses a line to a message or a refusal; an empty line is neither.
func (c *lineConn) take(l inLine) (jsonrpc.Message, *refusal) {
	text := bytes.TrimSpace(l.text)
	switch {
	case l.err != nil || len(text) > MaxMessage:
		return nil, tooLong()
	case len(text) == 0:
		return nil, nil
	}
	msg, no := decode(text)
	if no != nil {
		return nil, no
	}
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return msg, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, used := c.pending[req.ID]; used {
		return nil, &refusal{
			code: jsonrpc.CodeInvalidRequest,
			why:  fmt.Sprintf("the id %v is in use by a request that is not answered yet", req.ID.Raw()),
		}
	}
	c.pending[req.ID] = struct{}{}
	c.open++
	return msg, nil
}

// wait returns when at most n requests are unanswered.
func (c *lineConn) wait(ctx context.Context, n int) error {
	for {
		c.mu.Lock()
		left := c.open
		c.mu.Unlock()
		if left <= n {
			return nil
		}
		select {
		case <-c.freed:
		case <-c.closed:
			return io.EOF
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Write implements mcp.Connection.
func (c *lineConn) Write(_ context.Context, msg jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	r, ok := msg.(*jsonrpc.Response)
	if !ok {
		return c.write(append(b, '\n'))
	}
	c.mu.Lock()
	_, asked := c.pending[r.ID]
	delete(c.pending, r.ID) // the peer may use the id again as soon as it has the answer
	c.mu.Unlock()
	err = c.write(append(b, '\n'))
	if asked {
		c.mu.Lock()
		c.open--
		c.mu.Unlock()
		select {
		case c.freed <- struct{}{}:
		default:
		}
	}
	return err
}

func (c *lineConn) write(b []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(b)
	if err != nil && c.failed == nil {
		c.failed = err
	}
	return err
}

func (c *lineConn) broken() error {
	if !c.writing.TryLock() {
		return nil // still writing
	}
	defer c.writing.Unlock()
	return c.failed
}

// Close implements mcp.Connection.
func (c *lineConn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return nil
}

// SessionID implements mcp.Connection: there is only one.
func (c *lineConn) SessionID() string { return "" }
