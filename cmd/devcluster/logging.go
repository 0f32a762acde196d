package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
)

const logFile = "devcluster.log"

// logging takes what the API server (klog, log) and etcd (zap) log.
type logging struct {
	file string // "" if it goes to standard error
	etcd *zap.Logger

	// ending is set when we stop the servers on purpose. From then on a fatal error in
	// one of them, such as an interrupted start, must not end the
	// process before the clean-up is done: its goroutine blocks instead.
	ending atomic.Bool
}

// openLogging directs all logs to a new file, or to stderr if file is empty.
// If a logger wants to end the process, it calls fatal instead. fatal must
// not return.
func openLogging(file string, stderr *os.File, fatal func(*logging)) (*logging, error) {
	out := stderr
	if file != "" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return nil, fmt.Errorf("create log file: %w", err)
		}
		if err := captureStderr(f, stderr); err != nil {
			return nil, fmt.Errorf("redirect standard error: %w", err)
		}
		out = f // never closed, so that the last lines before a forced exit reach it
	}
	l := &logging{file: file}
	exit := func() {
		if l.ending.Load() {
			select {}
		}
		fatal(l)
	}

	log.SetOutput(out)
	streams := &logsapi.LoggingOptions{ErrorStream: out, InfoStream: out}
	if err := logsapi.ValidateAndApplyWithOptions(logsapi.NewLoggingConfiguration(), streams, nil); err != nil {
		return nil, fmt.Errorf("set up logging: %w", err)
	}
	klog.OsExit = func(int) { exit() }

	format := zap.NewProductionEncoderConfig()
	format.EncodeTime = zapcore.ISO8601TimeEncoder
	core := zapcore.NewCore(zapcore.NewConsoleEncoder(format), zapcore.Lock(zapcore.AddSync(out)), zap.InfoLevel)
	l.etcd = zap.New(core, zap.WithPanicHook(exitHook(exit)), zap.WithFatalHook(exitHook(exit)))
	return l, nil
}

type exitHook func()

func (h exitHook) OnWrite(*zapcore.CheckedEntry, []zapcore.Field) { h() }

// errorLine matches an error in the log: klog's line begins with the severity and the date
// (E0102 15:04:05), zap's has the level between tabs.
var errorLine = regexp.MustCompile(`^[EF]\d{4} |\t(error|panic|fatal)\t`)

// lastErrors returns the last error lines of the log, each indented on a line
// of its own, since a temporary log does not outlive a failed start.
func (l *logging) lastErrors() string {
	const most = 8
	if l.file == "" {
		return ""
	}
	f, err := os.Open(l.file)
	if err != nil {
		return ""
	}
	defer f.Close()
	var lines []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if errorLine.MatchString(s.Text()) {
			lines = append(lines, "\n  "+s.Text())
		}
	}
	return strings.Join(lines[max(0, len(lines)-most):], "")
}
