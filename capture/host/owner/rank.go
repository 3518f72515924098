package owner

import "strconv"

// Rank is a process's place in a distributed job; -1 is unknown.
type Rank struct{ Rank, Local, World int }

// NoRank is the rank of a process without a job.
var NoRank = Rank{-1, -1, -1}

// launchers are the environment variables in which launchers pass the rank, the rank on the node,
// and the number of ranks; the first launcher whose rank is set counts. torchrun comes first: under
// Slurm or MPI it starts several processes for each of theirs.
var launchers = [][3]string{
	{"RANK", "LOCAL_RANK", "WORLD_SIZE"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE"},
	{"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"},
	{"PALS_RANKID", "PALS_LOCAL_RANKID", "PALS_SIZE"},
	{"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
}

// RankOf reads the rank from a process's environment.
func RankOf(env map[string]string) Rank {
	for _, names := range launchers {
		if r := number(env[names[0]]); r >= 0 {
			return Rank{r, number(env[names[1]]), number(env[names[2]])}
		}
	}
	return Rank{-1, number(env["LOCAL_RANK"]), number(env["WORLD_SIZE"])}
}

func number(s string) int {
	if n, err := strconv.Atoi(s); err == nil && n >= 0 {
		return n
	}
	return -1
}
