// Package mcptool is what an AI agent can ask of a recording over the Model
// Context Protocol: tools, a prompt, resources and completions. Each tool is a
// file and a line in tools.go; all of them read through a Source, which may be
// written to meanwhile, missing or damaged. How bytes travel is the business of
// package mcpserver.
package mcptool

import (
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options configure a server. The zero value is usable.
type Options struct {
	Version string           // of Ingero
	Logger  *slog.Logger     // nil: nothing is logged
	Now     func() time.Time // nil: time.Now
	// Middleware is told of every request, the first one first.
	Middleware []mcp.Middleware
	// TestReport is the file that get_test_report reads; empty: test-report.json
	// beside the recording.
	TestReport string
}

// server answers for one recording.
type server struct {
	src      Source
	opts     Options
	reports  reports
	examined examined
	sql      chan struct{} // held by who runs SQL
}

// NewServer makes a server with all tools. It works, and says what is wrong, also
// when the recording cannot be read.
func NewServer(src Source, o Options) *mcp.Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &server{src: src, opts: o, sql: make(chan struct{}, sqlAtOnce)}
	m := mcp.NewServer(&mcp.Implementation{Name: "ingero", Title: "Ingero", Version: o.Version}, &mcp.ServerOptions{Logger: o.Logger})
	for _, t := range tools {
		t.add(s, m)
	}
	m.AddReceivingMiddleware(o.Middleware...)
	return m
}
