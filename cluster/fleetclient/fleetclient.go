// Package fleetclient sends an agent's pushes and polls to a fleet over HTTP, and reads the answers. It
// keeps no push: what could not be sent is repeated by the next one.
package fleetclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ingero-io/ingero/cluster/wire"
)

// How a client asks.
const (
	// callTime is for a push or poll with its retry: the next one is due by then.
	callTime = 2 * time.Second
	// listTime is for a list of all cohorts.
	listTime = 10 * time.Second
	// retryAfter is the pause before the one retry after an error of the network.
	retryAfter = 200 * time.Millisecond
	// unreachableAfter is how many calls in a row must fail.
	unreachableAfter = 3
	// maxHold bounds how long a fleet may tell an agent to wait.
	maxHold = time.Minute
	// maxHeader bounds an answer's headers, in bytes, maxBody that of a push.
	maxHeader, maxBody = 16 << 10, 16 << 10
)

// Options of a client.
type Options struct {
	// URL is of the fleet: "https://fleet.example:4318". A path is put before those of wire.
	URL string
	// Token is sent as "Authorization: Bearer TOKEN". Empty: none.
	Token string
	// TLS has the files for mutual TLS: all or none.
	TLS Files
}

// Client asks a fleet. Its methods may be called by several goroutines.
type Client struct {
	base  string
	token string
	http  *http.Client
	limit time.Duration // of a call
	now   func() time.Time
	wait  func(ctx context.Context, d time.Duration) error

	mu       sync.Mutex // guards the rest
	failures int        // in a row
	hold     time.Time  // nothing is sent before
	counts   Counts
}

// Counts are what happened since the client was made.
type Counts struct {
	Answered, Failed, Retried uint64
	Held                      uint64 // not sent, because the fleet had asked to wait
	Faults                    [wire.Faults]uint64
}

// HeldError is why nothing was sent: the fleet had asked to wait.
type HeldError struct{ For time.Duration }

func (e *HeldError) Error() string {
	return fmt.Sprintf("the fleet asked to wait for another %s", e.For.Round(time.Millisecond))
}

// StatusError is an answer with another status than 200.
type StatusError struct {
	Code int
	Why  string // in the fleet's words, which may be none
}

func (e *StatusError) Error() string {
	switch {
	case e.Code >= 300 && e.Code < 400:
		return fmt.Sprintf("the fleet answers with HTTP status %d, a redirect, which is not followed", e.Code)
	case e.Why == "":
		return fmt.Sprintf("the fleet answers with HTTP status %d", e.Code)
	}
	return fmt.Sprintf("the fleet answers with HTTP status %d: %s", e.Code, e.Why)
}

// New makes a client. It does not connect yet.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.User != nil ||
		u.Fragment != "" {
		return nil, fmt.Errorf("invalid address of the fleet %q: want https://HOST:PORT", o.URL)
	}
	conf, err := o.TLS.config()
	switch {
	case err != nil:
		return nil, err
	case conf != nil && u.Scheme != "https":
		return nil, fmt.Errorf("certificates are given, but %s is not https", o.URL)
	}
	t := &http.Transport{
		TLSClientConfig: conf, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
		MaxResponseHeaderBytes: maxHeader,
	}
	return &Client{
		base: strings.TrimSuffix(u.String(), "/"), token: o.Token, limit: callTime, now: time.Now, wait: sleep,
		http: &http.Client{
			Transport:     t, // without a proxy: the token is only for the fleet
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Reachable reports whether one of the last three calls was answered, or there were fewer.
func (c *Client) Reachable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failures < unreachableAfter
}

// Counts returns what happened since the client was made.
func (c *Client) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// Push sends a push. The answer's parts are valid also if there is an error. An error is a *wire.Error if the
// push or the answer is wrong, a *HeldError if nothing was sent, or a *StatusError.
func (c *Client) Push(ctx context.Context, p *wire.Push) (wire.Answer, error) {
	body, err := wire.AppendRequest(make([]byte, 0, 1<<10), p)
	if err != nil {
		return wire.Answer{Threshold: wire.NoThreshold()}, err
	}
	path := wire.PushPath + "?" + url.Values{"cluster_id": {p.Cluster}}.Encode()
	return c.call(ctx, http.MethodPost, path, body, takePush)
}

// takePush reads the answer to a push.
func takePush(r *http.Response, body []byte) (wire.Answer, error) {
	a, err := wire.AnswerOfHTTP(r.Header)
	if r.StatusCode != http.StatusOK {
		return a, &StatusError{r.StatusCode, wire.ParseStatus(body)}
	}
	if err != nil {
		return a, err
	}
	_, why, err := wire.ParseResponse(body)
	if err == nil && why != "" {
		err = &StatusError{r.StatusCode, why}
	}
	return a, err
}

// Poll asks between two pushes. Errors are as those of Push.
func (c *Client) Poll(ctx context.Context, p wire.Poll) (wire.Answer, error) {
	return c.call(ctx, http.MethodGet, wire.PollPath+"?"+p.Query(), nil, takePoll)
}

// takePoll reads the answer to a poll.
func takePoll(r *http.Response, body []byte) (wire.Answer, error) {
	if r.StatusCode != http.StatusOK {
		a, _ := wire.AnswerOfHTTP(r.Header) // the status says more
		return a, &StatusError{Code: r.StatusCode}
	}
	return wire.ParseAnswer(body)
}

// Cohorts asks what the fleet knows, of one cluster if it has a name.
func (c *Client) Cohorts(ctx context.Context, cluster string) (*wire.CohortList, error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	path := wire.CohortsPath
	if cluster != "" {
		path += "?" + url.Values{"cluster_id": {cluster}}.Encode()
	}
	r, body, err := c.send(ctx, http.MethodGet, path, nil, wire.MaxCohortList+1)
	if err != nil {
		return nil, err
	}
	if r.StatusCode != http.StatusOK {
		return nil, &StatusError{Code: r.StatusCode}
	}
	return wire.ParseCohortList(body)
}

type take func(r *http.Response, body []byte) (wire.Answer, error)

// call sends a request, a second time if the network fails, and counts what comes of it.
func (c *Client) call(ctx context.Context, method, path string, body []byte, take take) (wire.Answer, error) {
	a := wire.Answer{Threshold: wire.NoThreshold()}
	if err := c.held(); err != nil {
		return a, err
	}
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	r, answer, err := c.send(ctx, method, path, body, maxBody)
	if err != nil && ctx.Err() == nil && c.wait(ctx, retryAfter) == nil {
		c.mu.Lock()
		c.counts.Retried++
		c.mu.Unlock()
		r, answer, err = c.send(ctx, method, path, body, maxBody)
	}
	if err == nil {
		a, err = take(r, answer)
	} else if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("the fleet did not answer within %s", c.limit)
	}
	if parent.Err() == nil { // else nobody waits for the answer, which says nothing of the fleet
		c.note(r, err)
	}
	return a, err
}

// send sends a request once, and reads no more than most bytes of the answer. An error is one of the network.
func (c *Client) send(ctx context.Context, method, path string, body []byte, most int64) (*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", wire.TypeProtobuf)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, nil, fmt.Errorf("ask the fleet: %w", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return nil, nil, fmt.Errorf("read the fleet's answer: %w", err)
	}
	return resp, b, nil
}

// held is why nothing may be sent yet, nil if it may.
func (c *Client) held() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.hold.Sub(c.now()); d > 0 {
		c.counts.Held++
		return &HeldError{d}
	}
	return nil
}

// note counts what came of a call, and how long the fleet asks to wait.
func (c *Client) note(r *http.Response, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wire.Count(err, &c.counts.Faults)
	if r != nil && (r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusServiceUnavailable) {
		now := c.now()
		c.hold = now.Add(holdTime(r.Header.Get("Retry-After"), now))
	}
	if r == nil || r.StatusCode != http.StatusOK {
		c.failures++
		c.counts.Failed++
		return
	}
	c.failures = 0
	c.counts.Answered++
}

// holdTime is how long a header Retry-After says to wait: seconds, or a date.
func holdTime(text string, now time.Time) time.Duration {
	if s, err := strconv.ParseUint(text, 10, 32); err == nil {
		return min(time.Duration(s)*time.Second, maxHold)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, min(at.Sub(now), maxHold))
	}
	return 0
}
