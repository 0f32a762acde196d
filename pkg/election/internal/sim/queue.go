package sim

// queue holds future events, ordered by time and then by when they were planned. The sorted events hold
// no pointers, so moving them costs the garbage collector nothing.
type queue struct {
	heap []event
	seq  uint64
	// todo holds the events' functions, at the places that the events name; free lists the unused places.
	todo []func()
	free []int32
}

type event struct {
	at    int64
	seq   uint64
	place int32
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

// children is the number of children of a heap node. With four the heap is half as deep as with two, and
// the children share a cache line or two.
const children = 4

func (q *queue) push(at int64, do func()) {
	q.seq++
	e := event{at: at, seq: q.seq, place: q.keep(do)}
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / children
		if !e.before(q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = e
}

func (q *queue) keep(do func()) int32 {
	if n := len(q.free) - 1; n >= 0 {
		place := q.free[n]
		q.free = q.free[:n]
		q.todo[place] = do
		return place
	}
	q.todo = append(q.todo, do)
	return int32(len(q.todo) - 1) // #nosec G115 -- far fewer are planned at any time
}

func (q *queue) pop() (at int64, do func(), ok bool) {
	if len(q.heap) == 0 {
		return 0, nil, false
	}
	first, end := q.heap[0], len(q.heap)-1
	e := q.heap[end]
	q.heap = q.heap[:end]
	i := 0
	for {
		child := children*i + 1
		if child >= end {
			break
		}
		least := child
		for c := child + 1; c < min(child+children, end); c++ {
			if q.heap[c].before(q.heap[least]) {
				least = c
			}
		}
		if !q.heap[least].before(e) {
			break
		}
		q.heap[i] = q.heap[least]
		i = least
	}
	if end > 0 {
		q.heap[i] = e
	}
	do = q.todo[first.place]
	q.todo[first.place] = nil
	q.free = append(q.free, first.place)
	return first.at, do, true
}
