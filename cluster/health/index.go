package health

// index finds members by rank. Ranks are mostly 0, 1, 2 and so on, so a list holds their places, in a quarter of a
// map's memory. It is at most a few times as long as there are members, whatever their ranks are.
type index struct {
	list  []int32 // by rank: the place + 1, 0: none
	other map[int32]int32
	from  int // number of members above which the list is made anew
}

// indexSpare is how many spare entries a list has at first.
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

// put notes the place of a rank. members are all members, with that one.
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

func (x *index) drop(rank int32) {
	if uint32(rank) < uint32(len(x.list)) {
		x.list[rank] = 0
		return
	}
	delete(x.other, rank)
}

// remake makes a list with room for half as many members again. Ranks come in any order; those beyond it go to the
// map.
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
