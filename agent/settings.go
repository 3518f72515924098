package agent

import (
	"maps"
	"slices"
	"time"

	"github.com/ingero-io/ingero/capture/host/proc"
	"github.com/ingero-io/ingero/capture/host/setting"
	"github.com/ingero-io/ingero/event"
	"github.com/ingero-io/ingero/store"
)

// settings records the settings of the machine, and of processes that make calls, once and when they change.
type settings struct {
	fs      proc.FS
	machine func() map[string]string
	next    time.Time                    // when all are looked at again
	known   map[uint32]map[string]string // by process; 0: the machine
	asked   []uint32                     // processes whose settings are not known yet
	last    uint32                       // the process of the last call
}

// Settings are read again every lookAtSettings: somebody may change them while a program runs. In a second those of
// maxSettings new processes are read; of more processes than keptSettings none is known.
const (
	lookAtSettings = 30 * time.Second
	maxSettings    = 16
	keptSettings   = 1024
)

func newSettings(fs proc.FS) *settings {
	return &settings{
		fs: fs, machine: func() map[string]string { return setting.Machine("", "") },
		known: map[uint32]map[string]string{},
	}
}

func (s *settings) follower() follower {
	return follower{
		records: func(u *workItem) { s.calls(u.records.Calls) },
		ended: func(list []event.Life) {
			for i := range list {
				s.forget(&list[i])
			}
		},
		second: func(t *second) { t.item.batch.Settings = append(t.item.batch.Settings, s.look(t.now)...) },
	}
}

// calls notes the processes that make calls.
func (s *settings) calls(list []event.Call) {
	for i := range list {
		pid := list[i].PID
		if pid == s.last {
			continue
		}
		s.last = pid
		if _, ok := s.known[pid]; !ok && len(s.known) < keptSettings && len(s.asked) < keptSettings {
			s.known[pid] = nil
			s.asked = append(s.asked, pid)
		}
	}
}

// forget forgets a process that ended, or executed another program.
func (s *settings) forget(l *event.Life) {
	if l.PID == l.TID {
		delete(s.known, l.PID)
		s.last = 0
	}
}

// look returns what is new, or has changed.
func (s *settings) look(now time.Time) (list []store.Setting) {
	at := uint64(now.UnixNano())
	asked := s.asked[:min(len(s.asked), maxSettings)]
	s.asked = s.asked[len(asked):]
	if !now.Before(s.next) {
		s.next = now.Add(lookAtSettings)
		list = s.compare(list, 0, at, s.machine())
		for pid, known := range s.known {
			if pid != 0 && known != nil {
				list = s.compare(list, pid, at, s.again(pid))
			}
		}
	}
	for _, pid := range asked {
		if _, ok := s.known[pid]; ok { // it has not ended meanwhile
			list = s.compare(list, pid, at, setting.Process(s.fs, int(pid)))
		}
	}
	return list
}

// again returns the settings of a process that are known, with those that may have changed.
func (s *settings) again(pid uint32) map[string]string {
	now := setting.Limits(s.fs, int(pid))
	if len(now) == 0 {
		return nil // it has ended
	}
	all := maps.Clone(s.known[pid])
	maps.Copy(all, now)
	return all
}

// compare adds to a list how settings differ from what is known. A process of which nothing can be read any more has
// ended.
func (s *settings) compare(list []store.Setting, pid uint32, at uint64, now map[string]string) []store.Setting {
	before := s.known[pid]
	if len(now) == 0 && len(before) > 0 {
		return list
	}
	s.known[pid] = now
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if old, ok := before[name]; !ok || old != now[name] {
			list = append(list, store.Setting{At: at, PID: pid, Name: name, Value: now[name]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := now[name]; !ok {
			list = append(list, store.Setting{At: at, PID: pid, Name: name})
		}
	}
	return list
}
