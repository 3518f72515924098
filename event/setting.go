package event

// Settings of a machine by the names with which they are recorded. Those of processes are environment variables, with
// their own names, and limits.
const (
	SettingClockSource     = "clock_source"
	SettingHugePages       = "transparent_huge_pages"
	SettingDefrag          = "huge_page_defrag"
	SettingCompaction      = "compaction_proactiveness"
	SettingNUMABalancing   = "numa_balancing"
	SettingGovernor        = "cpu_governor"
	SettingSMT             = "smt"
	SettingSwappiness      = "swappiness"
	SettingZoneReclaim     = "zone_reclaim_mode"
	SettingDirty           = "dirty_ratio"
	SettingDirtyBackground = "dirty_background_ratio"
	SettingLocked          = "rlimit.memlock"
	SettingOpenFiles       = "rlimit.nofile"
)
