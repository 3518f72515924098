package cudalib_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ingero-io/ingero/capture/host/cudalib"
	"github.com/ingero-io/ingero/internal/kerneltest"
)

func TestKindsAndVersionsOfFileNames(t *testing.T) {
	for path, want := range map[string][2]string{
		"/usr/lib/libcudart.so.12":                   {"runtime", "12"},
		"/usr/lib/libcudart.so.13":                   {"runtime", "13"},
		"/opt/libcudart.so.11.8.89":                  {"runtime", "11.8.89"},
		"/venv/torch/lib/libcudart-d0da41ae.so.11.0": {"runtime", "11.0"},
		"/lib/libcudart.so":                          {"runtime", ""},
		"/lib/libcuda.so.1":                          {"driver", "1"},
		"/lib/libcuda.so.535.261.03":                 {"driver", "535.261.03"},
		"/lib/libnccl.so.2":                          {"nccl", "2"},
		"/lib/libnccl-0a1b2c3d.so.2.21.5":            {"nccl", "2.21.5"},
		"/lib/libnccl-net.so":                        {"", ""},
		"/lib/libcudadebugger.so.1":                  {"", "1"},
		"/lib/libcudart_static.a":                    {"", ""},
	} {
		if got := [2]string{string(cudalib.KindOf(path)), cudalib.VersionOf(path)}; got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if cudalib.Kind("other").File() != (*regexp.Regexp)(nil) {
		t.Error("an unknown kind has a name")
	}
}

func TestLibrariesAreKnownByTheirNames(t *testing.T) {
	for _, path := range []string{
		"/lib/libcudart.so.12", "/lib/libcuda.so.535.261.03", "/lib/libnvToolsExt.so.1", "/lib/libcublas.so.12",
		"/lib/libcublasLt.so.12.4.5.8", "/venv/nvidia/cudnn/lib/libcudnn_engines_precompiled.so.9", "/lib/libnvrtc.so.12",
		"/lib/libnvrtc-builtins.so.12.4", "/torch/lib/libnvrtc-672ee683.so.11.2", "/lib/libcusparseLt.so.0",
		"/opt/libnccl-net-ofi.so", "/lib/libnvidia-ml.so.1", "/lib/libnvJitLink.so.12", "/lib/libcufft.so.11",
	} {
		if !cudalib.IsLibrary(path) {
			t.Errorf("%s is not known", path)
		}
	}
	for _, path := range []string{
		"/lib/libc.so.6", "/lib/libcublas.a", "/lib/libcudadebugger.so.1", "/lib/libcublas.so.12.old", "/libcudnn.so/x",
		"/venv/torch/lib/libtorch.so", "/bin/nvcc",
	} {
		if cudalib.IsLibrary(path) {
			t.Errorf("%s is known", path)
		}
	}
}

// The name and the build id are what the linker wrote; to find the name, not all names are read.
func TestTheNameAndBuildIDOfALibraryAreRead(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "x.c")
	if err := os.WriteFile(source, []byte("int x(void) { return 1; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	build := func(name string, args ...string) *cudalib.Image {
		out := filepath.Join(dir, name)
		kerneltest.GCC(t, append([]string{"-shared", "-fPIC", source, "-o", out}, args...)...)
		i, err := cudalib.OpenImage(out)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(i.Close)
		return i
	}
	named := build("libx.so.1.2.3", "-Wl,-soname,libx.so.1", "-Wl,--build-id=0x0123abcd")
	if named.Soname() != "libx.so.1" || named.BuildID() != "0123abcd" {
		t.Errorf("name %q, build id %q", named.Soname(), named.BuildID())
	}
	if bare := build("liby.so", "-Wl,--build-id=none"); bare.Soname() != "" || bare.BuildID() != "" {
		t.Errorf("name %q, build id %q", bare.Soname(), bare.BuildID())
	}
}

func TestFilesThatAreNotELFAreRefused(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"empty": "", "text": "#!/bin/sh\n", "cut": "\x7fELF\x02\x01\x01\x00"} {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := cudalib.OpenImage(p); !errors.Is(err, cudalib.ErrNotELF) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := cudalib.OpenImage(dir); !errors.Is(err, cudalib.ErrNotELF) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := cudalib.OpenImage(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// nvidiaEnv names folders with NVIDIA's files: libcudart and libcuda (Debian:
// libcudart11.0, libcuda1), and any others (libcublas11).
const nvidiaEnv = "INGERO_NVIDIA_LIBS"

func TestImagesOfNVIDIAsLibraries(t *testing.T) {
	where := os.Getenv(nvidiaEnv)
	if where == "" {
		t.Skipf("set %s to folders with NVIDIA's libcudart and libcuda", nvidiaEnv)
	}
	for pattern, want := range map[string]struct{ device, text bool }{
		"libcudart.so.*.*.*": {false, true},
		"libcuda.so.*.*":     {false, false},
		"libcublas.so.*.*":   {true, true}, // it carries a stripped copy of the runtime
	} {
		for _, dir := range filepath.SplitList(where) {
			paths, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range paths {
				i, err := cudalib.OpenImage(p)
				if err != nil {
					t.Error(err)
					continue
				}
				defer i.Close()
				if i.HasDeviceCode() != want.device || i.HasRuntimeText() != want.text || i.HasRuntimeSymbols() ||
					i.NeedsRuntime() {
					t.Errorf("%s: device code %v, runtime texts %v, symbols %v, imports %v", p, i.HasDeviceCode(), i.HasRuntimeText(),
						i.HasRuntimeSymbols(), i.NeedsRuntime())
				}
				if i.Soname() == "" || len(i.BuildID()) != 40 {
					t.Errorf("%s: soname %q, build id %q", p, i.Soname(), i.BuildID())
				}
			}
		}
	}
}
