package strict

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

func (d *decoder) scalar(node *yaml.Node, into reflect.Value, path string) {
	if !d.wants(node, yaml.ScalarNode, path) {
		return
	}
	var problem, hint string
	switch {
	case into.Type() == durationType:
		problem, hint = setDuration(node, into)
	case into.Kind() == reflect.String:
		if problem, hint = notText(node); problem == "" {
			into.SetString(node.Value)
		}
	case into.Kind() == reflect.Bool:
		problem, hint = setBool(node, into)
	case into.CanInt(), into.CanUint():
		problem, hint = setInteger(node, into)
	case into.CanFloat():
		problem, hint = setFloat(node, into)
	default:
		panic(fmt.Sprintf("strict: cannot decode into %v", into.Type()))
	}
	if problem != "" {
		d.fail(node, path, hint, "%s", problem)
	}
}

// boolWords are booleans in YAML 1.1 and text in YAML 1.2.
var boolWords = map[string]bool{"y": true, "yes": true, "on": true, "true": true, "n": true, "no": true, "off": true, "false": true}

// notText says why a scalar may not be used as text; empty if it may.
func notText(node *yaml.Node) (problem, hint string) {
	if quoted(node) {
		return "", ""
	}
	hint = "write it quoted: " + show(node.Value)
	switch {
	case node.Kind != yaml.ScalarNode:
		return "want text, got " + describe(node), ""
	case isNull(node):
		return nullProblem(node), "give it a value, or leave it out"
	case node.Tag == "!!int" || node.Tag == "!!float":
		return fmt.Sprintf("%s is a number, want text", bare(node.Value)), hint
	case node.Tag == "!!timestamp":
		return fmt.Sprintf("%s is a date, want text", bare(node.Value)), hint
	case node.Tag == "!!bool" || boolWords[strings.ToLower(node.Value)]:
		return fmt.Sprintf("%s is a boolean, want text", bare(node.Value)), hint
	}
	return "", ""
}

func setBool(node *yaml.Node, into reflect.Value) (problem, hint string) {
	if node.Tag != "!!bool" {
		return fmt.Sprintf("want true or false, got %s", show(node.Value)), boolHint(node)
	}
	into.SetBool(strings.EqualFold(node.Value, "true"))
	return "", ""
}

// boolHint says how to write the boolean.
func boolHint(node *yaml.Node) string {
	if quoted(node) {
		return "write true or false, without quotes"
	}
	switch strings.ToLower(node.Value) {
	case "y", "yes", "on":
		return "write true"
	case "n", "no", "off":
		return "write false"
	}
	return "write true or false"
}

var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

func setInteger(node *yaml.Node, into reflect.Value) (problem, hint string) {
	want := fmt.Sprintf("want a whole number, got %s", show(node.Value))
	if quoted(node) && decimal.MatchString(node.Value) {
		return want, "write it without quotes: " + bare(node.Value)
	}
	if quoted(node) || !decimal.MatchString(node.Value) {
		return want, "write decimal digits only, such as 100"
	}
	if into.CanUint() {
		n, err := strconv.ParseUint(node.Value, 10, 64)
		if err != nil || into.OverflowUint(n) {
			return bare(node.Value) + " is out of range", ""
		}
		into.SetUint(n)
		return "", ""
	}
	n, err := strconv.ParseInt(node.Value, 10, 64)
	if err != nil || into.OverflowInt(n) {
		return bare(node.Value) + " is out of range", ""
	}
	into.SetInt(n)
	return "", ""
}

var fraction = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

func setFloat(node *yaml.Node, into reflect.Value) (problem, hint string) {
	want := fmt.Sprintf("want a number, got %s", show(node.Value))
	if quoted(node) && fraction.MatchString(node.Value) {
		return want, "write it without quotes: " + bare(node.Value)
	}
	if quoted(node) || !fraction.MatchString(node.Value) {
		return want, "write a decimal number, such as 0.005"
	}
	f, err := strconv.ParseFloat(node.Value, 64)
	if err != nil || math.IsInf(f, 0) || into.OverflowFloat(f) {
		return bare(node.Value) + " is out of range", ""
	}
	into.SetFloat(f)
	return "", ""
}

func setDuration(node *yaml.Node, into reflect.Value) (problem, hint string) {
	if fraction.MatchString(node.Value) {
		return fmt.Sprintf("%s has no unit", show(node.Value)), fmt.Sprintf("%s → %s", bare(node.Value), show(node.Value+"s"))
	}
	length, err := time.ParseDuration(node.Value)
	if err != nil {
		return fmt.Sprintf("want a duration, got %s", show(node.Value)), "write a number with a unit (ms, s, m, h), such as 5s or 1m30s"
	}
	into.SetInt(int64(length))
	return "", ""
}
