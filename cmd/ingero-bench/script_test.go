package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ingero-io/ingero/internal/kerneltest"
	"github.com/ingero-io/ingero/internal/scripttest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ingero-bench": main})
}

// TestScript runs the command line without tracing anything.
func TestScript(t *testing.T) { testscript.Run(t, params("testdata/script")) }

// TestKernelScript traces through the real kernel.
func TestKernelScript(t *testing.T) {
	kerneltest.Require(t)
	testscript.Run(t, params("testdata/kernel"))
}

func params(dir string) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("INGERO_BACKEND", "")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"unprivileged": scripttest.Unprivileged,
			"json":         scripttest.JSON,
			"status":       scripttest.Status,
		},
	}
}
