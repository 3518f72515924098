package cudalib

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ingero-io/ingero/capture/limit"
)

// glob lists the files below a folder whose path matches a pattern, as filepath.Glob does, but only
// limit.Folders of them: a folder may have any number of names. Only the pattern's * are special.
func glob(dir, pattern string) []string {
	found := []string{dir}
	for part := range strings.SplitSeq(pattern, "/") {
		var next []string
		for _, d := range found {
			for _, name := range matches(d, part) {
				if len(next) < limit.Folders {
					next = append(next, filepath.Join(d, name))
				}
			}
		}
		found = next
	}
	return found
}

// matches are the names in a folder that match one part of a pattern.
func matches(dir, part string) []string {
	if !strings.Contains(part, "*") {
		if _, err := os.Lstat(filepath.Join(dir, part)); err != nil {
			return nil
		}
		return []string{part}
	}
	return slices.DeleteFunc(namesIn(dir), func(name string) bool {
		ok, err := filepath.Match(part, name)
		return err != nil || !ok
	})
}

// namesIn lists the names in a folder, sorted: limit.FolderNames of them, none if it cannot be read. It does not
// wait for anything that is no folder.
func namesIn(dir string) []string {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(limit.FolderNames) // a partial list is used
	slices.Sort(names)
	return names
}
