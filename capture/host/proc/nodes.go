package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MemoryNodes lists the CPUs of each memory node as the kernel does ("0-15,32-47"), by the node's
// number. sys is where sysfs is mounted; empty means /sys. It is empty if there is only one node,
// or none is known.
func MemoryNodes(sys string) []string {
	var list []string
	for i := 0; ; i++ {
		b, err := os.ReadFile(inSysfs(sys, "devices/system/node", "node"+strconv.Itoa(i), "cpulist"))
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

// DeviceNode is the number of the memory node that a PCI device is attached to, -1 if that is not known. The
// address may be as NVML writes it (00000000:3B:00.0), or as the kernel does (0000:3b:00.0). sys is where
// sysfs is mounted; empty means /sys.
func DeviceNode(sys, address string) int {
	var domain, bus, device, function uint32
	if _, err := fmt.Sscanf(address, "%x:%x:%x.%x", &domain, &bus, &device, &function); err != nil {
		return -1
	}
	name := fmt.Sprintf("%04x:%02x:%02x.%x", domain, bus, device, function)
	b, err := os.ReadFile(inSysfs(sys, "bus/pci/devices", name, "numa_node"))
	if err != nil {
		return -1
	}
	node, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || node < 0 {
		return -1 // the firmware does not say
	}
	return node
}

// inSysfs is a path below where sysfs is mounted; empty means /sys.
func inSysfs(sys string, parts ...string) string {
	if sys == "" {
		sys = "/sys"
	}
	return filepath.Join(append([]string{sys}, parts...)...)
}
