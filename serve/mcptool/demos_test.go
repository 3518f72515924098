package mcptool_test

import (
	"context"

	"github.com/ingero-io/ingero/demo"
	"github.com/ingero-io/ingero/serve/mcptool"
)

// knownFaults are those that the program gives its servers.
func knownFaults() mcptool.Demos {
	d := mcptool.Demos{Explain: func(ctx context.Context, name string) (*mcptool.Demo, error) {
		sc, err := demo.Find(name)
		if err != nil {
			return nil, err
		}
		r, err := demo.Run(ctx, sc, demo.Options{Replay: "only recordings are shown here"})
		if err != nil {
			return nil, err
		}
		return &mcptool.Demo{Story: sc.Story, Expect: sc.Expect, Right: r.Right, Rank: r.Rank, Report: r.Report}, nil
	}}
	for _, s := range demo.Scenarios {
		d.Names = append(d.Names, s.Name)
	}
	return d
}
