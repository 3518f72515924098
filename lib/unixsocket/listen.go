package unixsocket

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"strconv"
)

// Options of a socket that programs connect to.
type Options struct {
	Path string
	// Folder is the mode of the path's folder, which is made if it is missing. 0: it must exist.
	Folder fs.FileMode
	Group  string // name or number of a group that may connect too; empty: none
}

// Listen listens at a path for this user and, if one is named, a group. The inode is for Remove.
func Listen(o Options) (l net.Listener, inode uint64, err error) {
	mode, gid := fs.FileMode(0o700), -1
	if o.Group != "" {
		if gid, err = groupOf(o.Group); err != nil {
			return nil, 0, err
		}
		mode = 0o770
	}
	if o.Folder != 0 {
		if err := MakeFolder(o.Path, o.Folder); err != nil {
			return nil, 0, err
		}
	}
	fd, err := Bind(o.Path, mode)
	if err != nil {
		return nil, 0, err
	}
	f := os.NewFile(uintptr(fd), o.Path)
	defer f.Close() // the listener has a copy
	if gid >= 0 {
		if err := os.Chown(o.Path, -1, gid); err != nil {
			os.Remove(o.Path)
			return nil, 0, err
		}
	}
	if inode, err = Inode(o.Path); err != nil {
		return nil, 0, err
	}
	l, err = net.FileListener(f)
	return l, inode, err
}

func groupOf(name string) (int, error) {
	if n, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(n), nil
	}
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, fmt.Errorf("there is no group %q on this machine", name)
	}
	return strconv.Atoi(g.Gid)
}
