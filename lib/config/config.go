// Package config reads ingero.yaml: what is the same each time on a machine. Flags win
// over it.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/ingero-io/ingero/lib/smallfile"
)

// Config is what the file can say. The zero value is that of no file.
type Config struct {
	Path string `yaml:"-"` // of the file, empty if there is none

	Node  string `yaml:"node"` // name of this machine in recordings
	DB    string `yaml:"db"`   // the recording that is read if none is named
	Fleet Fleet  `yaml:"fleet"`
}

// Fleet says which nodes there are and how they are reached.
type Fleet struct {
	Nodes          []string      `yaml:"nodes"` // HOST:PORT
	Timeout        time.Duration `yaml:"timeout"`
	MaxClockOffset time.Duration `yaml:"max_clock_offset"`
	NoTLS          bool          `yaml:"no_tls"`
	CACert         string        `yaml:"ca_cert"`
	ClientCert     string        `yaml:"client_cert"`
	ClientKey      string        `yaml:"client_key"`
	TokenFile      string        `yaml:"token_file"`
}

// Env names the file when --config does not.
const Env = "INGERO_CONFIG"

// Paths are where the file is looked for if nobody says where it is.
var Paths = []string{"ingero.yaml", "/etc/ingero/ingero.yaml"}

// Find reads the file that was asked for, or the one that the environment names, or the
// first that there is. That there is none is no error unless it was asked for.
func Find(asked string, env func(string) string) (*Config, error) {
	if asked == "" {
		asked = env(Env)
	}
	if asked != "" {
		return read(asked)
	}
	for _, p := range Paths {
		if err := trusted(p, env); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		return read(p)
	}
	return &Config{}, nil
}

// ErrForeign says that nobody asked for a file that others can change.
var ErrForeign = errors.New("can be written by others than you and root")

// trusted refuses a file that somebody else can have put where it is found: it says to
// whom tokens are sent. Under sudo, who called it is nobody else.
func trusted(path string, env func(string) string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	foreign := ok && st.Uid != 0 && int(st.Uid) != os.Getuid() && fmt.Sprint(st.Uid) != env("SUDO_UID")
	if foreign || info.Mode()&0o002 != 0 {
		return fmt.Errorf("the configuration %[1]s %[2]w; if it is meant, name it: --config %[1]s, or $%[3]s", path,
			ErrForeign, Env)
	}
	return nil
}

func read(path string) (*Config, error) {
	b, err := smallfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	c := &Config{}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true) // a mistyped key would be ignored in silence
	if err := d.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the configuration %s: %s", path, mistakes(err))
	}
	if c.DB != "" && !filepath.IsAbs(c.DB) {
		return nil, fmt.Errorf("the configuration %s: db is not an absolute path", path)
	}
	c.Path = path
	return c, nil
}
