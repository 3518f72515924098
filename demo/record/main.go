// Command record makes this project's recordings: those that "ingero demo" replays where tracing is
// not permitted ("make demo-record"), and those of docs/investigations.md ("make investigations").
// It needs root.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	investigate := flag.Bool("investigations", false, "make the investigations, not what the demo replays")
	dir := flag.String("dir", "", "where to put the recordings (default demo/recorded or investigations)")
	flag.Parse()
	list, folder := replays(), "demo/recorded"
	if *investigate {
		list, folder = investigations(), "investigations"
	}
	if *dir == "" {
		*dir = folder
	}
	if err := recordAll(*dir, list, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}
