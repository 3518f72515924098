package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ingero-io/ingero/agent"
	"github.com/ingero-io/ingero/event"
)

// Who was ended for lack of memory stays on the screen until the end.
func TestTheTableTellsOfProcessesEndedForLackOfMemory(t *testing.T) {
	m := tea.Model(&liveModel{width: 120, height: 40, start: &agent.Start{}})
	for i := range uint32(5) {
		m, _ = m.Update(oomMsg(oomLine(&event.Life{Kind: event.LifeOOM, Thread: event.Thread{PID: 10 + i}, Comm: "hungry\x1b"})))
	}
	for n := range 3 { // a second brings a new status
		m, _ = m.Update(statusMsg{Elapsed: time.Duration(n) * time.Second})
	}
	text := m.(*liveModel).text()
	for i := range 5 {
		if got := strings.Contains(text, fmt.Sprintf("[OUT OF MEMORY] the kernel ended hungry\\x1b (%d)", 10+i)); got != (i >= 2) {
			t.Errorf("process %d: told %v", 10+i, got)
		}
	}
	if !strings.Contains(text, "… and 2 processes before") {
		t.Errorf("those before are not told:\n%s", text)
	}
}
