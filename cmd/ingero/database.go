package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ingero-io/ingero/lib/config"
)

// databaseEnv names the database when --db does not.
const databaseEnv = "INGERO_DB"

// owner is the user for whom the program runs: under sudo, the one who called sudo.
type owner struct {
	home     string
	uid, gid int
	sudo     bool
}

func (c *console) owner() (owner, error) {
	o := owner{uid: os.Getuid(), gid: os.Getgid()}
	uid, errUID := strconv.Atoi(c.env("SUDO_UID"))
	gid, errGID := strconv.Atoi(c.env("SUDO_GID"))
	if os.Geteuid() == 0 && errUID == nil && errGID == nil {
		o = owner{uid: uid, gid: gid, sudo: true}
		u, err := user.LookupId(strconv.Itoa(uid))
		if err != nil {
			return o, fmt.Errorf("find the home of user %d, who called sudo: %w; pass --db FILE", uid, err)
		}
		o.home = u.HomeDir
		return o, nil
	}
	o.home = c.env("HOME")
	if o.home == "" {
		return o, errors.New("HOME is not set, so there is no default database; pass --db FILE")
	}
	return o, nil
}

// database is the file to read: the one asked for, $INGERO_DB, that of ingero.yaml, or the invoking
// user's own.
func (c *console) database(asked string) (string, error) {
	if asked != "" || c.env(databaseEnv) != "" {
		return cmp.Or(asked, c.env(databaseEnv)), nil
	}
	conf, err := config.Find(c.config, c.env)
	switch {
	case errors.Is(err, config.ErrForeign): // what somebody else says is not asked for
		fmt.Fprintf(c.err, "ingero: not read: %v\n", err)
	case err != nil:
		return "", err
	case conf.DB != "":
		return conf.DB, nil
	}
	return c.ownDatabase("")
}

// ownDatabase is the file to record to: the one asked for, $INGERO_DB, or the invoking user's own. That of
// ingero.yaml is not: a service records to it.
func (c *console) ownDatabase(asked string) (string, error) {
	if asked != "" || c.env(databaseEnv) != "" {
		return cmp.Or(asked, c.env(databaseEnv)), nil
	}
	o, err := c.owner()
	if err != nil {
		return "", err
	}
	return filepath.Join(o.folder(), "ingero.db"), nil
}

// recordingFile is where a trace is written.
type recordingFile struct {
	path  string
	fresh bool  // did not exist before
	owner owner // owner of a fresh file
}

// newRecording decides where to record. Only the default folder is created.
func (c *console) newRecording(asked string) (*recordingFile, error) {
	path, err := c.ownDatabase(asked)
	if err != nil {
		return nil, err
	}
	f := &recordingFile{path: path}
	if o, err := c.owner(); err == nil {
		f.owner = o // on an error the file is owned by this user
	}
	dir := filepath.Dir(path)
	if asked == "" && c.env(databaseEnv) == "" {
		if err := f.owner.makeFolder(dir); err != nil {
			return nil, fmt.Errorf("create the folder of the default database: %w; pass --db FILE", err)
		}
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("cannot record to %s: there is no folder %s; create it or pass another --db", path, dir)
	}
	_, err = os.Lstat(path)
	f.fresh = errors.Is(err, fs.ErrNotExist)
	return f, nil
}

// stateEnv is set by systemd: the folders that a unit's StateDirectory names, with colons between (systemd.exec(5)).
const stateEnv = "STATE_DIRECTORY"

// ofService reports whether the file is in a folder that systemd keeps for a service. The folder's mode says who may
// enter, and the members of the service's group may then read recordings.
func (f *recordingFile) ofService(env func(string) string) bool {
	return slices.Contains(strings.Split(env(stateEnv), ":"), filepath.Dir(f.path))
}

// folder is where Ingero keeps what belongs to the user.
func (o owner) folder() string { return filepath.Join(o.home, ".ingero") }

func (o owner) makeFolder(dir string) error {
	err := os.Mkdir(dir, 0o700)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	return o.give(dir)
}

// give changes the owner of a file or folder that this program has just made to the user who called
// sudo. It follows no symbolic link, as that user may be able to replace the file by one.
func (o owner) give(path string) error {
	if !o.sudo {
		return nil
	}
	if err := os.Lchown(path, o.uid, o.gid); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("give %s to user %d: %w", path, o.uid, err)
	}
	return nil
}

// handOver gives a fresh recording, with SQLite's files beside it, to its owner.
func (f *recordingFile) handOver() error {
	if !f.fresh {
		return nil
	}
	return errors.Join(f.owner.give(f.path), f.owner.give(f.path+"-wal"), f.owner.give(f.path+"-shm"))
}
