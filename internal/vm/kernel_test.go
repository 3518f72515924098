package vm

import (
	"strings"
	"testing"
)

func TestTheLatestPackageOfAKernelIsTaken(t *testing.T) {
	for _, c := range []struct {
		version     string
		pages       int
		arch        string
		names, want string
	}{
		{
			"6.1", 0, "amd64",
			"linux-image-6.1.0-9-cloud-amd64 linux-image-6.1.0-56-cloud-amd64 linux-image-6.12.1-cloud-amd64",
			"linux-image-6.1.0-56-cloud-amd64",
		},
		{
			"6.12", 0, "amd64", "linux-image-6.12.9+deb13-cloud-amd64 linux-image-6.12.107+deb13-cloud-amd64",
			"linux-image-6.12.107+deb13-cloud-amd64",
		},
		{
			"6.18", 0, "amd64", "linux-image-6.18.1-cloud-amd64-unsigned linux-image-6.18.1-cloud-amd64-dbg " +
				"linux-image-6.18.1-amd64 linux-image-6.18.1-cloud-arm64", "",
		},
		{
			"7.2", 0, "amd64", "linux-binary-7.2.12-cloud-amd64 linux-image-7.2.12-cloud-amd64",
			"linux-binary-7.2.12-cloud-amd64",
		},
		{
			"7.2", 0, "amd64", "linux-image-7.2.12-cloud-amd64 linux-binary-7.2.12-cloud-amd64",
			"linux-binary-7.2.12-cloud-amd64",
		},
		{
			"6.12", 16, "arm64", "linux-image-6.12.107-cloud-arm64 linux-image-6.12.95+deb12-arm64-16k linux-image-6.12.107-arm64 " +
				"linux-image-6.12.96-arm64-64k linux-image-6.12.96-arm64-16k-unsigned linux-image-arm64-16k",
			"linux-image-6.12.95+deb12-arm64-16k",
		},
		{"6.12", 0, "arm64", "linux-image-6.12.95+deb12-arm64-16k linux-image-6.12.95+deb12-arm64", ""},
	} {
		arch, err := ArchOf(c.arch)
		if err != nil {
			t.Fatal(err)
		}
		k := Kernel{Version: c.version, Pages: c.pages}
		if got, ok := k.newest(strings.Fields(c.names), arch); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: took %q, want %q", k.Name(), got, c.want)
		}
	}
}

func TestKernelsAreChosenByName(t *testing.T) {
	if got, err := Choose("6.1,7.2", amd64); err != nil || len(got) != 2 || got[0].Name() != "6.1" || got[1].Name() != "7.2" {
		t.Errorf("chose %v, %v", got, err)
	}
	for _, asked := range arches {
		got, err := Choose("6.12-16k", asked)
		if err != nil || len(got) != 1 || got[0].Version != "6.12" || got[0].Pages != 16 || got[0].On(asked).Go != "arm64" {
			t.Errorf("chose %v, %v", got, err)
		}
	}
	if got, err := Choose(All, arm64); err != nil || len(got) != len(Kernels) {
		t.Errorf("chose %v, %v", got, err)
	}
	got, err := Choose(All, amd64)
	if err != nil || len(got) == 0 || len(got) >= len(Kernels) {
		t.Errorf("chose %v, %v", got, err)
	}
	for _, k := range got {
		if k.Pages != 0 {
			t.Errorf("%s is for arm64 only", k.Name())
		}
	}
	if _, err := Choose("6.1,2.4", amd64); err == nil || !strings.Contains(err.Error(), "6.1, 6.12, 6.12-16k") {
		t.Errorf("chose 2.4: %v", err)
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
	for _, k := range Kernels {
		asked, native := map[string]bool{}, steps(&k, amd64, true)
		for _, s := range native {
			asked[s.Backend] = true
		}
		for _, b := range k.Backends {
			if !asked[string(b)] {
				t.Errorf("%s: %s is not tried", k.Name(), b)
			}
		}
		if len(native) == 0 || len(k.Backends) > 0 && len(steps(&k, amd64, false)) >= len(native) {
			t.Errorf("%s: %d steps", k.Name(), len(native))
		}
		k.Few = true
		few := steps(&k, amd64, true)
		if len(few) == 0 || len(few) > len(native) || len(k.Backends) > 0 && patterns(few) >= patterns(native) {
			t.Errorf("%s: %d steps of %d patterns where there is little time, %d of %d else", k.Name(), len(few), patterns(few),
				len(native), patterns(native))
		}
		for _, s := range few {
			if s.Backend != native[0].Backend {
				t.Errorf("%s: %s is tried where there is little time", k.Name(), s.Backend)
			}
		}
	}
}

func TestAKernelWithOtherPagesIsNotedAsAFailure(t *testing.T) {
	usual, large := Kernel{Version: "6.12"}, Kernel{Version: "6.12", Pages: 64}
	for _, c := range []struct {
		k     *Kernel
		pages int
		ok    bool
	}{{&usual, 4, true}, {&usual, 64, false}, {&large, 64, true}, {&large, 4, false}, {&large, 16, false}} {
		if err := c.k.Check(&Result{Release: "6.12.1", Pages: c.pages}); (err == nil) != c.ok {
			t.Errorf("%s with pages of %d KiB: %v", c.k.Name(), c.pages, err)
		}
	}
}

func TestOptionsThatAKernelDoesNotTakeAreNamed(t *testing.T) {
	options := "# a list\nCONFIG_A=y\nCONFIG_AB=y\n\nCONFIG_C=\"c\"\n"
	got := missing(options, "CONFIG_A=y\n# CONFIG_AB is not set\nCONFIG_C=\"c\"\nCONFIG_D=y\n")
	if len(got) != 1 || got[0] != "CONFIG_AB=y" {
		t.Errorf("missing: %q", got)
	}
	if got := missing(options64k, options64k); len(got) != 0 || !strings.Contains(options64k, "CONFIG_ARM64_64K_PAGES=y\n") {
		t.Errorf("missing: %q", got)
	}
}
