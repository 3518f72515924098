package nvml

import "fmt"

// Field is a value that is read of a GPU. The numbers are those of helper/record.h.
type Field int

// The fields, with their units.
const (
	Util               Field = iota // percent of the last sample period in which any kernel was resident
	UtilMem                         // percent of it in which memory was read or written
	MemUsed                         // bytes; what the driver reserves is in it only with drivers before 510
	MemTotal                        // bytes
	ClockSM                         // MHz, of the multiprocessors
	ClockMem                        // MHz
	MaxSM                           // MHz, the highest ClockSM can be
	Temp                            // degrees Celsius, of the core
	Power                           // mW
	PowerLimit                      // mW
	Reasons                         // nvmlClocksEventReasons of nvml.h
	ECCCorrected                    // errors since the driver was loaded
	ECCUncorrected                  // errors since the driver was loaded
	ECCCorrectedEver                // errors in the GPU's life
	ECCUncorrectedEver              // errors in the GPU's life
	MIG                             // 1 if it is divided into instances
	Processes                       // how many use it
	Xids                            // no value: tells whether Xid errors are reported
	numFields
)

var fieldNames = [numFields]string{
	"utilisation", "memory utilisation", "memory in use", "memory", "SM clock", "memory clock", "highest SM clock",
	"temperature", "power", "power limit", "throttle reasons", "corrected ECC errors", "uncorrected ECC errors",
	"corrected ECC errors ever", "uncorrected ECC errors ever", "MIG mode", "processes", "Xid errors",
}

// String is the field in words.
func (f Field) String() string { return fieldNames[f] }

// Fields lists all of them.
func Fields() []Field {
	var all []Field
	for f := range numFields {
		all = append(all, f)
	}
	return all
}

// Status is a return code of the library (nvmlReturn_t in nvml.h); 0 is success.
type Status uint32

// The codes that matter here.
const (
	NotSupported     Status = 3
	NoPermission     Status = 4
	DriverNotLoaded  Status = 9
	FunctionNotFound Status = 13 // also used by the helper for a missing symbol
	GPULost          Status = 15
	OperatingSystem  Status = 17 // the process may not access the device
	VersionMismatch  Status = 18
)

var statusNames = map[Status]string{
	0: "ok", 1: "not initialised", 2: "invalid argument", NotSupported: "not supported", NoPermission: "no permission",
	6: "not found", 7: "too many", 8: "power cables missing", DriverNotLoaded: "driver not loaded", 10: "timeout",
	11: "interrupt problem", 12: "library not found", FunctionNotFound: "not in this version of the library",
	14: "damaged infoROM", GPULost: "the GPU is lost", 16: "the GPU needs a reset",
	OperatingSystem: "refused by the operating system", VersionMismatch: "driver and library differ in version",
	20: "out of memory", 21: "no data", 25: "version of an argument", 999: "unknown error",
}

// String is the code in words.
func (s Status) String() string {
	if n, ok := statusNames[s]; ok {
		return n
	}
	return fmt.Sprintf("NVML error %d", uint32(s))
}

// Stage is where the helper failed.
type Stage uint32

// The stages; the first four are those of helper/record.h.
const (
	StageLoad   Stage = 1 + iota // of the library
	StageSymbol                  // a required function
	StageInit                    // nvmlInit_v2
	StageCount                   // nvmlDeviceGetCount_v2
	StageStart                   // of the helper itself
	StageRead                    // it had begun to read
)

var stageNames = map[Stage]string{
	StageLoad: "load NVML", StageSymbol: "find a function of NVML", StageInit: "initialise NVML",
	StageCount: "count GPUs", StageStart: "start the helper for NVML", StageRead: "read GPUs through NVML",
}

func (s Stage) String() string {
	if n, ok := stageNames[s]; ok {
		return n
	}
	return fmt.Sprintf("stage %d", uint32(s))
}
