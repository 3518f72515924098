package simulate

import (
	"fmt"
	"strconv"
	"strings"
)

// Target is a target and the result.
type Target struct {
	Name string `json:"name"`
	Want string `json:"want"`
	Got  string `json:"got"`
	Met  bool   `json:"met"`
}

// targets compares rows with the targets (docs/fleet-measured.md).
func targets(rows []Row) []Target {
	var out []Target
	add := func(name, want string, got float64, met bool) {
		out = append(out, Target{name, want, strconv.FormatFloat(got, 'g', 4, 64), met})
	}
	changes, changed := 0, 0
	var outages struct{ found, missed, alarms int }
	nodeHours, quiet, other := 0.0, 0, 0
	for _, r := range rows {
		switch r.Part {
		case partStraggler:
			name := fmt.Sprintf("%d ranks, steps of 0.2 s, noise 3 %%: ", r.N)
			add(name+"F1", ">= 0.99", float64(r.F1), r.F1 >= 0.99)
			most := 8.5
			if r.N >= 1000 {
				most = 11.5
			}
			add(name+"p95", fmt.Sprintf("<= %g s", most), float64(r.P95S), float64(r.P95S) <= most)
		case partChange:
			changes, changed = changes+r.Trials, changed+r.False+r.Other
		case partQuiet:
			nodeHours, quiet, other = nodeHours+float64(r.RankHour)/8, quiet+r.False, other+r.Other
		case partAmong:
			outages.alarms += r.False + r.Other
			if !strings.HasSuffix(r.Case, lostCase) { // no outage of a fleet
				outages.found, outages.missed = outages.found+r.Found, outages.missed+r.Missed
			}
		}
	}
	if changes > 0 {
		add(fmt.Sprintf("alarms in %d changes of whole cohorts", changes), "0", float64(changed), changed == 0)
	}
	if n := outages.found + outages.missed; n > 0 {
		add(fmt.Sprintf("missed of %d stragglers in outages of one of several fleets", n), "0", float64(outages.missed),
			outages.missed == 0)
		add("false alarms with several fleets, of all kinds", "0", float64(outages.alarms), outages.alarms == 0)
	}
	if nodeHours > 0 {
		per := float64(quiet) / nodeHours * 1000
		add(fmt.Sprintf("false alarms per 1,000 node-hours in %.0f rank-hours", 8*nodeHours), "<= 0.6", per, per <= 0.6)
		per = float64(other) / nodeHours * 1000
		add("the same of hang, gone, missing and cohort_degraded", "<= 0.6", per, per <= 0.6)
	}
	return out
}
