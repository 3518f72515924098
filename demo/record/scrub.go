package main

import (
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// other is the replacement name of programs on this machine that have no part in a recording.
const other = "other"

// scrub removes from a recording what belongs to this machine: the names of programs that only ran
// at the same time, command lines, the size of the memory. Kernel threads keep their names; they
// are the same everywhere. Then it makes the file as small as possible.
func scrub(path, node string, actors ...int) error {
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return fmt.Errorf("scrub recording: %w", err)
	}
	defer c.Close()
	list := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(actors)), ","), "[]")
	// Kernel threads and actors; %[1]s is the column with the name.
	const stays = `pid in (%[2]s) or %[1]s glob 'kworker/*' or %[1]s glob 'ksoftirqd/*' or %[1]s glob 'migration/*'
		or %[1]s glob 'rcu_*' or %[1]s glob 'swapper/*' or %[1]s glob 'jbd2/*'`
	for _, sql := range []string{
		fmt.Sprintf("update thread set comm = '%[3]s' where not ("+stays+")", "comm", list, other),
		fmt.Sprintf("update process set name = '%[3]s' where not ("+stays+")", "name", list, other),
		"update process set command = ''",
		fmt.Sprintf("update process set parent = 0 where parent not in (%s)", list),
		fmt.Sprintf("update cgroup set path = '/%s'", node),
		"update session set memory = 0",
		"vacuum",
	} {
		if err := sqlitex.ExecuteTransient(c, sql, nil); err != nil {
			return fmt.Errorf("scrub recording: %s: %w", sql, err)
		}
	}
	return nil
}
