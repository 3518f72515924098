package change

// Kept returns how many threads and seconds are kept.
func Kept(l *Live) (threads, seconds int) {
	for _, t := range l.threads {
		seconds += len(t.seconds)
	}
	return len(l.threads), seconds
}
