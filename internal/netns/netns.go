// Package netns makes network namespaces that stand for nodes: each has a link to the namespace of its
// maker. It needs root and the program ip. Nothing ships it but benchmarks.
package netns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// Namespace is a node: a network namespace with a link to the maker's.
type Namespace struct {
	Name    string // as ip knows it
	Address string // of the link's end in the maker's namespace
	Inside  string // of its own end
	link    string
}

// New makes the node number n, from 0 to 25, of this process, with the network NETWORK.0/24, where network is
// as in "10.213.77". It removes the nodes of processes that ended without removing theirs.
func New(ctx context.Context, n int, network string) (*Namespace, error) {
	if err := removeLeft(ctx); err != nil {
		return nil, fmt.Errorf("make a node: %w", err)
	}
	id := fmt.Sprintf("%d%c", os.Getpid(), 'a'+n)
	ns := &Namespace{Name: "ingero-" + id, link: "ig" + id, Address: network + ".1", Inside: network + ".2"}
	for _, args := range [][]string{
		{"netns", "add", ns.Name},
		{"link", "add", ns.link, "type", "veth", "peer", "name", "eth0", "netns", ns.Name},
		{"address", "add", ns.Address + "/24", "dev", ns.link},
		{"link", "set", ns.link, "up"},
		{"-n", ns.Name, "address", "add", ns.Inside + "/24", "dev", "eth0"},
		{"-n", ns.Name, "link", "set", "eth0", "up"},
	} {
		if err := ip(ctx, args...); err != nil {
			if args[0] != "netns" { // else there is nothing to remove
				err = errors.Join(err, ns.remove())
			}
			return nil, fmt.Errorf("make a node: %w", err)
		}
	}
	return ns, nil
}

// In is the command line that runs args in the namespace.
func (n *Namespace) In(args ...string) []string {
	return append([]string{"ip", "netns", "exec", n.Name}, args...)
}

// Connect takes the link up or down.
func (n *Namespace) Connect(ctx context.Context, up bool) error {
	return ip(ctx, "link", "set", n.link, map[bool]string{true: "up", false: "down"}[up])
}

// Close removes the namespace and its link. A link also goes with its namespace, but the kernel may do that later, and
// the next node may have its name.
func (n *Namespace) Close() error {
	return errors.Join(ip(context.Background(), "link", "delete", n.link), n.remove())
}

func (n *Namespace) remove() error { return ip(context.Background(), "netns", "delete", n.Name) }

// made finds the process in a node's name.
var made = regexp.MustCompile(`(?m)^ingero-(\d+)[a-z]\b`)

// removeLeft removes the nodes of processes that are no more.
func removeLeft(ctx context.Context) error {
	list, err := output(ctx, "netns", "list")
	if err != nil {
		return err
	}
	for _, name := range left(list, func(pid string) bool {
		_, err := os.Stat("/proc/" + pid)
		return errors.Is(err, fs.ErrNotExist)
	}) {
		// Another process may remove it at the same time.
		if err := ip(ctx, "netns", "delete", name); err != nil && !strings.Contains(err.Error(), "No such file") {
			return err
		}
	}
	return nil
}

// left are the nodes in what "ip netns list" prints whose processes have ended.
func left(list string, ended func(pid string) bool) (names []string) {
	for _, m := range made.FindAllStringSubmatch(list, -1) {
		if ended(m[1]) {
			names = append(names, m[0])
		}
	}
	return names
}

func ip(ctx context.Context, args ...string) error {
	_, err := output(ctx, args...)
	return err
}

func output(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}
