package socket

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ingero-io/ingero/lib/unixsocket"
)

// PathEnv names the environment variable with the socket's path, for programs that send labels.
const PathEnv = "INGERO_ANNOTATE"

// System is the path of the socket of a tracer that is run by root.
const System = "/run/ingero/annotate.sock"

// own is the path below the home folder of another user.
const own = ".ingero/run/annotate.sock"

// Path is where a tracer of this process's user listens by default; home is the user's home folder.
func Path(home string) string {
	if os.Geteuid() == 0 {
		return System
	}
	return filepath.Join(home, own)
}

// Paths are where programs look for a tracer, in order. chosen is the value of PathEnv.
func Paths(chosen, home string) []string {
	if chosen != "" {
		return []string{chosen}
	}
	list := []string{System}
	if home != "" {
		list = append(list, filepath.Join(home, own))
	}
	return list
}

// makeFolder makes the folder of one of the two default paths: that of root may be entered by all,
// another user's by nobody else.
func makeFolder(path, home string) error {
	switch path {
	case System:
		return unixsocket.MakeFolder(path, 0o755)
	case filepath.Join(home, own):
		return unixsocket.MakeFolder(path, 0o700)
	}
	return nil // the user chose it
}

// mode is that of the socket's file. Each user labels their own processes at the socket of root.
func mode() fs.FileMode {
	if os.Geteuid() == 0 {
		return 0o666
	}
	return 0o600
}
