package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// plot draws, as SVG, how costs grow with elections and with members. Both axes of each
// panel are logarithmic: proportional growth is a straight line of slope 1.
func (r *result) plot() string {
	d := &drawing{}
	d.head(r)
	costs := []struct {
		title string
		of    func(*idle) float64
	}{
		{"requests/s, all members", requestsOf},
		{"CPU, % of a core, busiest member", busiest},
		{"memory, MB, largest member", func(p *idle) float64 { return float64(slices.Max(p.RSS)) / (1 << 20) }},
	}
	for column, c := range costs {
		at := place{x: margin + column*(panelWidth+gap), y: top}
		d.panel(at, c.title, "elections, 3 members each", r.lines(c.of, func(p *idle) (float64, bool) { return float64(p.Elections), p.Members == 3 }))
		if r.grownNames() == "" {
			continue
		}
		at.y += panelHeight + between
		d.panel(at, c.title, fmt.Sprintf("members, %s", r.grownNames()), r.lines(c.of, func(p *idle) (float64, bool) {
			return float64(p.Members), p.Elections == r.grown(p.Who)
		}))
	}
	d.f("</svg>")
	return d.String()
}

// grown is the number of elections of the contender's company that was measured with several numbers of
// members; zero for none.
func (r *result) grown(who contender) int {
	members := map[int][]int{}
	for _, p := range r.Idle {
		if p.Who == who {
			members[p.Elections] = append(members[p.Elections], p.Members)
		}
	}
	for n, of := range members {
		if len(of) > 1 {
			return n
		}
	}
	return 0
}

func (r *result) grownNames() string {
	var all []string
	for _, who := range []contender{primacy, clientGo} {
		if n := r.grown(who); n > 0 {
			all = append(all, fmt.Sprintf("%d elections of %s", n, who))
		}
	}
	return strings.Join(all, ", ")
}

// curve is one contender's points.
type curve struct {
	who    contender
	points [][2]float64
}

// lines are the curves of all contenders. of returns the y of a point; at returns its x, or false to leave
// it out.
func (r *result) lines(of func(*idle) float64, at func(*idle) (float64, bool)) (all []curve) {
	for _, who := range contenders {
		l := curve{who: who}
		for i := range r.Idle {
			p := &r.Idle[i]
			if x, in := at(p); in && p.Who == who {
				l.points = append(l.points, [2]float64{x, max(of(p), least)})
			}
		}
		if len(l.points) > 0 {
			slices.SortFunc(l.points, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
			all = append(all, l)
		}
	}
	return all
}

var contenders = []contender{primacy, byRecord, clientGo}

var colours = map[contender]string{primacy: "#1660b5", byRecord: "#2a9d8f", clientGo: "#c8501e"}

// least is drawn in place of smaller values, since zero has no logarithm.
const least = 0.01

const (
	panelWidth, panelHeight = 230, 170
	margin, gap, top        = 50, 60, 80
	between                 = 90
	width                   = 2*margin + 3*panelWidth + 2*gap
	height                  = top + 2*panelHeight + 2*between - 40
)

type place struct{ x, y int }

// drawing is an unfinished SVG.
type drawing struct{ strings.Builder }

func (d *drawing) f(format string, args ...any) { fmt.Fprintf(&d.Builder, format+"\n", args...) }

func (d *drawing) text(x, y float64, anchor, colour, s string) {
	d.f(`<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>`, x, y, anchor, colour, escape.Replace(s))
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func (d *drawing) head(r *result) {
	d.f(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`, width, height)
	d.f(`<rect width="%d" height="%d" fill="#ffffff"/>`, width, height)
	d.text(margin, 24, "start", "#222222", fmt.Sprintf("What idle elections cost, measured %s on %d cores. Both axes are logarithmic.", r.Began.Format("2006-01-02"), r.Cores))
	x := float64(margin)
	for _, who := range contenders {
		d.f(`<circle cx="%.1f" cy="42" r="4" fill="%s"/>`, x+4, colours[who])
		d.text(x+14, 46, "start", "#222222", string(who))
		x += 30 + 7*float64(len(who))
	}
}

// panel draws the curves with their axes.
func (d *drawing) panel(at place, title, below string, all []curve) {
	left, up := float64(at.x), float64(at.y)
	d.text(left, up-8, "start", "#222222", title)
	d.f(`<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#999999"/>`, at.x, at.y, panelWidth, panelHeight)
	d.text(left+panelWidth/2, up+panelHeight+34, "middle", "#555555", below)
	if len(all) == 0 {
		return
	}
	xs, ys := scaleOf(all, 0, panelWidth), scaleOf(all, 1, panelHeight)
	for _, v := range xs.ticks() {
		x := left + xs.at(v)
		d.f(`<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#e4e4e4"/>`, x, at.y, x, at.y+panelHeight)
		d.text(x, up+panelHeight+16, "middle", "#555555", number(v))
	}
	for _, v := range ys.ticks() {
		y := up + panelHeight - ys.at(v)
		d.f(`<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#e4e4e4"/>`, at.x, y, at.x+panelWidth, y)
		d.text(left-5, y+4, "end", "#555555", number(v))
	}
	for _, l := range all {
		var path []string
		for _, p := range l.points {
			x, y := left+xs.at(p[0]), up+panelHeight-ys.at(p[1])
			path = append(path, fmt.Sprintf("%.1f,%.1f", x, y))
			d.f(`<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"><title>%s: %s</title></circle>`, x, y, colours[l.who], l.who, number(p[1]))
		}
		d.f(`<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`, strings.Join(path, " "), colours[l.who])
	}
}

// scale maps values to a length, by their logarithm.
type scale struct{ low, high, length float64 }

// scaleOf spans all values of one axis, from a power of ten to another.
func scaleOf(all []curve, axis int, length float64) scale {
	s := scale{math.Inf(1), math.Inf(-1), length}
	for _, l := range all {
		for _, p := range l.points {
			v := math.Log10(p[axis])
			s.low, s.high = min(s.low, v), max(s.high, v)
		}
	}
	s.low, s.high = math.Floor(s.low), math.Ceil(s.high)
	if s.low == s.high {
		s.high++
	}
	return s
}

func (s scale) at(v float64) float64 {
	return (math.Log10(v) - s.low) / (s.high - s.low) * s.length
}

// ticks are the powers of ten, and values between them if there are few.
func (s scale) ticks() (all []float64) {
	for e := s.low; e <= s.high; e++ {
		all = append(all, math.Pow(10, e))
		if s.high-s.low == 1 && e < s.high {
			all = append(all, 2*math.Pow(10, e), 5*math.Pow(10, e))
		}
	}
	return all
}

// number is a value with three significant digits, for people.
func number(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
