package arrival

// Jobs divides spans by job: processes that share a communicator, or another process with which each shares one, are of
// one.
func Jobs(spans []Span) [][]Span {
	type comm struct{ cluster, name string }
	of, comms := map[Process]Process{}, map[comm]Process{} // one that is nearer to the first one of its job
	first := func(r Process) Process {
		for of[r] != r {
			of[r] = of[of[r]]
			r = of[r]
		}
		return r
	}
	for i := range spans {
		s := &spans[i]
		if _, known := of[s.Process]; !known {
			of[s.Process] = s.Process
		}
		c := comm{s.Cluster, s.Comm}
		if other, known := comms[c]; known {
			of[first(s.Process)] = first(other)
		} else {
			comms[c] = s.Process
		}
	}
	var jobs [][]Span
	at := map[Process]int{}
	for i := range spans {
		job := first(spans[i].Process)
		if _, known := at[job]; !known {
			at[job] = len(jobs)
			jobs = append(jobs, nil)
		}
		jobs[at[job]] = append(jobs[at[job]], spans[i])
	}
	return jobs
}
