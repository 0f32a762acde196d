package record

import (
	"testing"
	"time"
)

// TestRangeEnd checks when the range of each kind of record ends. What a session renews states a year, which nobody
// waits for, and no duration counts for more than MaxLeaseDuration.
func TestRangeEnd(t *testing.T) {
	const year = 365 * 24 * time.Hour
	renewed := time.Unix(1_000_000, 0).UTC()
	lease := 15 * time.Second
	mark := func(holder string, renewal Renewal) *Mark {
		return &Mark{Identity: holder, Duration: lease, Renewal: renewal}
	}
	for name, c := range map[string]struct {
		record Record
		want   time.Time
	}{
		"blank":              {Record{}, time.Time{}},
		"renewed by itself":  {Record{Holder: "m", Duration: lease, Mark: mark("m", RenewalRecord)}, renewed.Add(lease)},
		"its plain longer":   {Record{Holder: "m", Duration: time.Minute, Mark: mark("m", RenewalRecord)}, renewed.Add(time.Minute)},
		"its plain a year":   {Record{Holder: "m", Duration: year, Mark: mark("m", RenewalRecord)}, renewed.Add(MaxLeaseDuration)},
		"through a session":  {Record{Holder: "m", Duration: year, Mark: mark("m", RenewalSession)}, renewed.Add(lease)},
		"another's mark":     {Record{Holder: "m", Duration: year, Mark: mark("n", RenewalSession)}, renewed.Add(MaxLeaseDuration)},
		"its mark a year":    {Record{Holder: "m", Mark: &Mark{Identity: "m", Duration: year}}, renewed.Add(MaxLeaseDuration)},
		"foreign":            {Record{Holder: "istio", Duration: lease}, renewed.Add(lease)},
		"foreign for a year": {Record{Holder: "istio", Duration: year}, renewed.Add(MaxLeaseDuration)},
		"released":           {Record{Duration: year, Mark: mark("", RenewalRecord)}, renewed},
		"claimed": {
			Record{Holder: "m", Duration: year, Mark: mark("m", RenewalRecord), Claim: &Claim{}, Acquired: renewed.Add(-time.Minute)},
			renewed.Add(-time.Minute),
		},
	} {
		if name != "blank" {
			c.record.Renewed = renewed
		}
		if got := c.record.RangeEnd(); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
