package nodeapi

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/serve/nodeapi/wire"
	"github.com/ingero-io/ingero/store"
)

// maxBytes bounds the values of an answer.
const maxBytes = 8 << 20

var errNoSQL = errors.New("there is no statement: {\"sql\": \"select …\"}")

func query(ctx context.Context, a *API, in *input) (out wire.Rows, err error) {
	if strings.TrimSpace(in.sql.SQL) == "" {
		return out, asked{errNoSQL}
	}
	limits := recording.UntrustedLimits()
	limits.Time = a.opts.SQLTime
	limits.Rows, limits.Bytes = in.limit, maxBytes
	rows, err := a.src.Query(ctx, in.sql.SQL, limits)
	if err != nil {
		return out, err
	}
	defer rows.Close() // a reader has no data to lose
	out.Columns, out.Rows = append([]string{}, rows.Columns()...), [][]any{}
	for rows.Next() {
		out.Rows = append(out.Rows, values(rows.Values()))
	}
	if err := rows.Err(); err != nil {
		return out, err
	}
	out.Notes = rows.Notes()
	for _, n := range out.Notes {
		for i, row := range n.Exact {
			n.Exact[i] = values(row)
		}
	}
	out.Truncated, out.Node, out.Lost = rows.Truncated(), a.opts.Node, map[string]uint64{}
	_ = a.src.Read(ctx, func(r store.Recording) error { // a file that is not a recording has no name
		part, err := recording.Choose(ctx, r, recording.Span{Since: "all"}, a.opts.Now())
		out.About = a.about(&part)
		return err
	})
	return out, nil
}

// values are a row's values as in JSON.
func values(row []any) []any {
	line := make([]any, len(row))
	for i, v := range row {
		line[i] = store.JSONValue(v)
		if f, ok := line[i].(float64); ok {
			line[i] = realNumber(f)
		}
	}
	return line
}

// realNumber is a float that keeps its fraction in JSON: a client would divide 5 as an integer.
type realNumber float64

// MarshalJSON implements json.Marshaler.
func (r realNumber) MarshalJSON() ([]byte, error) {
	b := strconv.AppendFloat(nil, float64(r), 'g', -1, 64)
	if !bytes.ContainsAny(b, ".e") {
		b = append(b, ".0"...)
	}
	return b, nil
}
