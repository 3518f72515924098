// Package nodes sends the same question to many nodes at once and combines their answers. Nodes
// that do not answer are part of the result: it says which nodes are missing and why. It knows the
// nodes' API (package wire), not how it is served.
package nodes

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ingero-io/ingero/serve/nodeapi/wire"
)

// Config says which nodes to ask, and how to reach them.
type Config struct {
	Nodes     []string         // HOST:PORT
	TLS       *tls.Config      // nil: HTTP without TLS
	Token     string           // sent to each node; empty: none
	Timeout   time.Duration    // for one node to answer; 0: DefaultTimeout
	MaxOffset time.Duration    // difference of clocks from which there is a warning; 0: DefaultMaxOffset
	Now       func() time.Time // nil: time.Now
}

// The defaults.
const (
	DefaultTimeout   = 10 * time.Second
	DefaultMaxOffset = 10 * time.Millisecond
	DefaultPort      = "8080"
)

// maxNodes bounds the number of nodes: each takes a connection.
const maxNodes = 1024

// Validate checks the list of nodes.
func (c *Config) Validate() error {
	if len(c.Nodes) == 0 {
		return errors.New("there are no nodes to ask")
	}
	if len(c.Nodes) > maxNodes {
		return fmt.Errorf("too many nodes: %d, at most %d", len(c.Nodes), maxNodes)
	}
	seen := map[string]bool{}
	for _, n := range c.Nodes {
		host, port, err := net.SplitHostPort(n)
		if err != nil || host == "" || port == "" || strings.ContainsAny(n, "/@ \t") {
			return fmt.Errorf("invalid node %q: want HOST:PORT, like gpu-node-01:%s", n, DefaultPort)
		}
		if seen[n] {
			return fmt.Errorf("the node %s is listed twice", n)
		}
		seen[n] = true
	}
	return nil
}

// Client asks a set of nodes. Its methods may be called by several goroutines.
type Client struct {
	config Config
	scheme string
	client *http.Client
	asking sync.Map // addresses of nodes that asked for a client certificate
}

// New makes a client. It does not connect to nodes yet.
func New(c Config) (*Client, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.MaxOffset <= 0 {
		c.MaxOffset = DefaultMaxOffset
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	cl := &Client{config: c, scheme: "http"}
	t := &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true}
	if c.TLS != nil {
		cl.scheme, t.TLSClientConfig = "https", cl.showing(c.TLS)
	}
	cl.client = &http.Client{
		Transport:     t, // without a proxy: the token is only for the nodes
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return cl, nil
}

// Nodes are the nodes' addresses.
func (cl *Client) Nodes() []string { return slices.Clone(cl.config.Nodes) }

// Close closes idle connections.
func (cl *Client) Close() { cl.client.CloseIdleConnections() }

// Failure is a node that did not answer.
type Failure struct {
	Node  string `json:"node"` // its address
	Error string `json:"error"`
}

// reply is one node's answer.
type reply[T any] struct {
	address string
	value   T
	err     error
}

// each asks all nodes at once and returns their replies in the order of the nodes.
func each[T any](ctx context.Context, cl *Client, ask func(ctx context.Context, address string) (T, error)) []reply[T] {
	replies := make([]reply[T], len(cl.config.Nodes))
	var wg sync.WaitGroup
	for i, address := range cl.config.Nodes {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, cl.config.Timeout)
			defer cancel()
			v, err := ask(ctx, address)
			if err != nil && ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				err = fmt.Errorf("no answer within %s", cl.config.Timeout)
			}
			replies[i] = reply[T]{address, v, err}
		})
	}
	wg.Wait()
	return replies
}

// split separates replies from failures. Without any reply it returns an error.
func split[T any](replies []reply[T]) (good []reply[T], failed []Failure, err error) {
	failed = []Failure{}
	for _, r := range replies {
		if r.err != nil {
			failed = append(failed, Failure{r.address, r.err.Error()})
		} else {
			good = append(good, r)
		}
	}
	if len(good) > 0 {
		return good, failed, nil
	}
	lines := []string{}
	for _, n := range failed {
		lines = append(lines, "  "+n.Node+": "+n.Error)
	}
	return nil, failed, fmt.Errorf("none of %d node(s) answered:\n%s", len(failed), strings.Join(lines, "\n"))
}

var errGarbage = errors.New("it answers, but not as an Ingero node does")

// maxAnswer bounds the length of a node's answer, in bytes.
const maxAnswer = 64 << 20

const prefix = "/api/v1/"

// get asks a node and reads its answer into out.
func (cl *Client) get(ctx context.Context, address, path string, query url.Values, out any) error {
	return cl.do(ctx, http.MethodGet, address, path+"?"+query.Encode(), nil, out)
}

// post asks a node with a body.
func (cl *Client) post(ctx context.Context, address, path string, body, out any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return cl.do(ctx, http.MethodPost, address, path, b, out)
}

func (cl *Client) do(ctx context.Context, method, address, path string, body []byte, out any) error {
	ctx = context.WithValue(ctx, addressKey{}, address)
	r, err := http.NewRequestWithContext(ctx, method, cl.scheme+"://"+address+prefix+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if cl.config.Token != "" {
		r.Header.Set("Authorization", "Bearer "+cl.config.Token)
	}
	resp, err := cl.client.Do(r)
	if err != nil {
		_, asked := cl.asking.Load(address)
		return explain(err, asked)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("its answer is incomplete: %w", err)
	case len(b) > maxAnswer:
		return fmt.Errorf("its answer is longer than %d MB", maxAnswer>>20)
	case resp.StatusCode != http.StatusOK:
		return refusal(resp.StatusCode, b)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(out); err != nil {
		return errGarbage
	}
	return nil
}

// refusal is why a node did not answer, in its own words if there are any.
func refusal(code int, body []byte) error {
	var said wire.Failure
	err := json.Unmarshal(body, &said)
	switch {
	case code == http.StatusUnauthorized:
		return errors.New("it refused the token; give the one it was started with: --token-file FILE, " +
			"or ~/.ingero/node-token")
	case err == nil && said.Error != "" && code != http.StatusNotFound:
		return errors.New(printable(said.Error))
	case code == http.StatusNotFound:
		return errors.New("it answers, but does not know this request: it is not \"ingero dashboard\", " +
			"or has another version")
	case code == http.StatusForbidden:
		return fmt.Errorf("it refuses: %s", printable(strings.TrimSpace(string(body))))
	}
	return fmt.Errorf("it answers with HTTP status %d", code)
}
