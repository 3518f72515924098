package fleetclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ingero-io/ingero/cluster/wire"
)

// overHTTP sends pushes and polls over HTTP.
type overHTTP struct {
	base   string
	token  string
	client *http.Client
	now    func() time.Time
}

func newHTTP(base, token string, conf *tls.Config, now func() time.Time) *overHTTP {
	t := &http.Transport{
		TLSClientConfig: conf, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
		MaxResponseHeaderBytes: maxHeader,
	}
	return &overHTTP{base, token, &http.Client{
		Transport:     t, // no proxy: the token is only for the fleet
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, now}
}

func (h *overHTTP) push(ctx context.Context, cluster string, body []byte) (outcome, error) {
	path := wire.PushPath + "?" + url.Values{"cluster_id": {cluster}}.Encode()
	r, answer, err := h.send(ctx, http.MethodPost, path, body, maxBody)
	if err != nil {
		return h.none(), err
	}
	o := h.outcome(r)
	o.answer, o.err = wire.AnswerOfHTTP(r.Header)
	switch {
	case !o.answered:
		o.err = &StatusError{Code: r.StatusCode, Why: wire.ParseStatus(answer)}
	case o.err == nil:
		o.err = partial(&o.answer, answer)
	}
	return o, nil
}

func (h *overHTTP) poll(ctx context.Context, p wire.Poll) (outcome, error) {
	r, body, err := h.send(ctx, http.MethodGet, wire.PollPath+"?"+p.Query(), nil, maxBody)
	if err != nil {
		return h.none(), err
	}
	o := h.outcome(r)
	if !o.answered {
		o.answer, _ = wire.AnswerOfHTTP(r.Header) // the status matters more than an error here
		o.err = &StatusError{Code: r.StatusCode}
		return o, nil
	}
	o.answer, o.err = wire.ParseAnswer(body)
	return o, nil
}

func (h *overHTTP) cohorts(ctx context.Context, cluster string) (*wire.CohortList, error) {
	path := wire.CohortsPath
	if cluster != "" {
		path += "?" + url.Values{"cluster_id": {cluster}}.Encode()
	}
	r, body, err := h.send(ctx, http.MethodGet, path, nil, wire.MaxCohortList+1)
	if err != nil {
		return nil, err
	}
	if r.StatusCode != http.StatusOK {
		return nil, &StatusError{Code: r.StatusCode}
	}
	return wire.ParseCohortList(body)
}

// none is the outcome of a request without an answer.
func (*overHTTP) none() outcome { return outcome{answer: wire.Answer{Threshold: wire.NoThreshold()}} }

// outcome reads an answer's status, and how long the fleet asks to wait.
func (h *overHTTP) outcome(r *http.Response) outcome {
	o := h.none()
	o.answered = r.StatusCode == http.StatusOK
	if r.StatusCode == http.StatusTooManyRequests || r.StatusCode == http.StatusServiceUnavailable {
		o.hold = holdTime(r.Header.Get("Retry-After"), h.now())
	}
	return o
}

// send sends a request once, and reads the answer up to most bytes. An error is a network error.
func (h *overHTTP) send(ctx context.Context, method, path string, body []byte, most int64) (
	*http.Response, []byte, error,
) {
	r, err := http.NewRequestWithContext(ctx, method, h.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", wire.TypeProtobuf)
	}
	if h.token != "" {
		r.Header.Set("Authorization", "Bearer "+h.token)
	}
	resp, err := h.client.Do(r)
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

// holdTime returns how long a Retry-After header asks to wait. The header has seconds or a date.
func holdTime(text string, now time.Time) time.Duration {
	if s, err := strconv.ParseUint(text, 10, 32); err == nil {
		return min(time.Duration(s)*time.Second, maxHold)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, min(at.Sub(now), maxHold))
	}
	return 0
}
