package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MemoryNodes lists the CPUs of each memory node as the kernel does ("0-15,32-47"), by the node's
// number. sys is where sysfs is mounted; empty means /sys. It is empty if there is only one node,
// or none is known.
func MemoryNodes(sys string) []string {
	if sys == "" {
		sys = "/sys"
	}
	var list []string
	for i := 0; ; i++ {
		b, err := os.ReadFile(filepath.Join(sys, "devices/system/node", "node"+strconv.Itoa(i), "cpulist"))
		if err != nil {
			break
		}
		list = append(list, strings.TrimSpace(string(b)))
	}
	if len(list) < 2 {
		return nil
	}
	return list
}
