package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/ingero-io/ingero/echo/store"
)

// Codes of the engine's errors, from ClickHouse's ErrorCodes.cpp.
const (
	unknownDatabase = 81
	timeExceeded    = 159
	tooSlow         = 160
	memoryExceeded  = 241
)

var (
	// denied are codes for users without access: unknown, wrong password, missing rights.
	denied = []int{192, 193, 194, 516, 497}
	// limits are codes for exceeded limits of a question: rows, bytes, sets, joins, results.
	limits = []int{158, 191, 307, 396, 453}
	// away are codes for servers and shards that do not answer, or temporarily cannot: network, sockets, Keeper,
	// replicas, disk.
	away = []int{3, 32, 95, 96, 101, 209, 210, 225, 236, 242, 243, 252, 279, 285, 319, 999, 1000}
	// ours are codes for errors of the server itself, not of the statement.
	ours = []int{49, 74, 75, 76, 107, 1001}
)

// codes matches the code in a server's answer over HTTP.
var codes = regexp.MustCompile(`Code: (\d+)\. DB::`)

// code returns the engine's code of an error; 0: it has none.
func code(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*clickhouse.Exception](err); ok {
		return int(e.Code)
	}
	if m := codes.FindStringSubmatch(err.Error()); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

// reachable explains why a server cannot be used.
func reachable(options *clickhouse.Options, err error) error {
	network, isNetwork := errors.AsType[*net.OpError](err)
	switch c := code(err); {
	case err == nil:
		return nil
	case slices.Contains(denied, c):
		return fmt.Errorf("ClickHouse at %s does not let the user %q in, or not do this; the password is in the address "+
			"or in $INGERO_ECHO_CLICKHOUSE_PASSWORD: %s", hosts(options), options.Auth.Username, message(err))
	case isNetwork:
		return fmt.Errorf("ClickHouse does not answer at %s; is it there, and is the port that of %s? %w",
			hosts(options), options.Protocol, network)
	}
	return fmt.Errorf("ClickHouse at %s: %w", hosts(options), err)
}

// Parts of an error's text that do not describe the statement.
var (
	prefix  = regexp.MustCompile(`^(.*?Code: \d+\. DB::\w+: )+`)
	ending  = regexp.MustCompile(`( \(version [^)]*\))?\.? \([A-Z_]+\)\s*"?$`)
	inScope = regexp.MustCompile(`(?s): (In scope|While processing|while executing|while converting) .*$`)
	wanted  = regexp.MustCompile(`(?s)\. Expected( one of:)? .*$`)
)

// message returns the engine's error about a statement, without the text around it.
func message(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*clickhouse.Exception](err); ok {
		text = e.Message
	}
	line, _, _ := strings.Cut(prefix.ReplaceAllString(text, ""), "\n")
	line = inScope.ReplaceAllString(ending.ReplaceAllString(line, ""), "")
	return strings.TrimRight(wanted.ReplaceAllString(line, ""), ": ")
}

// ended returns why a question ended.
func ended(ctx context.Context, err error) error {
	if at, ok := ctx.Deadline(); ok && errors.Is(err, os.ErrDeadlineExceeded) && time.Until(at) < time.Second {
		<-ctx.Done() // the connection has the same deadline, and may notice it first
	}
	var limit *store.LimitError
	if cause := context.Cause(ctx); errors.As(cause, &limit) {
		return limit
	} else if cause != nil {
		return cause
	}
	switch c := code(err); {
	case c == timeExceeded || c == tooSlow:
		return &store.LimitError{Limit: "it took too long"}
	case c == memoryExceeded:
		return &store.LimitError{Limit: "it needs more memory than there is for questions"}
	case slices.Contains(limits, c):
		return &store.LimitError{Limit: message(err)}
	case c == 0 || slices.Contains(away, c) || slices.Contains(denied, c) || slices.Contains(ours, c):
		return fmt.Errorf("%w: %w", store.ErrAway, err)
	}
	return &store.StatementError{Why: message(err)}
}
