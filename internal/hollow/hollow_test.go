package hollow_test

import (
	"context"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ingero-io/ingero/internal/hollow"
)

func build(t *testing.T) string {
	t.Helper()
	dir, err := hollow.Build(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// program builds the program in testdata, linked to one of the runtimes.
func program(t *testing.T, dir, runtime string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("gcc", "-O1", "-Wall", "-Werror", "-o", out, "testdata/program.c",
		filepath.Join(dir, runtime), filepath.Join(dir, "libcuda.so.1"), "-lpthread")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

func run(t *testing.T, dir, file, program string, args ...string) map[string]string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), hollow.Env(dir, file)...)
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		found[name] = value
	}
	return found
}

// A slow kernel takes so long that the work after it is queued before it ends, however busy the
// machine is: then the simulated times are exact.
const times = "kernel.slow_=100ms\nkernel.quick_=100us"

func TestProgramSeesTheTimesThatWereSet(t *testing.T) {
	dir := build(t)
	want := map[string]string{
		"devices": "1", "copied": "1", "set": "1", "set_large_wrong": "0", "end": "1",
		"type_device": "2", "type_pinned": "1", "type_pageable": "0",
		"not_ready": "600", "ready": "0",
		"ten_quick_us": "1000", "one_after_the_other_us": "200000", "beside_us": "100000",
		"nodes": "4", "update": "0", "update_other": "910", "three_graphs_us": "300600",
		"host_function": "1", "behind_gate_early": "0", "gate_query": "600", "behind_gate": "2",
		"mapped_bytes": "4194304", "unmapped": "1", "too_much": "2", "unregistered": "98",
	}
	for _, runtime := range []string{"libcudart.so.12", "libcudart.so.13"} {
		p := program(t, dir, runtime)
		for name, flags := range map[string]string{"spin": "1", "yield": "2", "blocking": "4"} {
			t.Run(runtime+" "+name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "shared")
				if err := hollow.Set(file, times); err != nil {
					t.Fatal(err)
				}
				if got := run(t, dir, file, p, flags); !maps.Equal(got, want) {
					t.Errorf("got  %v\nwant %v", got, want)
				}
				checkCounts(t, file)
			})
		}
	}
}

func checkCounts(t *testing.T, file string) {
	t.Helper()
	rows, err := hollow.Counts(file)
	if err != nil {
		t.Fatal(err)
	}
	calls := hollow.By(rows, hollow.Call)
	for name, want := range map[string]uint64{
		"cudaLaunchKernel": 30, "__cudaLaunchKernel": 1, "cuLaunchKernel": 30, "cudaGraphLaunch": 3, "cuGraphLaunch": 3,
		"cudaMalloc": 3, "cuMemAlloc_v2": 3, "cudaMemcpy": 4, "cuMemcpyDtoH_v2": 3, "cuMemcpyHtoD_v2": 1,
	} {
		if calls[name] != want {
			t.Errorf("%s was called %d times, counted %d", name, want, calls[name])
		}
	}
	launched, executed := hollow.By(rows, hollow.Launched), hollow.By(rows, hollow.Executed)
	// Counted by hand: 10 + 2 captures of 2 + 1 captured + 1 behind the host function + 1 at the
	// end.
	if launched["quick_kernel"] != 17 || launched["slow_kernel"] != 13 {
		t.Errorf("launched %v", launched)
	}
	// The kernels that were not captured, and three launches of a graph of two quick and two slow
	// ones.
	if executed["quick_kernel"] != 12+6 || executed["slow_kernel"] != 9+6 {
		t.Errorf("executed %v", executed)
	}
	for _, r := range rows {
		if r.Kind == hollow.Executed && r.Name == "quick_kernel" && r.NS != r.Count*100_000 {
			t.Errorf("quick kernels took %d ns", r.NS)
		}
	}
}

func TestSlownessOfTheWholeGPU(t *testing.T) {
	dir := build(t)
	p := program(t, dir, "libcudart.so.12")
	file := filepath.Join(t.TempDir(), "shared")
	if err := hollow.Set(file, times+";slow=1.5"); err != nil {
		t.Fatal(err)
	}
	if got := run(t, dir, file, p); got["ten_quick_us"] != "1500" || got["beside_us"] != "150000" {
		t.Errorf("got %v", got)
	}
}

func TestDevicesOfTheSettings(t *testing.T) {
	dir := build(t)
	p := program(t, dir, "libcudart.so.13")
	file := filepath.Join(t.TempDir(), "shared")
	if err := hollow.Set(file, "devices=4; kernel.slow_=100ms; memory=1GB"); err != nil {
		t.Fatal(err)
	}
	if got := run(t, dir, file, p); got["devices"] != "4" || got["too_much"] != "2" {
		t.Errorf("got %v", got)
	}
}

// Names, sonames and versions are NVIDIA's: programs linked to NVIDIA's libraries find all of them.
func TestLibrariesExportWhatNVIDIAsDo(t *testing.T) {
	dir := build(t)
	for soname, version := range map[string]string{
		"libcuda.so.1": "", "libcudart.so.12": "libcudart.so.12", "libcudart.so.13": "libcudart.so.13",
	} {
		f, err := elf.Open(filepath.Join(dir, soname))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if names, err := f.DynString(elf.DT_SONAME); err != nil || fmt.Sprint(names) != "["+soname+"]" {
			t.Errorf("%s: soname %v, %v", soname, names, err)
		}
		symbols, err := f.DynamicSymbols()
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]bool{}
		for _, s := range symbols {
			if s.Section != elf.SHN_UNDEF && s.Version == version {
				have[s.Name] = true
			}
		}
		data, err := os.ReadFile(filepath.Join("names", soname))
		if err != nil {
			t.Fatal(err)
		}
		for name := range strings.FieldsSeq(string(data)) {
			if !have[name] {
				t.Errorf("%s does not export %s (version %q)", soname, name, version)
			}
		}
	}
}
