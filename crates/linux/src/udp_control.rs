//! Control messages of UDP sockets: where a train is cut, and the mark for congestion in the header of IP (ECN, RFC 3168).

use std::mem::zeroed;

/// Memory for the control messages of one call, aligned as they are: two numbers with their heads.
pub(crate) type ControlMessages = [u64; 8];

/// The two bits of the traffic class: the sender of a packet reacts to marks (`ECT(0)`), and a queue has marked it (`CE`).
const ECN_CAPABLE: libc::c_int = 0b10;
const ECN_MASK: u8 = 0b11;

/// What the kernel is told of datagrams that are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sending {
    /// The length of the datagrams in a train.
    pub(crate) segment_bytes: Option<u16>,
    /// Whether queues may mark them; `Some(true)` for packets of IPv6.
    pub(crate) is_markable: Option<bool>,
}

/// What the kernel says of datagrams that have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The length of the datagrams in a train; `None` if the message is one datagram.
    pub(crate) segment_bytes: Option<usize>,
    /// Whether a queue has marked them. The kernel joins no datagrams that differ in this.
    pub(crate) is_marked: bool,
}

impl Sending {
    /// Adds control messages to a message that is sent.
    pub(crate) fn write(self, message: &mut libc::msghdr, memory: &mut ControlMessages) {
        let mut length = 0;
        if let Some(bytes) = self.segment_bytes {
            length = append(memory, length, libc::SOL_UDP, libc::UDP_SEGMENT, bytes);
        }
        if let Some(is_ipv6) = self.is_markable {
            let (level, kind) = match is_ipv6 {
                true => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
                false => (libc::IPPROTO_IP, libc::IP_TOS),
            };
            length = append(memory, length, level, kind, ECN_CAPABLE);
        }
        if length > 0 {
            message.msg_control = memory.as_mut_ptr().cast();
            message.msg_controllen = length as _;
        }
    }
}

/// Adds a control message behind the first `length` bytes. Returns how many there are now.
fn append<T>(memory: &mut ControlMessages, length: usize, level: i32, kind: i32, value: T) -> usize {
    // SAFETY: the macros compute lengths. All-zero is a valid `cmsghdr`.
    let (space, bytes, mut head) = unsafe {
        let size = size_of::<T>() as u32;
        (libc::CMSG_SPACE(size) as usize, libc::CMSG_LEN(size), zeroed::<libc::cmsghdr>())
    };
    assert!(length + space <= size_of::<ControlMessages>(), "there is room for two numbers");
    (head.cmsg_level, head.cmsg_type, head.cmsg_len) = (level, kind, bytes as _);
    // SAFETY: the assertion has shown that the head and the value lie in the memory, which is aligned for a head, as the
    // lengths of control messages are.
    unsafe {
        let control = memory.as_mut_ptr().cast::<u8>().add(length).cast::<libc::cmsghdr>();
        control.write(head);
        libc::CMSG_DATA(control).cast::<T>().write_unaligned(value);
    }
    length + space
}

impl Arrival {
    /// Reads the control messages of a message that has arrived.
    pub(crate) fn read(message: &libc::msghdr) -> Arrival {
        let mut arrival = Arrival::default();
        // SAFETY: the kernel has written control messages, and their length, to the memory that the message names. Those that
        // it did not write in full are shorter than they say, which the macros see.
        let mut control = unsafe { libc::CMSG_FIRSTHDR(message) };
        while !control.is_null() {
            // SAFETY: as above. A traffic class of IPv4 is one byte, the other values are of type `int`.
            unsafe {
                let data = libc::CMSG_DATA(control);
                match ((*control).cmsg_level, (*control).cmsg_type) {
                    (libc::SOL_UDP, libc::UDP_GRO) => {
                        let bytes = data.cast::<libc::c_int>().read_unaligned();
                        arrival.segment_bytes = usize::try_from(bytes).ok().filter(|&bytes| bytes > 0);
                    }
                    (libc::IPPROTO_IP, libc::IP_TOS) => arrival.is_marked = is_marked(*data),
                    (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                        arrival.is_marked = is_marked(data.cast::<libc::c_int>().read_unaligned() as u8);
                    }
                    _ => {}
                }
                control = libc::CMSG_NXTHDR(message, control);
            }
        }
        arrival
    }
}

fn is_marked(traffic_class: u8) -> bool {
    traffic_class & ECN_MASK == ECN_MASK
}
