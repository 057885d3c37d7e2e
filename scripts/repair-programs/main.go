// Sends messages over KCP or UDPspeeder through a relay that delays and loses, and says how many arrive in time.
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"sort"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/xtaci/kcp-go/v5"
)

const (
	messageBytes  = 1000
	every         = 500 * time.Microsecond
	deadline      = 150 * time.Millisecond
	datagramBytes = 65536
	patience      = 2 * time.Second
	bufferBytes   = 4 << 20
	// SO_RCVBUFFORCE, which needs root, is not bound by the machine's limit.
	forceBuffer = 33
)

var (
	loss    = flag.Float64("loss", 0.1, "share of datagrams that are lost on the way to the receiver")
	delay   = flag.Duration("delay", 50*time.Millisecond, "delay of each direction")
	warmUp  = flag.Int("warm-up", 3000, "messages that are sent before, and not counted")
	count   = flag.Int("count", 10000, "messages")
	seed    = flag.Int64("seed", 1, "seed of the losses")
	data    = flag.Int("data", 10, "data shards of KCP")
	parity  = flag.Int("parity", 3, "parity shards of KCP")
	speeder = flag.String("speeder", "", "UDPspeeder's program, instead of KCP")
	code    = flag.String("code", "20:10", "UDPspeeder's -f")
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	return value
}

var sentBytes atomic.Int64

// socket is bound to a free port, and has room for seconds of traffic.
func socket() *net.UDPConn {
	conn := must(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	control := must(conn.SyscallConn())
	must(0, control.Control(func(fd uintptr) {
		must(0, syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, forceBuffer, bufferBytes))
	}))
	return conn
}

func resolve(address string) *net.UDPAddr {
	return must(net.ResolveUDPAddr("udp", address))
}

// later returns a function that hands a datagram on after the delay. Datagrams stay in order.
func later(hand func([]byte)) func([]byte) {
	type waiting struct {
		due   time.Time
		bytes []byte
	}
	queue := make(chan waiting, 1<<16)
	go func() {
		for next := range queue {
			time.Sleep(time.Until(next.due))
			hand(next.bytes)
		}
	}()
	return func(datagram []byte) {
		queue <- waiting{time.Now().Add(*delay), append([]byte(nil), datagram...)}
	}
}

// relay forwards between a caller and an address. Only what goes to the address is counted and lost.
func relay(to string) string {
	near, far, peer := socket(), socket(), resolve(to)
	var caller atomic.Value
	random := rand.New(rand.NewSource(*seed))
	go func() {
		buffer := make([]byte, datagramBytes)
		forward := later(func(datagram []byte) { far.WriteTo(datagram, peer) })
		for {
			n, from, err := near.ReadFrom(buffer)
			if err != nil {
				return
			}
			caller.Store(from)
			sentBytes.Add(int64(n))
			if random.Float64() >= *loss {
				forward(buffer[:n])
			}
		}
	}()
	go func() {
		buffer := make([]byte, datagramBytes)
		back := later(func(datagram []byte) { near.WriteTo(datagram, caller.Load().(net.Addr)) })
		for {
			if n, _, err := far.ReadFrom(buffer); err == nil {
				back(buffer[:n])
			}
		}
	}()
	return near.LocalAddr().String()
}

// tune is kcptun's mode fast3, with windows that hold what is on the way.
func tune(session *kcp.UDPSession) io.ReadWriter {
	session.SetNoDelay(1, 10, 2, 1)
	session.SetWindowSize(4096, 4096)
	session.SetACKNoDelay(true)
	session.SetWriteDelay(false)
	session.SetMtu(1350)
	return session
}

// overKCP returns where messages are written, and where they are read.
func overKCP() (io.Writer, func() io.Reader) {
	listener := must(kcp.ServeConn(nil, *data, *parity, socket()))
	session := must(kcp.NewConn(relay(listener.Addr().String()), nil, *data, *parity, socket()))
	return tune(session), func() io.Reader { return tune(must(listener.AcceptKCP())) }
}

func freePort() string {
	socket := must(net.ListenPacket("udp", "127.0.0.1:0"))
	defer socket.Close()
	return socket.LocalAddr().String()
}

// overSpeeder is the same over two UDPspeeders, and what ends them.
func overSpeeder() (io.Writer, func() io.Reader, func()) {
	sink := socket()
	server, client := freePort(), freePort()
	start := func(role, from, to string) *exec.Cmd {
		command := exec.Command(*speeder, role, "-l", from, "-r", to, "-f", *code, "--log-level", "1")
		must(0, command.Start())
		return command
	}
	far := start("-s", server, sink.LocalAddr().String())
	near := start("-c", client, relay(server))
	time.Sleep(300 * time.Millisecond)
	end := func() {
		for _, command := range []*exec.Cmd{near, far} {
			command.Process.Kill()
			command.Wait()
		}
	}
	return must(net.Dial("udp", client)), func() io.Reader { return sink }, end
}

// receive reads until all messages have come, or none for a while, and returns the delay of each.
func receive(from io.Reader, origin time.Time) []time.Duration {
	seen, delays := make(map[uint64]bool), make([]time.Duration, 0, *count)
	message := make([]byte, messageBytes)
	for len(seen) < *warmUp+*count {
		from.(net.Conn).SetReadDeadline(time.Now().Add(patience))
		if _, err := io.ReadFull(from, message); err != nil {
			break
		}
		number, sent := binary.BigEndian.Uint64(message), binary.BigEndian.Uint64(message[8:])
		if seen[number] {
			continue
		}
		seen[number] = true
		if number >= uint64(*warmUp) {
			delays = append(delays, time.Since(origin)-time.Duration(sent))
		}
	}
	return delays
}

func main() {
	flag.Parse()
	to, from, end := io.Writer(nil), (func() io.Reader)(nil), func() {}
	if *speeder == "" {
		to, from = overKCP()
	} else {
		to, from, end = overSpeeder()
	}
	origin := time.Now()
	received := make(chan []time.Duration)
	go func() { received <- receive(from(), origin) }()
	message := make([]byte, messageBytes)
	begun := time.Now()
	for index := range *warmUp + *count {
		if index == *warmUp {
			sentBytes.Store(0)
		}
		time.Sleep(time.Until(begun.Add(time.Duration(index) * every)))
		binary.BigEndian.PutUint64(message, uint64(index))
		binary.BigEndian.PutUint64(message[8:], uint64(time.Since(origin)))
		must(to.Write(message))
	}
	delays := <-received
	end()
	sort.Slice(delays, func(a, b int) bool { return delays[a] < delays[b] })
	inTime := sort.Search(len(delays), func(at int) bool { return delays[at] > deadline })
	p99 := time.Duration(0)
	if len(delays) > 0 {
		p99 = delays[len(delays)*99/100]
	}
	overhead := float64(sentBytes.Load())/float64(messageBytes**count) - 1
	fmt.Printf("%g %v %d %d %d %.4f %.1f\n", *loss, 2**delay, *count, len(delays), *count-inTime, overhead, float64(p99.Microseconds())/1e3)
}
