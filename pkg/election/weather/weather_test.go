package weather_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/primacy-dev/primacy/pkg/election"
	"github.com/primacy-dev/primacy/pkg/election/internal/machine"
	"github.com/primacy-dev/primacy/pkg/election/lock/locktest/proxy"
)

// TestLag checks that a leader whose watch lags, while its writes get through, does not keep others from
// its locks.
func TestLag(t *testing.T) {
	c := newCrew(t)
	m1 := c.join("m1")
	c.led(m1)
	m2 := c.join("m2")
	c.settled(m2)
	most := timing.LeaseDuration * 3 / 2
	for lag := time.Duration(0); lag < most; lag += most / 50 { // the watch falls behind little by little
		m1.way.Lag(lag)
		c.watch(most / 25)
	}
	m1.way.Lag(most)
	c.ledOne(bySession, m2)
	m1.way.Heal()
	c.led(m1, m2)
}

// TestBlackHole checks that members find another way after all existing connections turned into black
// holes; new connections work.
func TestBlackHole(t *testing.T) {
	c := newCrew(t)
	m1 := c.join("m1")
	c.led(m1)
	m2 := c.join("m2")
	c.settled(m2)
	m1.way.BlackHole()
	m2.way.BlackHole()
	c.watch(timing.LeaseDuration) // by then only a member with a new connection works
	c.led(m1, m2)
}

// TestWritesOfOneKindHang checks that terms that fail open go on while writes to one kind of lock hang, for
// everybody, and all other requests are answered: no other member takes their locks, neither then nor when
// writes are answered again, whichever member's writes are answered first.
func TestWritesOfOneKindHang(t *testing.T) {
	t.Parallel()
	for _, resource := range []string{"configmaps", "leases"} {
		t.Run(resource, func(t *testing.T) {
			c := newCrew(t)
			c.bend = func(s *election.Spec) {
				if s.Name != bySession {
					s.Outage = machine.Outage{Mode: machine.OutageFailOpen, For: machine.OutageUnbounded}
				}
			}
			m1 := c.join("m1")
			c.led(m1)
			m2, m3 := c.join("m2"), c.join("m3")
			c.settled(m2)
			c.settled(m3)
			all := []*member{m2, m3, m1}
			for _, m := range all {
				m.way.On(proxy.Update, proxy.Of(resource, proxy.Delay(time.Hour)))
			}
			c.watch(timing.LeaseDuration * 5 / 2)
			for _, m := range all {
				m.way.Heal()
				c.watch(timing.RenewInterval / 2)
			}
			c.led(all...)
			for _, e := range []string{byRecord, inConfigMap} {
				if n := c.terms(e); n != 1 {
					t.Errorf("%s had %d terms", e, n)
				}
			}
		})
	}
}

// TestSlowLists checks that a member waits for lists that take longer than a lease.
func TestSlowLists(t *testing.T) {
	c := newCrew(t)
	way := c.way()
	way.On(proxy.List, proxy.Delay(timing.LeaseDuration*5/4))
	c.led(c.joinBy("m1", way))
}

// TestStorms checks that no two members work at once whatever the server answers for a while, and that
// all elections are led once that is over.
func TestStorms(t *testing.T) {
	storms := map[string]proxy.Fault{
		"asks for a minute":  proxy.Answer(http.StatusTooManyRequests, time.Minute),
		"errors":             proxy.Answer(http.StatusInternalServerError, 0),
		"unavailable":        proxy.Answer(http.StatusServiceUnavailable, time.Minute),
		"hangs up":           proxy.HangUp(),
		"answers much later": proxy.Delay(timing.LeaseDuration),
		"writes, then fails": proxy.LoseAnswers(),
		"older server":       proxy.Stale(timing.LeaseDuration / 2),
	}
	t.Parallel()
	for name, fault := range storms {
		t.Run(name, func(t *testing.T) {
			c := newCrew(t)
			m1 := c.join("m1")
			c.led(m1)
			m2 := c.join("m2")
			c.settled(m2)
			for _, op := range proxy.Ops {
				m1.way.On(op, fault)
			}
			m1.way.Cut()
			c.watch(timing.LeaseDuration * 3 / 2)
			m1.way.Heal()
			c.led(m1, m2)
		})
	}
}
