package strict

import "strings"

// suggest returns a hint for an unknown name.
func suggest(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "known here: " + strings.Join(known, ", ")
}

// Suggest returns a hint for an unknown name, such as a kind.
func Suggest(name string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	return suggest(name, known)
}

// Nearest returns the known name closest to a mistyped one; empty if none is close.
func Nearest(name string, known []string) string {
	best, least := "", 0
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d <= allowance(k) && (best == "" || d < least) {
			best, least = k, d
		}
	}
	return best
}

// allowance is how many typing mistakes a similar word may have.
func allowance(word string) int { return max(1, len(word)/3) }

// distance counts the letters to insert, delete or replace, and the neighbours to swap.
func distance(a, b string) int {
	if len(a) > maxShown || len(b) > maxShown {
		return max(len(a), len(b))
	}
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
