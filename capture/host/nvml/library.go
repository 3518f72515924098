package nvml

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/ingero-io/ingero/capture/host/cudalib"
)

// ErrNoLibrary says that NVIDIA's management library is not on this machine.
var ErrNoLibrary = errors.New(soname + " is not installed, so GPUs are not read")

const soname = "libnvidia-ml.so.1"

// IsLibrary reports whether a file has a name of the library, such as
// libnvidia-ml.so.535.261.03.
func IsLibrary(path string) bool { return strings.HasPrefix(filepath.Base(path), "libnvidia-ml.so.") }

// further are folders in which drivers are installed for containers: by NVIDIA's GPU operator, and
// on Google's nodes. Those of a normal installation are in cudalib.Dirs.
var further = []string{
	"/run/nvidia/driver/usr/lib/x86_64-linux-gnu", "/run/nvidia/driver/usr/lib/aarch64-linux-gnu",
	"/run/nvidia/driver/usr/lib64",
	"/usr/local/nvidia/lib64", "/home/kubernetes/bin/nvidia/lib64",
}

// loaderCache is the dynamic loader's cache of library paths.
const loaderCache = "/etc/ld.so.cache"

// libraries are the candidate files of the library, best first, without duplicates.
func libraries(o *Options) []string {
	var found []string
	add := func(path string) {
		path, err := filepath.Abs(path) // a search path may be relative
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err == nil && !slices.Contains(found, path) && ours(path) {
			found = append(found, path)
		}
	}
	for _, d := range o.Dirs {
		add(filepath.Join(d, soname))
	}
	if o.Only {
		return found
	}
	if cache, err := os.ReadFile(loaderCache); err == nil { // without a cache, the folders must do
		for _, p := range cached(cache) {
			add(p)
		}
	}
	for _, d := range append(slices.Clone(cudalib.Dirs), further...) {
		add(filepath.Join(d, soname))
	}
	return found
}

// cached are the paths of the library in the loader's cache, whose strings end in
// zeros (ldconfig(8); glibc's dl-cache.h).
func cached(cache []byte) []string {
	var paths []string
	name := []byte("/" + soname + "\x00")
	for rest := cache; ; {
		i := bytes.Index(rest, name)
		if i < 0 {
			return paths
		}
		begin := bytes.LastIndexByte(rest[:i], 0) + 1
		if p := string(rest[begin : i+len(name)-1]); filepath.IsAbs(p) {
			paths = append(paths, p)
		}
		rest = rest[i+len(name):]
	}
}

// ours reports whether a file is a library for this architecture.
func ours(path string) bool {
	i, err := cudalib.OpenImage(path)
	if err != nil {
		return false
	}
	defer i.Close()
	return i.Machine() == map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
}

// way is a library with the user that loads it.
type way struct {
	library string
	owner   uint32              // of the file, when this was decided
	as      *syscall.Credential // nil: this process's own user, without capabilities
}

func (w way) String() string {
	if w.as == nil {
		return w.library
	}
	return fmt.Sprintf("%s as user %d", w.library, w.as.Uid)
}

// nobody is the user and group that own nothing (the kernel's overflowuid).
const nobody = 65534

// ways are the libraries that were found, with the user to load each, in the order to be tried. One
// that only root can change is loaded as nobody and then, because on some machines only root may
// use a GPU, as root. Any other one may have been put there by a user, who must not gain rights by
// it: it is loaded as its owner, or as nobody if that is root. A process that is not root loads
// only files of root and its own.
func (r *Reader) ways() []way {
	var list []way
	as := func(uid int) *syscall.Credential { return &syscall.Credential{Uid: uint32(uid), Gid: nobody} }
	paths := libraries(&r.opts)
	if len(paths) == 0 {
		r.mu.Lock()
		paths = slices.DeleteFunc(slices.Clone(r.further), func(p string) bool { return !ours(p) })
		r.mu.Unlock()
	}
	for _, path := range paths {
		owner, safe := guarded(path)
		add := func(c *syscall.Credential) { list = append(list, way{path, uint32(owner), c}) }
		switch self := os.Geteuid(); {
		case owner < 0: // it is gone
		case self != 0:
			if safe || owner == self {
				add(nil)
			}
		case owner != 0:
			add(as(owner))
		default:
			add(as(nobody))
			if safe {
				add(nil)
			}
		}
	}
	return list
}

// open opens the library, if its owner has not changed.
func (w way) open() (*os.File, error) {
	f, err := os.Open(w.library)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Sys().(*syscall.Stat_t).Uid != w.owner {
		err = fmt.Errorf("%s: somebody replaced it just now", w.library)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// guarded is the owner of the file at an absolute path without links, -1 if unknown, and whether it
// is root and nobody else can write or replace the file.
func guarded(path string) (owner int, safe bool) {
	owner, safe = -1, true
	for p := path; ; p = filepath.Dir(p) {
		info, err := os.Lstat(p)
		if err != nil {
			return -1, false
		}
		uid := int(info.Sys().(*syscall.Stat_t).Uid)
		if p == path {
			owner = uid
		}
		const others = 0o022
		open := info.Mode().Perm()&others != 0 && info.Mode()&os.ModeSticky == 0
		safe = safe && uid == 0 && !open
		if p == "/" {
			return owner, safe
		}
	}
}
