package compare

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// SentSchema is the version of Sent as JSON.
const SentSchema = "ingero.side/1"

// Sent is a side on its way from a node to where it is compared.
type Sent struct {
	Schema   string             `json:"schema"`
	Name     string             `json:"name"`
	Report   *report.Report     `json:"report"`
	Profiles []diagnose.Profile `json:"profiles"`
	Facts    []Fact             `json:"facts"`
	Note     string             `json:"note"`
}

// Sent returns the side without what a comparison does not need. It shares memory with the side.
func (s *Side) Sent() *Sent {
	out := &Sent{Schema: SentSchema, Name: s.Name, Report: s.Report, Facts: s.Facts, Note: s.Note}
	for _, p := range s.Profiles {
		p.Steps.Sampled = nil
		ops := p.Ops
		p.Ops = nil
		for _, o := range ops {
			few := *o
			few.Hist = nil
			p.Ops = append(p.Ops, &few)
		}
		out.Profiles = append(out.Profiles, p)
	}
	return out
}

// Side returns the side that was sent, or an error if it has another version or is incomplete.
func (s *Sent) Side() (*Side, error) {
	switch {
	case s.Schema != SentSchema:
		return nil, fmt.Errorf("it sends %.40q, not %q: the versions of Ingero differ", s.Schema, SentSchema)
	case s.Report == nil:
		return nil, errors.New("it sends no report")
	}
	for i := range s.Profiles {
		if slices.Contains(s.Profiles[i].Ops, (*store.OpStat)(nil)) {
			return nil, errors.New("it sends a thread with an operation that is null")
		}
	}
	return &Side{Name: s.Name, Report: s.Report, Profiles: s.Profiles, Facts: s.Facts, Note: s.Note}, nil
}
