package hollow

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// StacksEnv is the variable that names a file for the stacks of all calls, as the program itself
// unwinds them; src/stacks.c says how. Each call then takes some 50 us longer.
const StacksEnv = "HOLLOW_STACKS"

// Stacks reads such a file: the stacks of each function's calls, each as its callers, innermost
// first, "FILE+0xADDRESS" separated by spaces. Processes that share the file may write the same
// stack.
func Stacks(file string) (map[string]map[string]bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the stacks of calls: %w", err)
	}
	defer f.Close() // only read
	all := map[string]map[string]bool{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		function, callers, _ := strings.Cut(lines.Text(), " ")
		if all[function] == nil {
			all[function] = map[string]bool{}
		}
		all[function][callers] = true
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the stacks of calls in %s: %w", file, err)
	}
	return all, nil
}
