package sim

import (
	"errors"
	"time"

	"github.com/primacy-dev/primacy/pkg/election/lock"
)

// giveUp is called when the process has not renewed for renewDeadline. Its work ends when its release has
// returned.
func (r *run) giveUp() {
	r.e.w.logf(r.e.name, "gives up")
	r.givingUp = true
	r.leave()
}

// cancel stops the process as a shutdown does: its work ends before the release.
func (r *run) cancel() {
	r.rest()
	r.leave()
}

func (r *run) leave() {
	r.attempt++
	if !r.e.releases || !r.leading {
		r.exit()
		return
	}
	r.after(r.e.renewDeadline, r.exit)
	r.release()
}

func (r *run) release() {
	if !r.e.rereads {
		r.blank()
		return
	}
	r.get(func(e lock.Entry, err error) {
		if err != nil || e.Record == nil {
			r.exit()
			return
		}
		r.object = e
		r.blank()
	})
}

// blank writes that nobody holds the lock, if the process believes that it is the holder.
func (r *run) blank() {
	if !r.leader() {
		r.exit()
		return
	}
	next := *r.object.Record
	next.Holder, next.Duration, next.Acquired = "", time.Second, time.Time{}
	if r.e.istio {
		next.HolderKey = ""
	}
	r.put(next, func(err error) {
		if r.e.rereads && errors.Is(err, lock.ErrConflict) {
			r.release()
			return
		}
		r.exit()
	})
}

// exit ends the process; its elector starts another one later.
func (r *run) exit() {
	r.kill("has left")
	r.e.w.after(r.e.w.between(100*time.Millisecond, r.e.w.timing.LeaseDuration), r.e.boot)
}

func (r *run) kill(why string) {
	if r.dead {
		return
	}
	r.rest()
	r.dead, r.e.run = true, nil
	r.e.w.logf(r.e.name, "ends: %s", why)
}

func (r *run) resume() {
	if r.dead || !r.paused {
		return
	}
	r.paused = false
	r.e.w.logf(r.e.name, "continued")
	if r.overslept || r.working && r.e.w.now > r.renewedAt+int64(r.e.renewDeadline) {
		r.exit()
		return
	}
	for len(r.inbox) > 0 && !r.dead && !r.paused {
		f := r.inbox[0]
		r.inbox = r.inbox[1:]
		f()
	}
}
