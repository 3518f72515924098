package vm

import (
	"strings"
	"testing"
)

func TestTheLatestPackageOfAKernelIsTaken(t *testing.T) {
	amd64, err := ArchOf("amd64")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ version, names, want string }{
		{
			"6.1", "linux-image-6.1.0-9-cloud-amd64 linux-image-6.1.0-56-cloud-amd64 linux-image-6.12.1-cloud-amd64",
			"linux-image-6.1.0-56-cloud-amd64",
		},
		{
			"6.12", "linux-image-6.12.9+deb13-cloud-amd64 linux-image-6.12.107+deb13-cloud-amd64",
			"linux-image-6.12.107+deb13-cloud-amd64",
		},
		{"6.18", "linux-image-6.18.1-cloud-amd64-unsigned linux-image-6.18.1-cloud-amd64-dbg linux-image-6.18.1-amd64 " +
			"linux-image-6.18.1-cloud-arm64", ""},
		{"7.2", "linux-binary-7.2.12-cloud-amd64 linux-image-7.2.12-cloud-amd64", "linux-binary-7.2.12-cloud-amd64"},
		{"7.2", "linux-image-7.2.12-cloud-amd64 linux-binary-7.2.12-cloud-amd64", "linux-binary-7.2.12-cloud-amd64"},
	} {
		k := Kernel{Version: c.version}
		if got, ok := k.newest(strings.Fields(c.names), amd64); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: took %q, want %q", c.version, got, c.want)
		}
	}
}

func TestKernelsAreChosenByVersion(t *testing.T) {
	if got, err := Choose("6.1,7.2"); err != nil || len(got) != 2 || got[0].Version != "6.1" || got[1].Version != "7.2" {
		t.Errorf("chose %v, %v", got, err)
	}
	if got, err := Choose(All); err != nil || len(got) != len(Kernels) {
		t.Errorf("chose %v, %v", got, err)
	}
	if _, err := Choose("6.1,2.4"); err == nil || !strings.Contains(err.Error(), "6.18") {
		t.Errorf("an unknown kernel: %v", err)
	}
}

// patterns counts what steps choose tests by.
func patterns(steps []Step) (n int) {
	for _, s := range steps {
		for _, a := range s.Args {
			if run, ok := strings.CutPrefix(a, "-test.run="); ok {
				n += 1 + strings.Count(run, "|")
			}
		}
	}
	return n
}

func TestEachBackendOfAKernelIsTried(t *testing.T) {
	amd64, _ := ArchOf("amd64")
	for _, k := range Kernels {
		asked, native := map[string]bool{}, steps(&k, amd64, true)
		for _, s := range native {
			asked[s.Backend] = true
		}
		for _, b := range k.Backends {
			if !asked[string(b)] {
				t.Errorf("%s: %s is not tried", k.Version, b)
			}
		}
		if len(native) == 0 || len(k.Backends) > 0 && len(steps(&k, amd64, false)) >= len(native) {
			t.Errorf("%s: %d steps", k.Version, len(native))
		}
		k.Few = true
		few := steps(&k, amd64, true)
		if len(few) == 0 || len(few) > len(native) || len(k.Backends) > 0 && patterns(few) >= patterns(native) {
			t.Errorf("%s: %d steps of %d patterns where there is little time, %d of %d else", k.Version, len(few), patterns(few),
				len(native), patterns(native))
		}
		for _, s := range few {
			if s.Backend != native[0].Backend {
				t.Errorf("%s: %s is tried where there is little time", k.Version, s.Backend)
			}
		}
	}
}
