package main

import (
	"io"
	"log/slog"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/echo/access"
	"github.com/ingero-io/ingero/echo/api"
	"github.com/ingero-io/ingero/echo/cost"
	"github.com/ingero-io/ingero/echo/mcptool"
	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/serve/mcpserver"
	"github.com/ingero-io/ingero/serve/webserver"
)

// asked is what answers questions.
type asked struct {
	store  store.Reader
	tokens *access.Tokens
	rates  cost.Rates
	audit  io.Writer // calls of tools over MCP are logged there
	logger *slog.Logger
}

func (a *asked) tools() *mcptool.Tools {
	return mcptool.New(mcptool.Options{
		Version: build().Version, Store: a.store, Rates: a.rates, Limits: api.DefaultLimits(), Logger: a.logger,
	})
}

// mcp is the server of the tools, within limits.
func (a *asked) mcp(tools *mcptool.Tools, gate *webserver.Gate) *mcp.Server {
	m := tools.Server()
	mcpserver.Protect(m, a.audit, gate, a.logger)
	return m
}

// handler answers over HTTP, and how it ends.
func (a *asked) handler() (http.Handler, webserver.Drain) {
	tools, gate := a.tools(), webserver.NewGate(api.AtOnce())
	h, end := mcpserver.Mount(a.mcp(tools, gate), a.logger)
	return api.Handler(api.Options{
		Store: a.store, Tools: tools, Tokens: a.tokens, Limits: api.DefaultLimits(), MCP: h, Gate: gate,
		Version: build().Version, Logger: a.logger,
	}), end
}
