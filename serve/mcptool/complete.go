package mcptool

import (
	"context"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// maxCompletions is how many values an answer may have by the protocol.
const maxCompletions = 100

// complete completes an argument of the prompt or of a template, by its name: arguments
// with the same name mean the same everywhere.
func (s *server) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	var values []string
	var err error
	switch req.Params.Argument.Name {
	case "op":
		for i := range event.Catalog {
			values = append(values, event.Catalog[i].Name)
		}
	case "process":
		values, err = s.processNames(ctx)
	case "id":
		err = s.findings(ctx, func(r *report.Report) error {
			for i := range r.Chains {
				values = append(values, r.Chains[i].ID)
			}
			return nil
		})
	case "window":
		values = []string{"5m", "30s", "1m", "1h", "all"}
	case "symptom":
		values = []string{
			"steps take longer than before", "the GPU is idle between steps", "one stall", "the program hangs",
			"memory grows",
		}
	}
	if err != nil || ctx.Err() != nil {
		values = nil // a recording that cannot be read has no names; the tools say why
	}
	values = matching(values, req.Params.Argument.Value)
	res := &mcp.CompleteResult{}
	res.Completion.Total = len(values)
	res.Completion.HasMore = len(values) > maxCompletions
	res.Completion.Values = first(values, maxCompletions)
	return res, nil
}

// processNames are the names of the traced processes, each once.
func (s *server) processNames(ctx context.Context) (names []string, err error) {
	err = s.src.Read(ctx, func(r store.Recording) error {
		names, err = recording.Traced(ctx, r)
		return err
	})
	slices.Sort(names)
	return slices.Compact(names), err
}

// matching are the values that begin with what was typed, then those that hold it.
func matching(values []string, typed string) []string {
	typed = strings.ToLower(typed)
	begin, hold := []string{}, []string{}
	for _, v := range values {
		switch low := strings.ToLower(v); {
		case strings.HasPrefix(low, typed):
			begin = append(begin, v)
		case strings.Contains(low, typed):
			hold = append(hold, v)
		}
	}
	return append(begin, hold...)
}
