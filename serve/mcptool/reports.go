package mcptool

import (
	"context"
	"fmt"
	"sync"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
)

// reports caches the last explanations, because an agent asks for the parts of one
// explanation one after the other.
type reports struct {
	mu   sync.Mutex // guards what follows
	list []kept     // the latest last
}

type kept struct {
	key string
	rep *report.Report
}

// maxReports is how many explanations are kept.
const maxReports = 8

func (k *reports) get(key string) *report.Report {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.list {
		if r.key == key {
			return r.rep
		}
	}
	return nil
}

func (k *reports) put(key string, r *report.Report) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.list) == maxReports {
		k.list = k.list[1:]
	}
	k.list = append(k.list, kept{key, r})
}

// explained reads the explanation of a part of the recording.
func (s *server) explained(ctx context.Context, in scope, c *common, f func(*report.Report) error) error {
	return s.readView(ctx, in, c, func(v *view) error {
		v.bySecond(c)
		r, err := s.explain(ctx, v)
		if err != nil {
			return err
		}
		return f(r)
	})
}

// explain is the explanation of a part of the recording. It must not be changed.
func (s *server) explain(ctx context.Context, v *view) (*report.Report, error) {
	state := s.src.State()
	key := fmt.Sprint(state, v.Window, v.PIDs, v.Note)
	if r := s.reports.get(key); r != nil && state != "" {
		return r, nil
	}
	r, err := diagnose.Explain(ctx, v.Recording, v.Window, func(in *diagnose.Input) {
		in.DB, in.Note = s.src.Name(), v.Note
		in.Only(v.PIDs)
	})
	if err != nil {
		return nil, err
	}
	quoteNames(r)
	s.reports.put(key, r)
	return r, nil
}
