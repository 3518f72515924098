// Package load puts the load of many nodes on an Echo, or on any OTLP server over gRPC, and measures its cost:
// requests with unique points over kept connections, and questions at the same time. The server is another process.
package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ingero-io/ingero/cluster/rawcodec"
	"github.com/ingero-io/ingero/cluster/wire"
)

// Options define the load.
type Options struct {
	// To is the address for points: HOST:PORT of OTLP over gRPC, without TLS.
	To string
	// Ask is the URL of Echo's API, for questions. Empty: no questions.
	Ask string
	// Token is sent as a bearer token. Empty: none.
	Token string
	// Nodes is how many nodes send, each over its own connection and with one request in flight.
	Nodes int
	// Rate is how many points per second are due, of all nodes together; 0: as many as are accepted.
	Rate float64
	// For is how long points are sent, Points, if not 0, how many at most.
	For    time.Duration
	Points int64
	// Over is the time over which the points' timestamps are spread, up to now; 0: each has the time when it is sent. It
	// needs Points.
	Over time.Duration
	// Readers is how many readers ask while points are sent, and after that for Then. Each asks a question every Every,
	// or one after the other if that is 0. The time of an answer counts from when its question was due.
	Readers int
	Every   time.Duration
	Then    time.Duration
	// Window is the window of the questions, such as 5m; empty: the tools' default.
	Window string
	// Server is the process under load; nil: not known.
	Server Server
}

// Server is the measured process.
type Server interface {
	// CPU returns the CPU time that it has used.
	CPU() (time.Duration, error)
	// Memory returns its resident memory in bytes, Peak the maximum.
	Memory() (int64, error)
	Peak() (int64, error)
}

func (o *Options) check() error {
	switch {
	case o.Nodes < 1 || o.Nodes > 4096:
		return fmt.Errorf("%d nodes; from 1 to 4096", o.Nodes)
	case o.For <= 0 || o.Rate < 0 || o.Points < 0 || o.Over < 0 || o.Then < 0 || o.Every < 0:
		return errors.New("times, rates and numbers must not be negative")
	case o.Readers < 0 || o.Readers > 64:
		return fmt.Errorf("%d readers; 64 at most", o.Readers)
	case o.Over > 0 && o.Points == 0:
		return errors.New("to spread points over a time, their number must be given")
	case o.Readers > 0 && o.Ask == "":
		return errors.New("readers need the address of the API")
	}
	return nil
}

// run is a load in progress.
type run struct {
	o     Options
	began time.Time
	from  int64 // begin of the spread, if points are spread; nanoseconds since the Unix epoch

	due, points, requests, refused, failed atomic.Int64
	first                                  atomic.Pointer[string]
}

// sampleEvery is the time between two readings of the server's memory.
const sampleEvery = time.Second

// Run makes the load. It counts errors of the server. It returns an error about the options, the first connection, or
// reading the server's use of CPU and memory.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.check(); err != nil {
		return Result{}, err
	}
	r := &run{o: o, began: time.Now()}
	r.from = r.began.Add(-o.Over).UnixNano()
	senders, err := r.connect()
	defer func() {
		for _, s := range senders {
			_ = s.conn.Close() // nothing is in flight
		}
	}()
	if err != nil {
		return Result{}, err
	}
	out := Result{
		To: o.To, Nodes: o.Nodes, Readers: o.Readers, EveryS: o.Every.Seconds(), Due: o.Rate, OverS: o.Over.Seconds(),
		Window: o.Window,
	}
	cpu, err := r.cpu()
	if err != nil {
		return out, err
	}
	own := usage()
	// Not a deadline: gRPC would pass it to the server, which would end the last requests just before it.
	sending, stop := context.WithCancel(ctx)
	defer time.AfterFunc(o.For, stop).Stop()
	defer stop()
	asked := newAnswers()
	var others sync.WaitGroup
	var memory []sample
	others.Go(func() { memory = r.watch(sending) })
	for i := range o.Readers {
		others.Go(func() { r.ask(sending, asked, i) })
	}
	var all sync.WaitGroup
	for _, s := range senders {
		all.Go(func() { r.send(sending, s) })
	}
	all.Wait()
	out.Seconds = time.Since(r.began).Seconds()
	after, err := r.cpu()
	stop()
	others.Wait()
	if err != nil {
		return out, err
	}
	out.ServerCPU, out.LoadCPU = (after - cpu).Seconds(), (usage() - own).Seconds()
	out.Points, out.Requests = r.points.Load(), r.requests.Load()
	out.Refused, out.Failed = r.refused.Load(), r.failed.Load()
	out.Answers = asked.list()
	if o.Then > 0 {
		out.Then = r.then(ctx)
	}
	if why := r.first.Load(); why != nil {
		out.FirstError = *why
	}
	return out, r.remember(&out, memory)
}

// then asks while nothing is sent.
func (r *run) then(ctx context.Context) []Answer {
	asking, stop := context.WithTimeout(ctx, r.o.Then)
	defer stop()
	asked := newAnswers()
	var all sync.WaitGroup
	for i := range r.o.Readers {
		all.Go(func() { r.ask(asking, asked, i) })
	}
	all.Wait()
	return asked.list()
}

// sender is a node and its connection.
type sender struct {
	conn    *grpc.ClientConn
	request *request
}

func (r *run) connect() ([]*sender, error) {
	var list []*sender
	for i := range r.o.Nodes {
		conn, err := grpc.NewClient("passthrough:///"+r.o.To, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawcodec.Codec{})))
		if err != nil {
			return list, err
		}
		made, err := newRequest(i)
		list = append(list, &sender{conn, made})
		if err != nil {
			return list, err
		}
	}
	return list, nil
}

// again is how long a sender waits before it repeats a request that found no room, as exporters do.
const again = 200 * time.Millisecond

// send sends a node's requests until ctx ends, or enough points were sent.
func (r *run) send(ctx context.Context, s *sender) {
	if r.o.Token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+r.o.Token)
	}
	for ctx.Err() == nil {
		n := r.due.Add(perRequest)
		if r.o.Points > 0 && n > r.o.Points {
			return
		}
		if r.o.Rate > 0 && !sleep(ctx, time.Until(r.began.Add(time.Duration(float64(n)/r.o.Rate*float64(time.Second))))) {
			return
		}
		s.request.at(r.time(n))
		for {
			var out []byte
			err := s.conn.Invoke(ctx, wire.PushMethod, &s.request.body, &out)
			if err == nil {
				r.requests.Add(1)
				r.points.Add(perRequest)
				break
			}
			if ctx.Err() != nil {
				return
			}
			if status.Code(err) == codes.ResourceExhausted {
				r.refused.Add(1)
			} else {
				r.failed.Add(1)
				why := err.Error()
				r.first.CompareAndSwap(nil, &why)
			}
			if !sleep(ctx, again) {
				return
			}
		}
	}
}

// time returns the timestamp of the newest of the first n points, in nanoseconds since the Unix epoch.
func (r *run) time(n int64) int64 {
	if r.o.Over == 0 {
		return time.Now().UnixNano()
	}
	return r.from + int64(float64(r.o.Over)*float64(n)/float64(r.o.Points))
}

// sleep reports whether it slept until the end.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (r *run) cpu() (time.Duration, error) {
	if r.o.Server == nil {
		return 0, nil
	}
	return r.o.Server.CPU()
}

// sample is the server's memory at a time.
type sample struct{ at, bytes float64 } // seconds since the start

// watch samples the server's memory until ctx ends.
func (r *run) watch(ctx context.Context) (list []sample) {
	for r.o.Server != nil && sleep(ctx, sampleEvery) {
		if n, err := r.o.Server.Memory(); err == nil {
			list = append(list, sample{time.Since(r.began).Seconds(), float64(n)})
		}
	}
	return list
}

// remember adds the samples of the server's memory to the result.
func (r *run) remember(out *Result, list []sample) (err error) {
	if r.o.Server == nil {
		return nil
	}
	out.MemoryPerMinute = slope(list) * 60
	if out.Memory, err = r.o.Server.Memory(); err == nil {
		out.Peak, err = r.o.Server.Peak()
	}
	return err
}

// slope returns the slope of the least-squares line through samples, in bytes per second, without the first fifth,
// when caches fill.
func slope(list []sample) float64 {
	list = list[len(list)/5:]
	var n, x, y, xx, xy float64
	for _, s := range list {
		n, x, y, xx, xy = n+1, x+s.at, y+s.bytes, xx+s.at*s.at, xy+s.at*s.bytes
	}
	if d := n*xx - x*x; d > 0 {
		return (n*xy - x*y) / d
	}
	return 0
}
