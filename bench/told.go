package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ingero-io/ingero/explain/report"
)

// told is the time from the end of a stall of 0.4 s to the output line in which a running tracer
// reports its cause.
func told(ctx context.Context, l *lab) (Row, error) {
	var late series
	for range pick(l, 2, 5) {
		l.say("tracer: stall to finding")
		v, err := toldOnce(ctx, l)
		if err != nil {
			return Row{}, err
		}
		late = append(late, v.Seconds())
	}
	return Row{
		Name: "end of a stall to its cause told", Unit: Seconds, Measured: late.median(),
		Error: late.quantile(1) - late.median(), Target: atMost(2),
	}.judge(), nil
}

const stallMS = 400

func toldOnce(ctx context.Context, l *lab) (time.Duration, error) {
	args := append([]string{
		"--fault", "gpu", "--fault-ms", strconv.Itoa(stallMS), "--period-ms", "60000", "--start-after",
		"1.5",
	}, at20k...)
	loop, err := l.busyLoop(ctx, args...)
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = loop.Stop() // it may have ended with ctx
		_, _ = loop.Wait()
	}()
	t, err := l.trace(ctx, loop.PID())
	if err != nil {
		return 0, err
	}
	var found struct {
		At    int64        `json:"at_ns"`
		Chain report.Chain `json:"chain"`
	}
	for found.Chain.Effect.MaxNS < stallMS*1e6 {
		if err := t.readReport("finding", &found); err != nil {
			return 0, err
		}
	}
	// The first event is the longest; its id ends in its start.
	id := found.Chain.Evidence.EventIDs[0]
	start, err := strconv.ParseInt(id[strings.LastIndexByte(id, ':')+1:], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("a finding names event %q", id)
	}
	if err := t.stop(); err != nil {
		return 0, err
	}
	if _, err := t.recorded(ctx); err != nil {
		return 0, err
	}
	return time.Duration(found.At - start - int64(found.Chain.Effect.MaxNS)), nil
}
