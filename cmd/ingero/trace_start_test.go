package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/capture/host/tracers"
)

func TestOtherTracersAreSaidOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var list []tracers.Tracer
	o := &otherTracers{log: &log, seen: func() []tracers.Tracer { return list }, said: map[int]bool{}}
	for s := range 600 {
		if s == 100 {
			list = []tracers.Tracer{{PID: 4711, For: time.Second}}
		}
		if s == 400 {
			list = append(list, tracers.Tracer{PID: 4712, For: time.Second})
		}
		o.Second(&agent.Status{Elapsed: time.Duration(s) * time.Second})
	}
	said := log.String()
	if strings.Count(said, "\n") != 2 || strings.Count(said, "another tracer (pid 4711, since ") != 1 ||
		strings.Count(said, "another tracer (pid 4712, since ") != 1 {
		t.Errorf("%s", said)
	}
}
