package syscalls

var whatsArch = map[uint8][]int{}
