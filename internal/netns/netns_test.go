package netns

import (
	"slices"
	"testing"
)

// A process that was killed leaves its nodes. Those of processes that run, and namespaces of others, stay.
func TestWhatIsLeft(t *testing.T) {
	const list = "ingero-17b\ningero-17a (id: 1)\nother\ningero-170a (id: 0)\ningero-try\nmy-ingero-17c\ningero-17abc\n"
	got := left(list, func(pid string) bool { return pid == "17" })
	if !slices.Equal(got, []string{"ingero-17b", "ingero-17a"}) {
		t.Error(got)
	}
}
