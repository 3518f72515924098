package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/host/tracers"
	"github.com/ingero-io/ingero/store"
)

// othersEvery is how often a tracer looks for others that were started later. It takes some ms.
const othersEvery = time.Minute

// otherTracers says which other tracers run on this machine, each once. All of them may go on. It is a sink.
type otherTracers struct {
	log   io.Writer
	seen  func() []tracers.Tracer
	said  map[int]bool // by process
	asked time.Duration
}

func newOtherTracers(log io.Writer) *otherTracers {
	o := &otherTracers{log: log, said: map[int]bool{}}
	fs, self := proc.New(""), os.Getpid()
	o.seen = func() []tracers.Tracer { return tracers.Seen(fs, self) }
	o.say(tracers.Others(fs, self))
	return o
}

func (o *otherTracers) say(list []tracers.Tracer) {
	now := map[int]bool{}
	for _, t := range list {
		now[t.PID] = true
		if !o.said[t.PID] {
			fmt.Fprintf(o.log, "ingero: another tracer (%s) is running: %s\n", t, tracers.Cost)
		}
	}
	o.said = now
}

// Batch implements agent.Sink.
func (o *otherTracers) Batch(*store.Batch) {}

// Second implements agent.Sink.
func (o *otherTracers) Second(s *agent.Status) {
	if s.Elapsed-o.asked >= othersEvery {
		o.asked = s.Elapsed
		o.say(o.seen())
	}
}
