package scenario

import "container/heap"

// queue holds future events, ordered by time and then by when they were planned.
type queue struct {
	planned plans
	seq     uint64
}

type plan struct {
	at  int64
	seq uint64
	do  func()
}

type plans []plan

func (p plans) Len() int { return len(p) }
func (p plans) Less(i, j int) bool {
	return p[i].at < p[j].at || p[i].at == p[j].at && p[i].seq < p[j].seq
}
func (p plans) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

// Push and Pop implement heap.Interface; use push and pop of the queue.
func (p *plans) Push(x any) { *p = append(*p, x.(plan)) }

// Pop implements heap.Interface.
func (p *plans) Pop() any {
	last := (*p)[len(*p)-1]
	(*p)[len(*p)-1] = plan{}
	*p = (*p)[:len(*p)-1]
	return last
}

func (q *queue) push(at int64, do func()) {
	q.seq++
	heap.Push(&q.planned, plan{at, q.seq, do})
}

// next is the time of the next event; false if there is none.
func (q *queue) next() (at int64, ok bool) {
	if len(q.planned) == 0 {
		return 0, false
	}
	return q.planned[0].at, true
}

func (q *queue) pop() plan { return heap.Pop(&q.planned).(plan) }
