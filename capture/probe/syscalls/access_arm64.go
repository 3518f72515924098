package syscalls

var accessKindsArch = map[uint8][]int{}
