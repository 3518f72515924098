package health

// index says where members are, by rank. Ranks are mostly 0, 1, 2 and so on: their places are in a list, which takes a
// quarter of what a map does. It is never longer than a few times the members, whatever their ranks are.
type index struct {
	list  []int32 // of ranks 0 on: the place + 1, 0: none
	other map[int32]int32
	from  int // from how many members on the list is made anew
}

// indexSpare is how many entries more than members a list has at first.
const indexSpare = 8

// get returns the place of a rank.
func (x *index) get(rank int32) (at int32, ok bool) {
	if uint32(rank) < uint32(len(x.list)) {
		at = x.list[rank]
		return at - 1, at != 0
	}
	at, ok = x.other[rank]
	return at, ok
}

// put notes the place of a rank; members are all, with that one.
func (x *index) put(rank, at int32, members []member) {
	if len(members) > x.from {
		x.remake(members)
	}
	if uint32(rank) < uint32(len(x.list)) {
		x.list[rank] = at + 1
		return
	}
	if x.other == nil {
		x.other = map[int32]int32{}
	}
	x.other[rank] = at
}

// drop forgets a rank.
func (x *index) drop(rank int32) {
	if uint32(rank) < uint32(len(x.list)) {
		x.list[rank] = 0
		return
	}
	delete(x.other, rank)
}

// remake makes the list for half as many members again. Ranks come in any order: those that do not fit wait in the map.
func (x *index) remake(members []member) {
	x.from = len(members) + len(members)/2 + indexSpare
	x.list, x.other = make([]int32, x.from), nil
	for i := range members {
		rank := members[i].rank
		if uint32(rank) < uint32(len(x.list)) {
			x.list[rank] = int32(i) + 1
			continue
		}
		if x.other == nil {
			x.other = map[int32]int32{}
		}
		x.other[rank] = int32(i)
	}
}
