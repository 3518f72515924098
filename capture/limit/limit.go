// Package limit is the one list of how much is read of what strangers chose: the files that traced
// programs map, their memory and what /proc says of them. Any user may run a program; who traces the
// whole machine reads all of them, and must not run out of memory or time by it.
//
// Nothing real is to be refused: each number is a multiple of what the largest known files have, which are JAX
// 0.10's libjax_common (740,000 symbols) and xla_cuda_plugin (names of 92 MB), PyTorch's libtorch_cuda (1 GB, of
// which most is device code; names of 70 MB), a debug build of it (symbols and names of 128 MB), and libraries
// that Fedora strips (packed symbols of 10 KB). What exceeds a limit is skipped, or taken in part, and said with
// the file's name; it never ends tracing. internal/hostile/elffile has the attacks, and
// TestAttacksAreReadWithLittleMemory holds these limits against them.
package limit

// The headers of an ELF file.
const (
	Programs     = 512      // program headers, of 56 bytes; large programs have 15
	Sections     = 4096     // section headers, of 64 bytes; large libraries have 60
	SectionNames = 1 << 20  // bytes of the sections' names; usual is 1 KB
	SectionName  = 256      // bytes of one; usual are 20
	Dynamic      = 4096     // entries of the dynamic section, of 16 bytes; large libraries have 300
	Needed       = 1024     // libraries that a file is linked to; large ones have 30
	Library      = 4096     // bytes of the name of one (PATH_MAX)
	Notes        = 64 << 10 // bytes of notes, one of which is the build id; usual are 100
	BuildID      = 64       // bytes; usual are 20
)

// Symbols of an ELF file. Sections of symbols and names are never read as a whole, unless they are small.
const (
	Symbols      = 4 << 20   // entries of a section of symbols, of 24 bytes: 96 MB
	Strings      = 512 << 20 // bytes of a section of names
	Name         = 64 << 10  // bytes of a name as linked; templates make names of 10 KB
	ShownName    = 16 << 10  // bytes of a name from which it is shown cut, and not demangled
	Matches      = 16 << 10  // symbols of one file that are looked for by name; 500 are looked for
	SmallTable   = 1 << 20   // bytes of symbols and names up to which they are read as a whole
	TableNames   = 8 << 20   // bytes of names kept of such a table; many names may be the same bytes
	Relocations  = 16 << 20  // bytes of relocations in one file, of which the jump slots are looked at
	Slots        = 64 << 10  // jump slots of functions that are looked for; each has one
	FileWork     = 1 << 30   // bytes read of one file to find names: 0.3 s from the page cache
	TextSearch   = 512 << 20 // bytes searched for texts of the runtime
	CodeExamined = 64 << 10  // bytes of a function in which a place for a probe is looked for
)

// Symbols that are packed into .gnu_debugdata. No others are unpacked.
const (
	Debugdata = 8 << 20  // bytes as they are in the file; libgfortran has 10 KB
	Unpacked  = 24 << 20 // bytes unpacked, and of the dictionary: 300,000 functions with names of 60 bytes
)

// Unwind tables.
const (
	UnwindEntry = 64 << 10  // bytes of one description in .eh_frame; usual are 100
	UnwindScan  = 32 << 20  // bytes of .eh_frame that are read if it has no search table, which linkers always make
	UnwindList  = 256 << 10 // entries, of 16 bytes, of the search tables made then, of one file and of all together
	UnwindCIE   = 512       // bytes of the instructions of a common description; usual are 10
	UnwindCIEs  = 128       // common descriptions kept of a file; usual are 5
	UnwindRow   = 1 << 10   // bytes of expressions in one row of rules; signal trampolines have 60, others none
)

// What is kept of all files: of the most recently used ones.
const (
	FilesOfTables = 64       // files with symbols
	TablesBytes   = 16 << 20 // bytes of their symbols; the last one read stays, whatever its size
	UnwindFiles   = 256      // files whose unwind tables are kept open
	UnwindRows    = 1 << 13  // rules, of up to 3 KB
)

// Files whose functions are probed. Each takes a dozen descriptors, and some 50 ms.
const (
	FilesOfProcess = 256  // with functions to probe that one process maps; PyTorch has 5
	AttachedFiles  = 4096 // of all processes, unless they are named
)

// CPython.
const (
	PythonOffset = 8 << 20   // bytes: of a field in a structure; _PyRuntime of 3.14 has 0.4 MB
	PythonBytes  = 32 << 20  // bytes of code objects that are kept, of all processes; one has 1 KB
	PythonFrames = 128 << 10 // frames of stacks that are kept, of all processes
)

// What /proc says of a process.
const (
	Mappings     = 64 << 10  // mappings kept of a process (vm.max_map_count is 65530)
	MapsBytes    = 32 << 20  // bytes of /proc/PID/maps; 10,000 mappings have 1 MB
	MappingsKept = 256 << 10 // executable mappings kept, of all processes; a process with PyTorch has 300
	CommandLine  = 1 << 10   // bytes read, and kept, of a command line
	Environ      = 4 << 20   // bytes of an environment; exec allows 6 MB together with the arguments
	SmallProc    = 1 << 20   // bytes of stat, status, comm and cgroup; a status with 65,536 groups has 0.7 MB
	MountInfo    = 16 << 20  // bytes of mountinfo; 10,000 mounts have 2 MB
	Tasks        = 256 << 10 // processes of a machine, threads of a process
	Descriptors  = 64 << 10  // open files of a process that are looked at
	Children     = 256       // threads of a process whose children are looked for
	Polled       = 64        // descriptors of a poll that are looked at
)

// Folders that are searched for libraries.
const (
	FolderNames = 64 << 10 // names of one folder; a large site-packages has 2,000
	Folders     = 4096     // folders found; there are some 20
)
