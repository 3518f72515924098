package mcptool

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxCompletions is how many values are offered.
const maxCompletions = 100

// windows are offered for the argument "window".
var windows = []string{"15m", "1h", "1d", "7d", "all"}

// complete offers values for the prompt's arguments. If they cannot be read, it offers none.
func (s *Tools) complete(ctx context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	res := &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}
	var values []string
	switch req.Params.Argument.Name {
	case "window":
		values = windows
	case "cluster":
		all, err := s.ask.Clusters(ctx)
		if err != nil {
			s.options.Logger.Warn("clusters cannot be read", "err", err)
		}
		values = all
	}
	for _, v := range values {
		if strings.HasPrefix(v, req.Params.Argument.Value) && plain(v) && len(res.Completion.Values) < maxCompletions {
			res.Completion.Values = append(res.Completion.Values, v)
		}
	}
	res.Completion.Total = len(res.Completion.Values)
	return res, nil
}
