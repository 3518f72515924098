// Package pages holds the program on the kernel's page allocator: how much memory is
// each process given? Every page of the machine passes it while it is attached, so it is
// only where that is asked for; it counts, and tells nothing one by one.
package pages

//go:generate go tool bpf2go -cc clang -target amd64,arm64 -go-package pages -type page_sum -type page_owner Pages pages.bpf.c -- -O2 -g -Wall -Werror -mcpu=v3 -I../../bpf/include

// Program is the program, and Tracepoint what it is for.
const (
	Program    = "page_alloc"
	Tracepoint = "mm_page_alloc"
)
