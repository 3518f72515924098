package probetest

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Toucher makes the test binary read every page of the file it names from the disk,
// for eight seconds, once a line has come; or touch each page of memory of its own,
// twice, if it is a number of bytes.
const Toucher = "INGERO_TEST_TOUCH"

// Main is TestMain of a package whose tests run themselves as Toucher.
func Main(m *testing.M) {
	if path := os.Getenv(Toucher); path != "" {
		work := touch
		if bytes, err := strconv.Atoi(path); err == nil {
			work = func(string) error { return touchOwn(bytes) }
		}
		if err := work(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// touchOwn writes to each page of memory of its own, and reads them all back.
func touchOwn(bytes int) error {
	m, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	if err := unix.Madvise(m, unix.MADV_NOHUGEPAGE); err != nil && err != unix.EINVAL { // a kernel without such pages
		return err
	}
	_, _ = fmt.Scanln() // or the end of the input
	sum := 0
	for n := 0; n < len(m); n += os.Getpagesize() {
		m[n] = byte(n >> 12)
	}
	for n := 0; n < len(m); n += os.Getpagesize() {
		sum += int(m[n])
	}
	fmt.Println(sum)
	return nil
}

// cached is how many pages of a mapping are in the kernel's page cache.
func cached(m []byte) (pages int, err error) {
	in := make([]byte, len(m)/os.Getpagesize())
	_, _, no := unix.Syscall(unix.SYS_MINCORE,
		uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)), uintptr(unsafe.Pointer(&in[0])))
	if no != 0 {
		return 0, no
	}
	for _, v := range in {
		pages += int(v & 1)
	}
	return pages, nil
}

// touch reads every page of a file through a mapping, each time from the disk.
func touch(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	i, err := f.Stat()
	if err != nil {
		return err
	}
	m, err := unix.Mmap(int(f.Fd()), 0, int(i.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	if err := unix.Madvise(m, unix.MADV_RANDOM); err != nil { // no reading ahead: a wait a page
		return err
	}
	_, _ = fmt.Scanln() // or the end of the input
	sum := 0
	// Again and again: where a read is over before its reader sleeps, as on a virtual
	// machine's disk that its host has in memory, hardly a page is waited for.
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); {
		if err := evict(f, m); err != nil {
			return err
		}
		for n := 0; n < len(m); n += os.Getpagesize() {
			sum += int(m[n])
		}
	}
	fmt.Println(sum)
	return nil
}

// evict drops a file, of which m is a mapping, from the page cache. The kernel may
// keep pages that it is asked to drop, while somebody else has hold of them.
func evict(f *os.File, m []byte) error {
	for tries := 0; ; tries++ {
		// A page that is mapped stays.
		if err := unix.Madvise(m, unix.MADV_DONTNEED); err != nil {
			return err
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return err
		}
		in, err := cached(m)
		if err != nil || in == 0 {
			return err
		}
		if tries == 100 {
			return fmt.Errorf("%d pages of %s stay in the page cache", in, f.Name())
		}
		time.Sleep(10 * time.Millisecond)
	}
}
