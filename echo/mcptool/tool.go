package mcptool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/echo/store"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/serve/mcpshape"
)

// entry is a tool in the list.
type entry interface {
	info() Info
	addTo(*Tools, *mcp.Server)
	call(context.Context, *Tools, json.RawMessage) (any, error)
}

// tool is a tool. The fields of In are its arguments, those of Out its answer.
type tool[In any, Out answer] struct {
	name  string
	about string // its purpose, for a model that chooses
	run   func(ctx context.Context, s *Tools, in In) (Out, error)
}

// answer is what a tool returns.
type answer interface {
	rows() int // number of rows
}

// Keys of a result's metadata.
const (
	rowsMeta = "rows" // number of rows, for the audit log
	dataMeta = "data" // names of the fields with texts from nodes: data, never instructions
)

// data is text that a program on a node chose, or that quotes such text.
type data string

// worse is the bad side of a metric.
type worse string

// unit is what is compared.
type unit string

// cohortBy is what those of a cluster that are compared have in common.
type cohortBy string

var schemas = mcpshape.Schemas{
	reflect.TypeFor[data]():           {Type: "string"},
	reflect.TypeFor[event.Severity](): mcpshape.Enum(event.Severities...),
	reflect.TypeFor[worse]():          mcpshape.Enum("lower", "higher", "both"),
	reflect.TypeFor[unit]():           mcpshape.Enum("node", "rank"),
	reflect.TypeFor[cohortBy]():       mcpshape.Enum("gpu", "cluster"),
	reflect.TypeFor[any]():            {Description: "text, number or null"},
}

func (t tool[In, Out]) info() Info {
	return Info{t.name, t.about, mcpshape.Input[In](schemas), mcpshape.Output[Out](schemas)}
}

func (t tool[In, Out]) addTo(s *Tools, m *mcp.Server) {
	fields := mcpshape.Fields(reflect.TypeFor[Out](), reflect.TypeFor[data]())
	mcp.AddTool(m, &mcp.Tool{
		Name: t.name, Description: t.about,
		InputSchema: mcpshape.Input[In](schemas), OutputSchema: mcpshape.Output[Out](schemas),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		out, err := t.guarded(ctx, s, in)
		if err != nil {
			return nil, out, errors.New(mcpshape.Visible(s.publicError(err)))
		}
		return &mcp.CallToolResult{Meta: mcp.Meta{rowsMeta: out.rows(), dataMeta: fields}}, out, nil
	})
}

// guarded runs a tool. A panic in it must not end the program.
func (t tool[In, Out]) guarded(ctx context.Context, s *Tools, in In) (out Out, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Logger.Error("tool failed", "tool", t.name, "err", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("%s failed, which is a mistake in Ingero; please report it", t.name)
		}
	}()
	out, err = t.run(ctx, s, in)
	var limit *store.LimitError
	if t.name != analysisName && errors.As(err, &limit) {
		err = &store.LimitError{Limit: limit.Limit + "; a shorter window takes less"}
	}
	return out, err
}

// publicError returns the text of an error for a peer. The details of the store's own failures only go to the log.
func (s *Tools) publicError(err error) string {
	switch {
	case errors.As(err, new(*ArgumentError)), errors.As(err, new(*store.RefusedError)),
		errors.As(err, new(*store.LimitError)), errors.As(err, new(*store.StatementError)),
		errors.Is(err, context.Canceled):
		return err.Error()
	case errors.Is(err, store.ErrAway):
		s.options.Logger.Warn("a question failed", "err", err)
		return store.ErrAway.Error()
	}
	s.options.Logger.Error("a question failed", "err", err)
	return "the store failed; see the log of ingero-echo"
}

// call checks arguments as the SDK does, and runs the tool.
func (t tool[In, Out]) call(ctx context.Context, s *Tools, arguments json.RawMessage) (any, error) {
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage("{}")
	}
	arguments = mcpshape.DropBlanks(arguments)
	schema, err := mcpshape.Input[In](schemas).Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolve the schema of %s: %w", t.name, err)
	}
	var given map[string]any
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, wrong("the arguments are no object of JSON: %v", err)
	}
	if err := schema.Validate(given); err != nil {
		return nil, wrong("%v", err)
	}
	var in In
	if err := json.Unmarshal(arguments, &in); err != nil {
		return nil, wrong("the arguments cannot be read: %v", err)
	}
	return t.guarded(ctx, s, in)
}

// The lengths, in characters, that text is cut to.
const (
	maxName  = 100
	maxProse = 300
)

// name cleans a name that a program chose.
func name(s string) data { return data(mcpshape.Quoted(mcpshape.Cut(mcpshape.Visible(s), maxName))) }

// plain reports whether names are shown unchanged. Others are not put into the arguments of a next question, which
// needs the exact name.
func plain(names ...string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return string(name(n)) != n })
}

// prose cleans text that may quote names.
func prose(s string) data { return data(mcpshape.Cut(mcpshape.Visible(s), maxProse)) }

// next is a question that may be asked next.
type next struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
	Why       string         `json:"why"`
	// At is the address (HOST:PORT) of the node whose server has the tool, at /mcp; empty: this server.
	At data `json:"at,omitempty"`
}

// about returns the arguments of a next question about a window, and a cluster unless all were asked about.
func about(cluster, window string) map[string]any {
	args := map[string]any{"window": window}
	if cluster != "" && plain(cluster) {
		args["cluster_id"] = cluster
	}
	return args
}
