package event

import (
	"regexp"
	"strings"
)

// Untraced says why functions of CUDA's libraries are not operations.
type Untraced struct {
	Why string // a sentence for the table of functions (internal/gen) and check --coverage
	// Matters: they may still take a program's time or give work to the GPU.
	Matters bool
}

// family is a group of functions that are not traced for the same reason.
type family struct {
	names *regexp.Regexp // of functions, without _ptsz and _ptds
	Untraced
}

func names(pattern string) *regexp.Regexp { return regexp.MustCompile("^(?:" + pattern + ")$") }

var older = Untraced{
	Why: "An older form of a function that is traced under a name with _v2; programs built since do not call it.",
}

// families are searched in order. A function that is in none of them, and is not an
// operation, is unknown to this version.
var families = []family{
	{names(`pnccl.*`), Untraced{Why: "The same code as the function without p, which is traced or listed."}},
	{names(`__cudaRegisterFunction|__cudaGetKernel|cudaGetKernel`), Untraced{
		Why: "Read for the names of kernels, not timed.",
	}},
	{names(`cudaGetDevice|cuda(Get|PeekAt)LastError|__cuda(Push|Pop)CallConfiguration|cuCtx(Get|Set)Current|` +
		`cuCtx(Push|Pop)Current(_v2)?|cuCtxGetDevice(_v2)?|cuDevicePrimaryCtxGetState`), Untraced{
		Why: "Takes some 10 ns and is called with every launch: a probe would cost more than it could tell.",
	}},
	{names(`__cuda(Init|Register|Unregister).*`), Untraced{
		Why: "Registers a program's device code at its start; the code is loaded later, which is traced.",
	}},
	{names(`cu(da)?(Thread)?(Ctx|Device|Func)(Get|Set)(CacheConfig|SharedMemConfig|Flags|Limit)|` +
		`cuda(Thread|Device).*CacheConfig|` +
		`cuda(ThreadGetLimit|GetDeviceFlags|SetValidDevices|ChooseDevice|FuncSet.*Config)|` +
		`cuFuncSet(BlockShape|SharedSize)|` +
		`cuParamSet.*|cuda(Ctx|Device)ResetPersistingL2Cache|cuCtxResetPersistingL2Cache|cudaSetDoubleFor.*`), Untraced{
		Why: "Asks for a setting or makes one, on the host alone.",
	}},
	{names(`cu(da)?Graph(Add|Clone|Create|Debug|.*Node|Conditional|.*Edges|.*Dependencies|Exec.*Get|Exec.*Set|Get|` +
		`Retain|Release|Remove|.*(Get|Set)Params|.*(Get|Set)Event|Destroy).*|cu(da)?UserObject.*|` +
		`cu(da)?Stream(Update|GetCapture)CaptureDependencies.*|cu(da)?StreamUpdateCapture.*|` +
		`cu(da)?ThreadExchangeStreamCaptureMode|cu(da)?Device(Get|Set)GraphMemAttribute`), Untraced{
		Why: "Builds, changes or looks at a graph on the host; making it executable, updating and launching it is traced.",
	}},
	{names(`cu(da)?(GL|EGL|VDPAU|D3D).*|cu(da)?Graphics.*|cu(da)?EventCreateFromEGLSync`), Untraced{
		Why: "Shares memory with OpenGL, EGL or VDPAU; not used to compute.", Matters: true,
	}},
	{names(`cu(da)?(Signal|Wait)ExternalSemaphoresAsync(_v2)?`), Untraced{
		Why: "Queues a signal to Vulkan, Direct3D or another API, or waiting for one.", Matters: true,
	}},
	{names(`cu(da)?(Import|Destroy)External.*|cu(da)?ExternalMemory.*|.*NvSciSync.*`), Untraced{
		Why: "Shares memory and semaphores with Vulkan, Direct3D and other APIs.",
	}},
	{names(`cu(da)?(Tex|Surf).*|cuda(Create|Destroy)(Texture|Surface).*|cuda(Bind|Unbind).*|` +
		`cudaGet(Texture|Surface|Mipmapped|Channel).*|` +
		`cudaCreateChannelDesc|cu(da)?(Mipmapped)?Array(3D)?Get.*|cuMipmappedArrayGet.*|cuda(Mipmapped)?ArrayGet.*|` +
		`cuModuleGet(Surf|Tex)Ref|cuTensorMap.*`), Untraced{
		Why: "Describes textures, surfaces, arrays and tensors on the host.",
	}},
	{names(`cu(da)?Occupancy.*`), Untraced{Why: "Computes on the host what fits on the device."}},
	{names(`cu(da)?(Func|Kernel|Module|Library)(Get|Set|Is).*|cudaKernelSet.*|cudaGetSymbol.*`), Untraced{
		Why: "Asks for a property of a kernel, module or variable, or sets one.",
	}},
	{names(`cu(da)?(Get)?(Device|Driver|Runtime)(Get|Can|Compute|Total|Register|Unregister|Set|Flush).*|cuDeviceGet|` +
		`cuFlushGPUDirectRDMAWrites|cu(da)?(DriverGetVersion|RuntimeGetVersion)`), Untraced{
		Why: "Asks for a property of device or driver, or sets one.",
	}},
	{names(`cu(da)?(Ctx|GreenCtx|ExecutionCtx|DevResource|DevSm|Subgrid|StreamGetGreen).*|` +
		`cuCtx(Attach|Detach)`), Untraced{
		Why: "Makes, asks for or shares out contexts and parts of a device; work in them is traced.",
	}},
	{names(`cu(da)?Stream(Get|Set|Copy).*`), Untraced{Why: "Asks for a property of a stream, or sets one."}},
	{names(`cu(da)?(Pointer|Mem(Host)?|Mem(Pool)?|MemRange|Multicast|Host)(Get|Set|Retain|GetAllocation).*`), Untraced{
		Why: "Asks for a property of memory, or sets one.",
	}},
	{names(`cu(da)?GetError(Name|String)|cu(da)?Get(ExportTable|ProcAddress.*|DriverEntryPoint.*)|__cudaGetProcAddress|` +
		`cu(da)?Logs.*|cu(da)?Profiler.*|cuCoredump.*|cudbg.*|cuLinkDestroy|cuStreamGetCtx.*`), Untraced{
		Why: "Serves errors, debuggers, profilers and the look-up of functions.",
	}},
	{names(`cuCheckpoint.*|cuLogicalEndpoint.*|cuFabricCpyBatchAsync|cuMemBatchDecompressAsync|` +
		`cuStream(Begin|End)CaptureToCig`), Untraced{
		Why: "New and not yet traced.", Matters: true,
	}},
	{names(`nvtx(Domain)?Name.*|nvtxDomain(Create|Destroy)[AW]?|nvtxDomain(RegisterString|Resource).*`), Untraced{
		Why: "Names a thread, stream, device, category, domain or text; marks nothing.",
	}},
	{names(`nvtxDomainSyncUser.*`), Untraced{Why: "Tells tools of locks of the program's own; marks nothing."}},
	{names(`nvtx(GetExportTable|Initialize|Eti.*)`), Untraced{Why: "Connects tools with the program."}},
	{names(`ncclCommGrow`), Untraced{Why: "New and not yet traced.", Matters: true}},
	{names(`nccl(Get|Param|RedOp|ResetDebug|SetEncryption|GroupSimulateEnd|Team|Win|DevComm|Gin|LL|Lsa|` +
		`Comm(CuDevice|Get|Mem|Query)).*`), Untraced{
		Why: "Asks for a property, or prepares what kernels do themselves; queues nothing.",
	}},
}

// WhyUntraced says why an exported function of CUDA's libraries is not an operation. ok
// is false if it is an operation, or unknown.
func WhyUntraced(symbol string) (u Untraced, ok bool) {
	if _, traced := BySymbol(symbol); traced {
		return Untraced{}, false
	}
	symbol = strings.TrimSuffix(strings.TrimSuffix(symbol, "_ptsz"), "_ptds")
	if strings.Contains(symbol, "Launch") && symbol[0] != 'p' { // no reason is good enough
		return Untraced{}, false
	}
	if _, traced := BySymbol(symbol + "_v2"); traced {
		return older, true
	}
	for i := range families {
		if families[i].names.MatchString(symbol) {
			return families[i].Untraced, true
		}
	}
	return Untraced{}, false
}

// BySymbol finds the operation that an exported function is.
func BySymbol(symbol string) (*Info, bool) {
	i, ok := index.bySymbol[symbol]
	return i, ok
}

var ours = regexp.MustCompile(`^(?:p?nccl[A-Z]|nvtx[A-Z]|cuda[A-Z]|__cuda[A-Z]|cu[A-Z])\w*$`)

// IsCUDA reports whether a name looks like a function of libcudart, libcuda, libnccl or
// libnvToolsExt.
func IsCUDA(symbol string) bool { return ours.MatchString(symbol) }

// Launches reports whether a function of CUDA's libraries launches kernels. For an unknown
// function, the name decides.
func Launches(symbol string) bool {
	if i, ok := BySymbol(symbol); ok {
		return i.Role == RoleLaunch
	}
	_, known := WhyUntraced(symbol)
	return !known && strings.Contains(symbol, "Launch")
}
