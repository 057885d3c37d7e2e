// A device made of the OpenConfig project's own cache and subscription server: it answers subscriptions by path, target and
// wildcard, and sends what changes. It counts a million frames a second at Ethernet1, ten of them corrupted, and takes
// Ethernet2 away after three seconds.
package main

import (
	"fmt"
	"net"
	"os"
	"time"

	"github.com/openconfig/gnmi/cache"
	pb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/subscribe"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

func path(names ...string) []*pb.PathElem {
	var elems []*pb.PathElem
	for _, name := range names {
		elem := &pb.PathElem{Name: name}
		if name == "Ethernet1" || name == "Ethernet2" {
			elem = &pb.PathElem{Name: "interface", Key: map[string]string{"name": name}}
		}
		elems = append(elems, elem)
	}
	return elems
}

func main() {
	devices := cache.New([]string{"leaf1"})
	server, err := subscribe.NewServer(devices)
	check(err)
	devices.SetClient(server.Update)
	say := func(update *pb.Notification) {
		update.Timestamp = time.Now().UnixNano()
		update.Prefix = &pb.Path{Target: "leaf1", Origin: "openconfig"}
		check(devices.GnmiUpdate(update))
	}
	set := func(value *pb.TypedValue, names ...string) {
		say(&pb.Notification{Update: []*pb.Update{{Path: &pb.Path{Elem: path(names...)}, Val: value}}})
	}
	count := func(count uint64, names ...string) {
		set(&pb.TypedValue{Value: &pb.TypedValue_UintVal{UintVal: count}}, names...)
	}
	sample := func(port string, number uint64) {
		count(number*1000000, "interfaces", port, "state", "counters", "in-unicast-pkts")
		count(0, "interfaces", port, "state", "counters", "in-multicast-pkts")
		count(0, "interfaces", port, "state", "counters", "in-broadcast-pkts")
		count(number*10, "interfaces", port, "state", "counters", "in-fcs-errors")
		count(number, "interfaces", port, "ethernet", "state", "counters", "fec-uncorrectable-blocks")
	}
	for _, port := range []string{"Ethernet1", "Ethernet2"} {
		set(&pb.TypedValue{Value: &pb.TypedValue_StringVal{StringVal: "UP"}}, "interfaces", port, "state", "oper-status")
		speed := &pb.TypedValue_JsonIetfVal{JsonIetfVal: []byte("\"openconfig-if-ethernet:SPEED_100GB\"")}
		set(&pb.TypedValue{Value: speed}, "interfaces", port, "ethernet", "state", "port-speed")
		sample(port, 1)
	}
	devices.GetTarget("leaf1").Sync()

	tls, err := credentials.NewServerTLSFromFile("cert.pem", "key.pem")
	check(err)
	listener, err := net.Listen("tcp", os.Args[1])
	check(err)
	service := grpc.NewServer(grpc.Creds(tls))
	pb.RegisterGNMIServer(service, server)
	go service.Serve(listener)

	for number := uint64(2); ; number++ {
		time.Sleep(time.Second)
		sample("Ethernet1", number)
		if number == 4 {
			say(&pb.Notification{Delete: []*pb.Path{{Elem: path("interfaces", "Ethernet2")}}})
		}
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
