package arrival

// Jobs divides spans by job: ranks that share a communicator, or another rank with which each shares one, are of one.
func Jobs(spans []Span) [][]Span {
	type comm struct{ cluster, name string }
	of, comms := map[Rank]Rank{}, map[comm]Rank{} // a rank that is nearer to the first one of its job
	first := func(r Rank) Rank {
		for of[r] != r {
			of[r] = of[of[r]]
			r = of[r]
		}
		return r
	}
	for i := range spans {
		s := &spans[i]
		if _, known := of[s.Rank]; !known {
			of[s.Rank] = s.Rank
		}
		c := comm{s.Cluster, s.Comm}
		if other, known := comms[c]; known {
			of[first(s.Rank)] = first(other)
		} else {
			comms[c] = s.Rank
		}
	}
	var jobs [][]Span
	at := map[Rank]int{}
	for i := range spans {
		job := first(spans[i].Rank)
		if _, known := at[job]; !known {
			at[job] = len(jobs)
			jobs = append(jobs, nil)
		}
		jobs[at[job]] = append(jobs[at[job]], spans[i])
	}
	return jobs
}
