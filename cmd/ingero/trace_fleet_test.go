package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/ingero-io/ingero/cluster/wire"
	"github.com/ingero-io/ingero/lib/commands"
)

// What the flags do is tested live: internal/e2e/fleetlive.
func TestFlagsOfAFleet(t *testing.T) {
	for args, want := range map[string]string{
		"--fleet grpc://fleet:4317/path":           "invalid endpoint",
		"--fleet ftp://fleet":                      "unknown scheme",
		"--fleet fleet:4318,ftp://fleet":           "unknown scheme",
		"--fleet f:4318 --fleet https://f":         "is there twice",
		"--cluster east":                           "--fleet HOST:4318",
		"--events":                                 "--fleet HOST:4318",
		"--fleet https://f:1 --fleet-key /no/file": "or none",
		"--fleet fleet.invalid:4318":               "fleet.invalid cannot be resolved",
		"--fleet a.invalid,grpc://b.invalid:4317":  "b.invalid cannot be resolved",
	} {
		c := &console{in: strings.NewReader(""), out: io.Discard, err: io.Discard, env: func(k string) string {
			return map[string]string{"HOME": t.TempDir()}[k]
		}, now: time.Now}
		root := newRoot(c)
		root.SetArgs(append([]string{"trace", "--json", "--record=false", "--duration", "1ms"}, strings.Fields(args)...))
		if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// The cause is at the end of the line.
func TestTheLineOfASlowRankIsWhole(t *testing.T) {
	rank, own, peer, excess := int32(5), 9.638, 1.024, 8.41
	e := wire.Event{
		Type: wire.EventStraggler, Node: "gpu-05", Rank: &rank, WorldSize: 8, OwnMS: &own, PeerMS: &peer, Excess: &excess,
		Cause: &wire.Cause{Kind: "block_io", MS: 5.9, Culprit: "the disk (/data/\x1b[31mcheckpoint)"},
	}
	line := eventLine(&e, "python, process 4821")
	if !strings.HasSuffix(line, "checkpoint)") || strings.Contains(line, "\x1b") || !strings.HasPrefix(line, "[RANK] rank 5 of 8") {
		t.Errorf("%q", line)
	}
}

// A fleet without an address is an error at the start, unless it is waited for; one of several is only said.
func TestAFleetThatCannotBeResolved(t *testing.T) {
	for args, want := range map[string]string{
		"--fleet fleet.invalid:4318":                                   "--fleet-wait",
		"--fleet 127.0.0.1:4318,[::1]:4319":                            "",
		"--fleet fleet.invalid:4318 --fleet-wait":                      "tried again",
		"--fleet fleet.invalid:4318,https://127.0.0.1:4318":            "the others are asked",
		"--fleet 127.0.0.1:4318 --fleet-wait":                          "",
		"--fleet=fleet.invalid:4318,https://also.invalid --fleet-wait": "also.invalid cannot be resolved",
	} {
		var f peersFlags
		cmd := &cobra.Command{}
		f.addFlags(cmd)
		if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		err := f.check(t.Context(), func(string) string { return "" }, &log)
		_, refused := errors.AsType[commands.UsageError](err)
		if refused != (want == "--fleet-wait") || refused && !strings.Contains(err.Error(), want) ||
			!refused && (err != nil || !strings.Contains(log.String(), want) || (log.Len() == 0) != (want == "")) {
			t.Errorf("%s: %v; %s", args, err, &log)
		}
	}
}
