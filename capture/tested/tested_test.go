package tested_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/capture/tested"
	"github.com/ingero-io/ingero/internal/doctable"
	"github.com/ingero-io/ingero/internal/vm"
)

var update = flag.Bool("update", false, "write the tables into docs/kernels.md")

func TestTheNearestKernel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		release, arch string
		want          tested.Relation
		rows          string
	}{
		{"6.12.95+deb12-cloud-amd64", "amd64", tested.Same, "6.12.95+deb12-cloud-amd64"},
		{"6.12.0-1-generic\n", "amd64", tested.Same, "6.12.95+deb12-cloud-amd64"},
		{"6.1.0-100-cloud-amd64", "amd64", tested.Same, "6.1.0-56-cloud-amd64 6.1"},
		{"6.5.0-26-generic", "amd64", tested.Between, "6.1.0-56-cloud-amd64 6.1 6.12.95+deb12-cloud-amd64"},
		{"6.2", "amd64", tested.Between, "6.1.0-56-cloud-amd64 6.1 6.12.95+deb12-cloud-amd64"},
		{"5.15.0-1", "amd64", tested.Between, "5.10.0-46-cloud-amd64 6.1.0-56-cloud-amd64 6.1"},
		{"5.4.0", "amd64", tested.Older, "5.10.0-46-cloud-amd64"},
		{"7.10.1", "amd64", tested.Newer, "7.2.12+deb13-cloud-amd64 7.2"},
		{"6.12.1", "arm64", tested.Same, "6.12.95 6.12.95+deb12-arm64-16k 6.12.95-64k"},
		{"6.8.0-1-nvidia", "arm64", tested.Older, "6.12.95 6.12.95+deb12-arm64-16k 6.12.95-64k"},
		{"6.14.0-1-nvidia-64k", "arm64", tested.Newer, "6.12.95 6.12.95+deb12-arm64-16k 6.12.95-64k"},
		{"6.12.1", "riscv64", tested.Unknown, ""},
		{"", "amd64", tested.Unknown, ""},
		{"6", "amd64", tested.Unknown, ""},
		{"nonsense", "amd64", tested.Unknown, ""},
		{"-6.1", "amd64", tested.Unknown, ""},
	} {
		n := tested.NearestKernel(c.release, c.arch)
		var rows []string
		for _, k := range n.Rows {
			rows = append(rows, k.Release)
			if k.Arch != c.arch {
				t.Errorf("%s on %s: a row of %s", c.release, c.arch, k.Arch)
			}
		}
		if got := strings.Join(rows, " "); n.Relation != c.want || got != c.rows || n.Is != c.release || n.Rows == nil {
			t.Errorf("%q on %s: %s, %q; want %s, %q", c.release, c.arch, n.Relation, got, c.want, c.rows)
		}
	}
}

func TestTheNearestDriver(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"580.159.04": "same 580.159.04", "580.65.06": "same 580.159.04", "550.54.15": "between 535 580.159.04",
		"470.256.02": "older 535", "600.1": "newer 580.159.04", "535.183.01": "same 535", "": "unknown", "x": "unknown",
	} {
		n := tested.NearestDriver(version)
		got := string(n.Relation)
		for _, l := range n.Rows {
			got += " " + l.Driver
		}
		if got != want {
			t.Errorf("%q: %s; want %s", version, got, want)
		}
	}
}

func TestRowsHaveVersionsAndAreInOrder(t *testing.T) {
	t.Parallel()
	last := tested.Version{}
	for _, k := range tested.Kernels {
		v, ok := tested.ParseKernel(k.Release)
		if !ok || slices.Compare(last[:], v[:]) > 0 || len(k.Runs) == 0 || k.From == "" || k.What == "" {
			t.Errorf("%+v", k)
		}
		last = v
	}
	for _, l := range tested.Libraries {
		if _, ok := tested.ParseDriver(l.Driver); !ok && l.Driver != "" || l.Name == "" || l.On == "" || l.What == "" {
			t.Errorf("%+v", l)
		}
		page, err := os.ReadFile(filepath.Join("../../docs", l.Page))
		if err != nil {
			t.Fatal(err)
		}
		// The page has each library and each version.
		for _, word := range strings.FieldsFunc(l.Name+" "+l.Driver, func(r rune) bool { return r == ' ' || r == ',' }) {
			names := strings.HasPrefix(word, "lib") || strings.ContainsAny(word, "0123456789")
			if names && !strings.Contains(string(page), word) {
				t.Errorf("docs/%s does not have %q of %q", l.Page, word, l.Name)
			}
		}
	}
}

// TestEachKernelOfTheVirtualMachinesHasARow: and with the back ends that must work there.
func TestEachKernelOfTheVirtualMachinesHasARow(t *testing.T) {
	t.Parallel()
	for _, k := range vm.Kernels {
		arch, from := "amd64", "Debian "+k.Suite
		if k.Pages != 0 {
			arch = "arm64"
		}
		if k.Source != "" {
			from += ", built from its source"
		}
		i := slices.IndexFunc(tested.Kernels, func(r tested.Kernel) bool {
			large := strings.HasSuffix(r.Release, fmt.Sprintf("-%dk", k.Pages))
			return r.Arch == arch && strings.HasPrefix(r.Release, k.Version+".") && large == (k.Pages != 0)
		})
		if i < 0 {
			t.Errorf("no row of %s", k.Name())
			continue
		}
		r := &tested.Kernels[i]
		var want, got []string
		for _, b := range k.Backends {
			want = append(want, string(b))
		}
		if strings.Contains(r.Suite, "FEW=1") && len(want) > 1 {
			want = want[:1]
		}
		for _, run := range r.Runs {
			if run.Backend != "" {
				got = append(got, run.Backend)
			}
		}
		if !slices.Equal(got, want) || r.From != from {
			t.Errorf("%s of %s with %q; make test-vm runs %s of %s with %q", r.Release, r.From, got, k.Name(), from, want)
		}
	}
}

func TestThePageHasTheTables(t *testing.T) {
	t.Parallel()
	const page = "../../docs/kernels.md"
	for name, want := range map[string]string{
		"kernels, written by capture/tested":   kernels(),
		"libraries, written by capture/tested": libraries(),
	} {
		table, err := doctable.Read(page, name)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			table.Text = want
			if err := table.Write(); err != nil {
				t.Fatal(err)
			}
		}
		if table.Text != want {
			t.Errorf("%s: %q is not what the data says: go test ./internal/tested -update\n%s", page, name, want)
		}
	}
}

func kernels() string {
	var b strings.Builder
	b.WriteString("| kernel | arch | from | suite | back end | passed | failed | skipped | time |\n|---|---|---|---|---|---|---|---|---|\n")
	noted := func(n int, unit string) string {
		if n < 0 {
			return ""
		}
		return fmt.Sprint(n, unit)
	}
	for _, k := range tested.Kernels {
		for _, r := range k.Runs {
			backend := r.Backend
			if backend == "" {
				backend = "none, refused"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | `%s` | %s | %d | %d | %s | %s |\n", k.Release, k.Arch, k.From, k.Suite, backend,
				r.Passed, r.Failed, noted(r.Skipped, ""), noted(r.Seconds, " s"))
		}
	}
	return b.String()
}

func libraries() string {
	var b strings.Builder
	b.WriteString("| libraries | driver | on | what was tested | page |\n|---|---|---|---|---|\n")
	for _, l := range tested.Libraries {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | [%s](%[5]s) |\n", l.Name, l.Driver, l.On, l.What, l.Page)
	}
	return b.String()
}
