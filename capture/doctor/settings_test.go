package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckSaysWhichSettingsTheMachineHas(t *testing.T) {
	for clock, want := range map[string]Status{"tsc": Info, "hpet": Warning, "": Info} {
		root := t.TempDir()
		dir := filepath.Join(root, "devices/system/clocksource/clocksource0")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "current_clocksource"), []byte(clock), 0o600); err != nil {
			t.Fatal(err)
		}
		e := exam{opts: Options{Proc: root, Sys: root}}
		c := e.settings()
		if c.Status != want || !strings.Contains(c.Detail, clock) || (c.Remedy != "") != (want == Warning) || c.Detail == "" {
			t.Errorf("%q: %+v", clock, c)
		}
	}
}
