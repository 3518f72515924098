package compare

import (
	"context"
	"fmt"
	"slices"

	"github.com/ingero-io/ingero/explain/diagnose"
	"github.com/ingero-io/ingero/explain/recording"
	"github.com/ingero-io/ingero/explain/report"
	"github.com/ingero-io/ingero/store"
)

// Side is one of the two windows, as diagnose.Study explains it.
type Side struct {
	Name     string // the user's name for it: a file, or a part of one
	Report   *report.Report
	Profiles []diagnose.Profile
	Facts    []Fact
	Note     string // what was left out; empty: nothing
}

// Read reads the selected part of a recording. recording.IsMistaken holds for an error in the selection.
func Read(ctx context.Context, rec store.Recording, sel recording.Selection) (*Side, error) {
	v, err := sel.View(ctx, rec)
	if err != nil {
		return nil, err
	}
	return ReadView(ctx, v)
}

// ReadView reads the processes and the time of a view, without warm-up.
func ReadView(ctx context.Context, v *recording.View) (*Side, error) {
	s, err := study(ctx, v, v.Window)
	if err != nil {
		return nil, err
	}
	later, left := s.AfterWarmup()
	if left == 0 {
		return s, nil
	}
	if s, err = study(ctx, v, store.Window{From: later, To: v.Window.To}); err != nil {
		return nil, err
	}
	s.Note = "without its first " + report.Duration(left) + ": warm-up"
	return s, nil
}

func study(ctx context.Context, v *recording.View, w store.Window) (*Side, error) {
	ins, err := diagnose.LoadMachines(ctx, v, w, diagnose.LoadLaunches)
	if err != nil {
		return nil, err
	}
	s := &Side{}
	for _, in := range ins {
		in.Only(v.PIDs)
		facts := machineFacts(in, session(&v.Sum, in.Node))
		if len(ins) > 1 {
			for i := range facts {
				facts[i].What = fmt.Sprintf("%s of %s", facts[i].What, in.Node)
			}
		}
		s.Facts = append(s.Facts, facts...)
	}
	s.Report, s.Profiles = diagnose.Study(ins)
	if len(v.PIDs) == 1 {
		for i := range s.Profiles {
			s.Profiles[i].Rank = -1 // the user said what to compare with what
		}
	}
	return s, nil
}

// session returns the last session of a node; nil if there is none. Recordings of one node may not name it.
func session(sum *store.Summary, node string) *store.Session {
	for i := range slices.Backward(sum.Sessions) {
		if s := &sum.Sessions[i]; node == "" || s.Node == node || s.Node == "" {
			return s
		}
	}
	return nil
}
