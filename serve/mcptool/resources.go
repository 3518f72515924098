package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/docs"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/serve/mcpshape"
	"github.com/ingero-io/ingero/store"
)

// scheme begins the addresses of all resources.
const scheme = "ingero://"

// resource is a page. Those whose address has a name in braces are templates.
type resource struct {
	address string
	name    string
	about   string
	mime    string
	read    func(ctx context.Context, s *server, what string) (string, error)
}

const (
	markdown = "text/markdown"
	asJSON   = "application/json"
)

// resources is the list of them.
var resources = []resource{
	{"schema", "SQL views", "The views that run_sql reads, with questions as examples.", markdown, fixed(docs.SQL)},
	{
		"events", "Operations", "Every operation that is recorded, with its arguments and units.", markdown,
		fixed(docs.Events),
	},
	{"summary", "Recording", "What this recording covers, and what was dropped.", asJSON, readSummary},
	{"findings", "Findings", "Every finding of the whole recording, in one line each.", asJSON, readFindings},
	{"finding/{id}", "Finding", "A finding in full.", asJSON, readFinding},
	{"op/{op}", "Operation", "What an operation is, and its statistics.", asJSON, readOp},
	{"process/{process}", "Process", "The statistics of a process.", asJSON, readProcess},
}

func fixed(text string) func(context.Context, *server, string) (string, error) {
	return func(context.Context, *server, string) (string, error) { return text, nil }
}

func (s *server) addResources(m *mcp.Server) {
	for _, r := range resources {
		handler := func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			uri := req.Params.URI
			what, err := url.PathUnescape(uri[strings.LastIndexByte(uri, '/')+1:])
			if err != nil {
				return nil, refused(fmt.Errorf("invalid address %s: %w", uri, err))
			}
			text, err := r.read(ctx, s, what)
			if err != nil {
				return nil, refused(err)
			}
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: r.mime, Text: text}}}, nil
		}
		if strings.Contains(r.address, "{") {
			m.AddResourceTemplate(&mcp.ResourceTemplate{
				URITemplate: scheme + r.address, Name: r.name, Description: r.about,
				MIMEType: r.mime,
			}, handler)
		} else {
			m.AddResource(&mcp.Resource{URI: scheme + r.address, Name: r.name, Description: r.about, MIMEType: r.mime}, handler)
		}
	}
}

// refused is an error for a client of resources. Its code says whether the request or
// the recording is wrong; its text says why.
func refused(err error) error {
	code := int64(jsonrpc.CodeInvalidParams)
	for _, e := range []error{
		store.ErrNotFound, store.ErrForeign, store.ErrCorrupt, store.ErrNewer, store.ErrPermission,
		context.Canceled,
	} {
		if errors.Is(err, e) {
			code = jsonrpc.CodeInternalError
		}
	}
	return &jsonrpc.Error{Code: code, Message: mcpshape.Visible(err.Error())}
}

// everything is the scope of the resources.
var everything = scope{Since: "all"}

func readSummary(ctx context.Context, s *server, _ string) (string, error) {
	st, lost := s.recording(ctx)
	return written(map[string]any{"recording": st, "dropped": droppedOf(lost)})
}

// findings explains the whole recording and calls f with the report.
func (s *server) findings(ctx context.Context, f func(*report.Report) error) error {
	return s.explained(ctx, everything, new(common), f)
}

func readFindings(ctx context.Context, s *server, _ string) (text string, err error) {
	err = s.findings(ctx, func(r *report.Report) error {
		list := []finding{}
		for i := range r.Chains {
			list = append(list, findingOf(&r.Chains[i]))
		}
		text, err = written(map[string]any{
			"verdict": prose(r.Verdict), "findings": list, "not_explained": gapsOf(r),
			"dropped": droppedOf(r.Lost),
		})
		return err
	})
	return text, err
}

func readFinding(ctx context.Context, s *server, id string) (text string, err error) {
	err = s.findings(ctx, func(r *report.Report) error {
		i := slices.IndexFunc(r.Chains, func(c report.Chain) bool { return c.ID == id })
		if i < 0 {
			return fmt.Errorf("there is no finding %s; there are %s", name(id), findingIDs(r))
		}
		text, err = written(chainOf(&r.Chains[i]))
		return err
	})
	return text, err
}

func readOp(ctx context.Context, s *server, op string) (string, error) {
	if op == "" {
		return "", errors.New("no operation is named; write ingero://op/cudaLaunchKernel")
	}
	if _, err := opNamed(op); err != nil {
		return "", err
	}
	info, _ := event.ByName(op)
	stats, err := traceStatsTool.run(ctx, s, statsIn{scope: everything, Op: op})
	if err != nil {
		return "", err
	}
	type argument struct {
		Name string     `json:"name"`
		Unit event.Unit `json:"unit,omitempty"`
		Doc  string     `json:"doc"`
	}
	args := []argument{}
	for _, a := range info.Args {
		args = append(args, argument{a.Name, a.Unit, a.Doc})
	}
	return written(map[string]any{
		"op": info.Name, "source": info.Op.Source().String(), "doc": info.Doc, "arguments": args,
		"statistics": stats,
	})
}

func readProcess(ctx context.Context, s *server, process string) (string, error) {
	if process == "" {
		return "", errors.New("no process is named; get_trace_stats has the names")
	}
	in := statsIn{scope: everything}
	in.Process = process
	stats, err := traceStatsTool.run(ctx, s, in)
	if err != nil {
		return "", err
	}
	return written(stats)
}

func written(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}
