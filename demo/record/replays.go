package main

import (
	"time"

	"github.com/ingero-io/ingero/demo"
	"github.com/ingero-io/ingero/event"
)

// replays are the recordings of the demo's scenarios. They are small, because they are part of the
// binary.
func replays() []recording {
	list := make([]recording, 0, len(demo.Scenarios))
	for _, s := range demo.Scenarios {
		list = append(list, recording{
			Scenario: s, node: "demo", length: 4 * time.Second, rate: 20, args: slowly(&s), keep: pack,
		})
	}
	return list
}

// slowly makes the program take fewer steps, so that the recording is smaller. For a quota to take
// effect, the program has to be busy.
func slowly(s *demo.Scenario) []string {
	if s.Expect == event.CauseCPUThrottled {
		return nil
	}
	return []string{"--pace-us", "5000"}
}

func pack(dir string, r *demo.Result, path string) error {
	r.Truth.Cgroup = ""
	return demo.Pack(dir, r, path)
}
