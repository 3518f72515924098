package nodeapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/serve/webserver"
)

// input is the parameters of a request.
type input struct {
	span     recording.Span
	pids     []int64
	tid      uint32
	process  string
	op       event.Op
	by       string
	slow     bool
	limit    int
	skip     int
	buckets  int
	columns  int
	rows     int
	a, b     string // sides of a comparison
	sql      wire.Question
	received time.Time
}

// param is a parameter that a request may have.
type param struct {
	name, kind, about string
	values            []string // allowed values, if there are only some
	set               func(in *input, v string) error
}

var params = []param{
	{"since", "string", `how far back to look: "5m", or "all"; counted from the end of a recording that is finished. ` +
		`Default: all; for a recording that is still being written, 5m`, nil, func(in *input, v string) error {
		in.span.Since = v
		return nil
	}},
	{"from", "string", "start of the window: RFC 3339 or a Unix time", nil, func(in *input, v string) error {
		in.span.From = v
		return nil
	}},
	{"to", "string", "end of the window, in the same formats as from", nil, func(in *input, v string) error {
		in.span.To = v
		return nil
	}},
	{"pid", "integer", "only this process", nil, func(in *input, v string) error {
		n, err := strconv.ParseUint(v, 10, 32)
		in.pids = append(in.pids, int64(n))
		return err
	}},
	{"tid", "integer", "only this thread", nil, func(in *input, v string) error {
		n, err := strconv.ParseUint(v, 10, 32)
		in.tid = uint32(n)
		return err
	}},
	{"process", "string", "only processes of this name", nil, func(in *input, v string) error {
		in.process = v
		return nil
	}},
	{"op", "string", "only this operation, such as cudaLaunchKernel", nil, func(in *input, v string) error {
		i, ok := event.ByName(v)
		if !ok {
			return errors.New("there is no such operation")
		}
		in.op = i.Op
		return nil
	}},
	{"by", "string", "what to sort by", []string{"total", "max", "calls"}, func(in *input, v string) error {
		in.by = v
		return nil
	}},
	{
		"slow", "string", "whether to count only calls that were slow, failed, waited or were the first",
		[]string{"yes", "no"},
		func(in *input, v string) error {
			in.slow = v == "yes"
			return nil
		},
	},
	{
		"a", "string", `what to compare with: a part of the recording ("0s-30s", "14:00-14:05", "pid=7", "rank=0"), ` +
			`one of its baselines ("main.db"), or a part of that ("main.db@0s-30s"). Default: all of the recording`, nil,
		func(in *input, v string) error {
			in.a = v
			return nil
		},
	},
	{"b", "string", "what is compared with a, in the same form", nil, func(in *input, v string) error {
		in.b = v
		return nil
	}},
	{"limit", "integer", "items of a list at most; default 1000", nil, func(in *input, v string) error {
		n, err := strconv.Atoi(v)
		if err == nil && n < 1 {
			err = errors.New("must be positive")
		}
		in.limit = n
		return err
	}},
	{"skip", "integer", "items of the list to leave out first", nil, func(in *input, v string) (err error) {
		in.skip, err = between(v, 0, math.MaxInt32)
		return err
	}},
	{
		"buckets", "integer", "buckets of time at most, 1 to 4096; default 512", nil,
		func(in *input, v string) (err error) {
			in.buckets, err = between(v, 1, maxBuckets)
			return err
		},
	},
	{
		"columns", "integer", "columns of time at most, 1 to 2000; default 240", nil,
		func(in *input, v string) (err error) {
			in.columns, err = between(v, 1, maxColumns)
			return err
		},
	},
	{
		"rows", "integer", "up to how many calls and waits are answered one by one; default 4000", nil,
		func(in *input, v string) (err error) {
			in.rows, err = between(v, 0, maxLimit)
			return err
		},
	},
}

// between is a whole number from low to high.
func between(v string, low, high int) (int, error) {
	n, err := strconv.Atoi(v)
	if err == nil && (n < low || n > high) {
		err = fmt.Errorf("must be from %d to %d", low, high)
	}
	return n, err
}

func paramNamed(name string) *param {
	i := slices.IndexFunc(params, func(p param) bool { return p.name == name })
	return &params[i] // the names are those of routes.go; a test has seen all
}

const (
	maxBody      = 64 << 10 // bytes of a request
	defaultLimit = 1000
	maxLimit     = 50_000
)

// readInput parses a request. On an error it returns the status to answer with.
func (rt *route) readInput(w http.ResponseWriter, r *http.Request) (*input, int, error) {
	in := &input{limit: defaultLimit, buckets: defaultBuckets, columns: defaultColumns, rows: defaultRows}
	body, err := webserver.Body(w, r, maxBody)
	switch {
	case errors.Is(err, webserver.ErrTooLarge):
		return nil, http.StatusRequestEntityTooLarge, err
	case err != nil:
		return nil, http.StatusRequestTimeout, err
	}
	for name, values := range r.URL.Query() {
		if !slices.Contains(rt.params, name) {
			return nil, http.StatusBadRequest,
				fmt.Errorf("%s has no parameter %q; it has: %s", rt.path, name, strings.Join(rt.params, ", "))
		}
		p := paramNamed(name)
		v := values[0]
		if len(values) > 1 {
			return nil, http.StatusBadRequest, fmt.Errorf("%s is given %d times", name, len(values))
		}
		if len(p.values) > 0 && !slices.Contains(p.values, v) {
			return nil, http.StatusBadRequest, fmt.Errorf("%s %q is none of: %s", name, v, strings.Join(p.values, ", "))
		}
		if err := p.set(in, v); err != nil {
			return nil, http.StatusBadRequest, fmt.Errorf("%s %q: %w", name, v, err)
		}
	}
	if rt.body {
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		if err := d.Decode(&in.sql); err != nil {
			return nil, http.StatusBadRequest, fmt.Errorf("invalid body, see %sopenapi.json: %w", Prefix, err)
		}
		in.limit = in.sql.Limit
		if in.limit <= 0 {
			in.limit = defaultLimit
		}
	}
	in.limit = min(in.limit, maxLimit)
	return in, 0, nil
}
