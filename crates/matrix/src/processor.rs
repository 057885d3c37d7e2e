//! The processors of virtual machines.

/// A processor that the emulator emulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    X86_64,
    Aarch64,
}

impl Processor {
    /// The processor that a release of a kernel is for, by Debian's names.
    pub fn of(release: &str) -> Processor {
        if release.ends_with("arm64") { Processor::Aarch64 } else { Processor::X86_64 }
    }

    /// The machine and its processor, as the emulator calls them.
    pub fn machine(self) -> [&'static str; 4] {
        match self {
            Processor::X86_64 => ["-machine", "q35", "-cpu", "qemu64,+rdrand"],
            Processor::Aarch64 => ["-machine", "virt", "-cpu", "cortex-a53"],
        }
    }

    /// Arguments of the kernel: warnings go to the console, and a panic ends the machine.
    pub fn kernel_arguments(self) -> &'static str {
        match self {
            Processor::X86_64 => {
                "console=ttyS0 loglevel=5 panic=-1 reboot=t random.trust_cpu=on tsc=reliable no_timer_check"
            }
            Processor::Aarch64 => "console=ttyAMA0 loglevel=5 panic=-1",
        }
    }

    /// Arguments of the emulator for the second serial port.
    pub fn second_serial_port(self, backend: &str) -> [String; 2] {
        match self {
            Processor::X86_64 => ["-serial".to_owned(), format!("chardev:{backend}")],
            Processor::Aarch64 => ["-device".to_owned(), format!("pci-serial,chardev={backend}")],
        }
    }

    /// The second serial port inside of a machine with the processor that this program was built for.
    pub const SECOND_SERIAL_PORT: &str =
        if cfg!(target_arch = "aarch64") { "/dev/ttyS0" } else { "/dev/ttyS1" };
}
