package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/ingero-io/ingero/capture/tested"
)

// Tested is what was tested nearest to this machine (docs/kernels.md).
type Tested struct {
	Arch   string                       `json:"arch"` // as Go calls it
	Kernel tested.Near[tested.Kernel]   `json:"kernel"`
	Driver *tested.Near[tested.Library] `json:"driver,omitempty"` // nil: NVIDIA's driver is not loaded
}

// tested says what was tested nearest to this machine. Whether tracing works here, other checks try.
func (e *exam) tested() Check {
	b, _ := os.ReadFile(filepath.Join(e.opts.Proc, "sys/kernel/osrelease")) // without it the version is unknown
	t := &e.r.Tested
	t.Arch = runtime.GOARCH
	t.Kernel = tested.NearestKernel(strings.TrimSpace(string(b)), t.Arch)
	detail := kernelTested(&t.Kernel, t.Arch)
	if version := driverVersion(e.opts.Proc); version != "" {
		n := tested.NearestDriver(version)
		t.Driver = &n
		detail += "; " + driverTested(&n)
	}
	return Check{Name: "tested", Status: Info, Detail: detail}
}

// kernelTested describes the tests on the nearest kernels.
func kernelTested(n *tested.Near[tested.Kernel], arch string) string {
	var list []string
	for i := range n.Rows {
		list = append(list, kernelRow(&n.Rows[i]))
	}
	rows := strings.Join(list, ", and ")
	is := "Linux " + n.Is + " on " + arch
	switch n.Relation {
	case tested.Same:
		return is + " was tested: " + rows
	case tested.Between:
		return is + " lies between two that were tested: " + rows
	case tested.Older:
		return is + " is older than all that were tested; the next is " + rows
	case tested.Newer:
		return is + " is newer than all that were tested; the last is " + rows
	}
	return "no kernel was tested on " + arch + ", or this one's version is unknown"
}

func kernelRow(k *tested.Kernel) string {
	var how []string
	for _, r := range k.Runs {
		if r.Backend == "" {
			how = append(how, "refused")
			continue
		}
		how = append(how, fmt.Sprintf("%s, %d of %d passed", r.Backend, r.Passed, r.Passed+r.Failed))
	}
	return k.Release + " by " + k.Suite + " (" + strings.Join(how, "; ") + ")"
}

// driverTested describes the tests with the nearest drivers.
func driverTested(n *tested.Near[tested.Library]) string {
	var list []string
	for i := range n.Rows {
		l := &n.Rows[i]
		list = append(list, l.Driver+" ("+l.On+")")
	}
	rows := strings.Join(list, ", and ")
	is := "driver " + n.Is
	switch n.Relation {
	case tested.Same:
		return is + " was tested: " + rows
	case tested.Between:
		return is + " lies between two that were tested: " + rows
	case tested.Older:
		return is + " is older than all that were tested; the next is " + rows
	case tested.Newer:
		return is + " is newer than all that were tested; the last is " + rows
	}
	return is + " has no version that is known"
}

var driverNumber = regexp.MustCompile(`\b\d{3,}\.\d+(\.\d+)?\b`)

// driverVersion is the version of the loaded driver of NVIDIA, empty if there is none.
func driverVersion(proc string) string {
	b, _ := os.ReadFile(filepath.Join(proc, "driver/nvidia/version")) // there is none without the driver
	line, _, _ := strings.Cut(string(b), "\n")
	return driverNumber.FindString(line)
}
