// Pause does nothing until it is told to end. It is what a pod's sandbox runs, and a
// container that must only exist; as process 1 it also takes in orphans' exit codes.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// One signal may stand for several ended children.
func reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err != syscall.EINTR && (err != nil || pid == 0) {
			return
		}
	}
}
