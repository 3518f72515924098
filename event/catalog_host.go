package event

// hostOps are the kernel's events of scheduler, processes and memory.
var hostOps = []Info{
	{Op: op(SourceHost, 1), Name: "sched_switch", Doc: "A thread was off the CPU; duration is how long."},
	{
		Op: OpPageAlloc, Name: "mm_page_alloc",
		Args: []Arg{
			argBytes,
			{Name: "allocations", Unit: UnitCount, Doc: "how many times memory was asked for"},
			{Name: "pages", Unit: UnitCount, Doc: "pages given"},
			{Name: "failed", Unit: UnitCount, Doc: "allocations that got nothing"},
		},
		Doc: "A process was given memory; a row is all of it in a second, recorded with --pages.",
	},
	{
		Op: op(SourceHost, 4), Name: "oom_kill",
		Args: []Arg{{Name: "trigger_pid", Unit: UnitCount, Doc: "process whose need for memory ended it"}},
		Doc:  "The kernel ended a process because memory had run out; it is the event of the process that was ended.",
	},
	{Op: op(SourceHost, 5), Name: "process_exec", Doc: "A process executed a new program."},
	{Op: op(SourceHost, 6), Name: "process_exit", Doc: "A thread or process ended."},
	{
		Op: op(SourceHost, 7), Name: "process_fork",
		Args: []Arg{{Name: "child", Unit: UnitCount, Doc: "process or thread id created"}},
		Doc:  "A process or thread was created.",
	},
	{
		Op: op(SourceHost, 20), Name: "syscall",
		Doc: "A process whose footprint is taken made a system call; counted, not recorded one by one.",
	},
}

// ioOps are requests to block devices.
var ioOps = []Info{
	{
		Op: OpBlockRead, Name: "block_read", Args: argsBlock,
		Doc: "A block device read; duration is from the request's making to its end.",
	},
	{Op: OpBlockWrite, Name: "block_write", Args: argsBlock, Doc: "A block device wrote."},
	{
		Op: OpBlockDiscard, Name: "block_discard", Args: argsBlock,
		Doc: "A block device was told which sectors are free, or to be zero.",
	},
	{Op: OpBlockFlush, Name: "block_flush", Args: argsBlock, Doc: "A block device emptied its cache."},
	{
		Op: OpBlockOther, Name: "block_other", Args: argsBlock,
		Doc: "A block device did something else, such as a command passed through to it.",
	},
	{
		Op: OpSwapIn, Name: "swap_in", Args: argsBlock,
		Doc: "A block device read memory back that had been swapped out, for the process that needed it.",
	},
	{
		Op: OpSwapOut, Name: "swap_out", Args: argsBlock,
		Doc: "A block device took memory that was swapped out, by who needed room; whose memory it was is not known.",
	},
}

// tcpOps are events of TCP connections.
var tcpOps = []Info{
	{
		Op: OpTCPRetransmit, Name: "tcp_retransmit", Args: argsTCP,
		Doc: "A TCP segment was sent again because its receipt was not confirmed.",
	},
	{
		Op: OpTCPConnectFailed, Name: "tcp_connect_failed", Args: argsTCP,
		Doc: "A TCP connection did not come about; duration is how long it was tried.",
	},
	{
		Op: OpTCPSpike, Name: "tcp_rtt_spike", Args: argsTCP,
		Doc: "A round trip took three times as long as the connection's shortest and 10 ms longer; " +
			"duration is the round trip.",
	},
}
