// Package real fetches the programs by other authors that tests and benchmarks trace. Their
// versions are pinned and their checksums are in the source. They are fetched once and kept in a
// cache folder. docs/real.md says what runs and how.
package real

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// CacheEnv is the variable with the path of the cache.
const CacheEnv = "INGERO_REAL_CACHE"

// Cache is a folder below the cache, made when needed: $INGERO_REAL_CACHE/name, or
// ingero-real/name in the user's cache folder.
func Cache(name string) (string, error) {
	base := os.Getenv(CacheEnv)
	if base == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache of programs: %w; set %s to a folder", err, CacheEnv)
		}
		base = filepath.Join(user, "ingero-real")
	}
	dir := filepath.Join(base, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache of programs: %w; set %s to another folder", err, CacheEnv)
	}
	return dir, nil
}

// Once makes a folder of the cache with make, unless an earlier call has. make fills the folder
// that it is given; that folder gets its name when it is complete. Other callers wait meanwhile, in
// other processes too.
func Once(name string, make func(dir string) error) (string, error) {
	base, err := Cache(filepath.Dir(name))
	if err != nil {
		return "", err
	}
	whole := filepath.Join(base, filepath.Base(name))
	lock, err := os.OpenFile(whole+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", fmt.Errorf("lock the cache of programs: %w", err)
	}
	defer lock.Close() // which unlocks it
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock the cache of programs: %w", err)
	}
	if _, err := os.Stat(whole); err == nil {
		return whole, nil
	}
	part := whole + ".part"
	if err := errors.Join(os.RemoveAll(part), os.Mkdir(part, 0o755)); err != nil {
		return "", fmt.Errorf("make a folder of the cache of programs: %w", err)
	}
	if err := make(part); err != nil {
		return "", err
	}
	if err := os.Rename(part, whole); err != nil {
		return "", fmt.Errorf("finish a folder of the cache of programs: %w", err)
	}
	return whole, nil
}

// Package is an npm package of one version.
type Package struct {
	Name, Version string
	Integrity     string // SHA-512 of its archive, as npm writes it
	MB            int    // size of the archive, reported before it is fetched
}

// NPM fetches the archive of a package into dir with npm, checks its checksum, and returns its
// path. No code of the package is run.
func NPM(ctx context.Context, p Package, dir string, progress io.Writer) (string, error) {
	fmt.Fprintf(progress, "fetching %s %s, %d MB\n", p.Name, p.Version, p.MB)
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", dir,
		p.Name+"@"+p.Version)
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("fetch %s with npm: %w: %s", p.Name, err, strings.TrimSpace(said.String()))
	}
	path := filepath.Join(dir, strings.TrimSpace(string(out)))
	if err := compare(path, p.Integrity); err != nil {
		return "", fmt.Errorf("fetch %s: %w", p.Name, err)
	}
	return path, nil
}

// compare returns an error unless a file has the checksum.
func compare(path, integrity string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // only read
	h := sha512.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := "sha512-" + base64.StdEncoding.EncodeToString(h.Sum(nil)); got != integrity {
		return fmt.Errorf("its checksum is %s, not %s", got, integrity)
	}
	return nil
}
