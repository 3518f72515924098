package agent

// rankEventsFollower records what a fleet says of the ranks on this node.
func rankEventsFollower(s *shared) follower {
	take := s.opts.RankEvents
	if take == nil {
		return follower{}
	}
	return follower{records: func(u *workItem) { u.batch.RankEvents = take(u.batch.RankEvents) }}
}
