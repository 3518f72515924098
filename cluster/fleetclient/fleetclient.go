// Package fleetclient sends an agent's pushes to a fleet, over HTTP or gRPC, polls it over HTTP, and reads the
// answers. It keeps no push: what could not be sent is repeated by the next one.
package fleetclient

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ingero-io/ingero/cluster/wire"
)

// Limits of a client.
const (
	// callTime bounds a push or poll with its retry: the next one is due by then.
	callTime = 2 * time.Second
	// listTime bounds a request for the list of all cohorts.
	listTime = 10 * time.Second
	// retryAfter is the pause before the one retry after a network error.
	retryAfter = 200 * time.Millisecond
	// unreachableAfter is after how many failed calls in a row a fleet counts as unreachable.
	unreachableAfter = 3
	// maxHold bounds how long a fleet may ask an agent to wait.
	maxHold = time.Minute
	// maxHeader bounds an answer's headers, maxBody the body of the answer to a push, in bytes.
	maxHeader, maxBody = 16 << 10, 16 << 10
)

// Options of a client.
type Options struct {
	// URL is the fleet's address: "https://fleet.example:4318", or "grpcs://fleet.example:4317"; http and grpc without
	// TLS. A path is put before those of package wire; gRPC has none.
	URL string
	// Token is sent as "Authorization: Bearer TOKEN". Empty: none.
	Token string
	// TLS names the files for TLS.
	TLS Files
}

// Client sends requests to a fleet. Its methods may be called by several goroutines.
type Client struct {
	http  *overHTTP // nil: pushes go over gRPC
	grpc  *overGRPC
	limit time.Duration // for a call, with its retry
	run   uint64        // of pushes, see health.Push
	sent  atomic.Uint64 // their number
	now   func() time.Time
	wait  func(ctx context.Context, d time.Duration) error

	mu       sync.Mutex // guards the rest
	failures int        // in a row
	hold     time.Time  // nothing is sent before then
	counts   Counts
}

// outcome is the outcome of a request that was answered.
type outcome struct {
	answer   wire.Answer
	answered bool          // with success
	hold     time.Duration // how long the fleet asks to wait
	err      error         // error in the answer
}

// ask sends a request once. An error is a network error.
type ask func(ctx context.Context) (outcome, error)

// Counts are totals since the client was made.
type Counts struct {
	Answered, Failed, Retried uint64
	Held                      uint64 // not sent: the fleet had asked to wait
	Faults                    [wire.Faults]uint64
}

// HeldError means that nothing was sent: the fleet had asked to wait.
type HeldError struct{ For time.Duration }

func (e *HeldError) Error() string {
	return fmt.Sprintf("the fleet asked to wait for another %s", e.For.Round(time.Millisecond))
}

// RefusedError means that the fleet has answered, but did not take some ranks of the push.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string {
	return "the fleet does not take all ranks of this node: " + e.Why
}

// StatusError is an answer other than success.
type StatusError struct {
	Code int    // of HTTP; over gRPC, the HTTP code with the same meaning
	Name string // gRPC's name of the code, empty over HTTP
	Why  string // the fleet's own text, may be empty
}

func (e *StatusError) Error() string {
	said := "HTTP status " + strconv.Itoa(e.Code)
	if e.Name != "" {
		said = "gRPC status " + e.Name
	}
	switch {
	case e.Code >= 300 && e.Code < 400:
		return "the fleet answers with " + said + ", a redirect, which is not followed"
	case e.Why == "":
		return "the fleet answers with " + said
	}
	return "the fleet answers with " + said + ": " + e.Why
}

// New returns a client. It does not connect yet.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	schemes := []string{"http", "https", "grpc", "grpcs"}
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) || u.RawQuery != "" || u.User != nil ||
		u.Fragment != "" {
		return nil, fmt.Errorf("invalid address of the fleet %q: want https://HOST:PORT", o.URL)
	}
	secure := u.Scheme == "https" || u.Scheme == "grpcs"
	conf, err := o.TLS.config()
	switch {
	case err != nil:
		return nil, err
	case conf != nil && !secure:
		return nil, fmt.Errorf("certificates are given, but %s is without TLS", o.URL)
	}
	c := &Client{limit: callTime, run: rand.Uint64() | 1, now: time.Now, wait: sleep}
	if strings.HasPrefix(u.Scheme, "grpc") {
		if strings.Trim(u.Path, "/") != "" {
			return nil, fmt.Errorf("invalid address of the fleet %q: gRPC has no path", o.URL)
		}
		c.grpc, err = newGRPC(u.Host, o.Token, conf, secure)
		return c, err
	}
	c.http = newHTTP(strings.TrimSuffix(u.String(), "/"), o.Token, conf, func() time.Time { return c.now() })
	return c, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Close closes connections.
func (c *Client) Close() {
	if c.grpc != nil {
		c.grpc.close()
		return
	}
	c.http.client.CloseIdleConnections()
}

// Polls reports whether the fleet can be polled. Over gRPC it can only be pushed to.
func (c *Client) Polls() bool { return c.http != nil }

// Reachable reports whether one of the last three calls was answered, or there were fewer than three.
func (c *Client) Reachable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failures < unreachableAfter
}

// Counts returns totals since the client was made.
func (c *Client) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// Push sends a push. Use the answer's parts also if there is an error. The error is a *wire.Error if the push or the
// answer is wrong, a *HeldError if nothing was sent, a *StatusError, a
// *RefusedError, or one of the network.
func (c *Client) Push(ctx context.Context, p *wire.Push) (wire.Answer, error) {
	one := *p
	one.Health.Run, one.Health.Number = c.run, c.sent.Add(1)
	body, err := wire.AppendRequest(make([]byte, 0, 1<<10), &one)
	if err != nil {
		return wire.Answer{Threshold: wire.NoThreshold()}, err
	}
	return c.call(ctx, func(ctx context.Context) (outcome, error) {
		if c.grpc != nil {
			return c.grpc.push(ctx, p.Cluster, body)
		}
		return c.http.push(ctx, p.Cluster, body)
	})
}

// partial returns what the fleet did not accept of a push, nil if it accepted all.
func partial(a *wire.Answer, body []byte) error {
	_, why, err := wire.ParseResponse(body)
	switch {
	case err != nil:
		return err
	case why != "":
		return &StatusError{Code: http.StatusOK, Why: why}
	case a.Refused != "":
		return &RefusedError{a.Refused}
	}
	return nil
}

var errNoPolls = errors.New("a fleet cannot be polled over gRPC; push instead")

// Poll asks for an answer between two pushes. It returns the same errors as Push.
func (c *Client) Poll(ctx context.Context, p wire.Poll) (wire.Answer, error) {
	if c.http == nil {
		return wire.Answer{Threshold: wire.NoThreshold()}, errNoPolls
	}
	return c.call(ctx, func(ctx context.Context) (outcome, error) { return c.http.poll(ctx, p) })
}

// Cohorts asks for the list of cohorts; if cluster is not empty, of that cluster only. It needs HTTP.
func (c *Client) Cohorts(ctx context.Context, cluster string) (*wire.CohortList, error) {
	if c.http == nil {
		return nil, errors.New("a fleet lists its cohorts over HTTP only; write HOST:4318")
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	return c.http.cohorts(ctx, cluster)
}

// call sends a request, retries it once if the network fails, and counts the outcome.
func (c *Client) call(ctx context.Context, ask ask) (wire.Answer, error) {
	if err := c.held(); err != nil {
		return wire.Answer{Threshold: wire.NoThreshold()}, err
	}
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	o, err := ask(ctx)
	if err != nil && ctx.Err() == nil && c.wait(ctx, retryAfter) == nil {
		c.mu.Lock()
		c.counts.Retried++
		c.mu.Unlock()
		o, err = ask(ctx)
	}
	switch {
	case err == nil:
		err = o.err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("the fleet did not answer within %s", c.limit)
	}
	if parent.Err() == nil { // otherwise the caller gave up, which says nothing about the fleet
		c.note(&o, err)
	}
	return o.answer, err
}

// held returns a *HeldError while the fleet has asked to wait, else nil.
func (c *Client) held() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.hold.Sub(c.now()); d > 0 {
		c.counts.Held++
		return &HeldError{d}
	}
	return nil
}

// note counts the outcome of a call, and keeps how long the fleet asks to wait.
func (c *Client) note(o *outcome, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wire.Count(err, &c.counts.Faults)
	if o.hold > 0 {
		c.hold = c.now().Add(o.hold)
	}
	if !o.answered {
		c.failures++
		c.counts.Failed++
		return
	}
	c.failures = 0
	c.counts.Answered++
}
