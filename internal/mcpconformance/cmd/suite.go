package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/ingero-io/ingero/internal/mcpconformance"
	"github.com/ingero-io/ingero/serve/mcpserver"
	"github.com/ingero-io/ingero/serve/webserver"
)

// run of the suite: its last release, and the one to come, which knows the newest
// version of the protocol. What belongs to extensions that the server does not claim to
// have (tasks, skills) is in no version, and not run.
var runs = []struct{ script, version string }{
	{"conformance-release/dist/index.js", ""},
	{"@modelcontextprotocol/conformance/dist/index.js", "2025-11-25"},
	{"@modelcontextprotocol/conformance/dist/index.js", "2026-07-28"},
}

// fixtures has the suite try everything. Nothing may fail.
func (t *trial) fixtures(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		stop()
		return err
	}
	server := mcpconformance.NewServer(ctx)
	mcpserver.Protect(server, io.Discard, webserver.NewGate(webserver.DefaultLimits()), nil)
	ended := make(chan error, 1)
	go func() { ended <- mcpserver.Serve(ctx, ln, server, nil, webserver.Options{}) }()
	err = t.suite(ctx, "http://"+ln.Addr().String()+mcpserver.Path)
	stop()
	return errors.Join(err, <-ended)
}

// product has the suite try the program. What needs the suite's own tools, prompts and
// resources fails, and must: the list of it must be right.
func (t *trial) product(ctx context.Context) error {
	p, url, err := t.serve(ctx, "--no-tls")
	if err != nil {
		return err
	}
	return errors.Join(t.suite(ctx, url, "--expected-failures", t.expected), p.end())
}

func (t *trial) suite(ctx context.Context, url string, more ...string) error {
	var all error
	for _, r := range runs {
		args := append([]string{"server", "--url", url, "--suite", "all"}, more...)
		if r.version != "" {
			args = append(args, "--spec-version", r.version)
		}
		out, errs, err := t.node(ctx, nil, r.script, args...)
		_, summary, found := strings.Cut(out, "=== SUMMARY ===")
		total := ""
		for line := range strings.Lines(summary) {
			if strings.HasPrefix(line, "Total:") {
				total = strings.TrimSpace(line)
			}
		}
		fmt.Printf("    %-12s %s\n", r.version, total)
		if err == nil && (!found || total == "") {
			err = errors.New("the suite printed no summary")
		}
		if err != nil {
			fmt.Print(summary, errs)
			all = errors.Join(all, fmt.Errorf("%s %s: %w", r.script, r.version, err))
		}
	}
	return all
}
