//! Confinement by Linux: Landlock, seccomp, resource limits.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetStatus, Scope};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::{Confinement, Measure, SLACK_BYTES, system_calls};
use crate::script::Limits;

/// Seconds of processor time that a run may take beyond its limit, before the system ends the process.
const SLACK_SECONDS: u64 = 2;

/// This process's size, of which a file tells that stays open when no other can be opened.
pub(crate) struct Process(Option<File>);

impl Process {
    pub(crate) fn open() -> Self {
        Self(File::open("/proc/self/statm").ok())
    }

    /// Applies what can be applied before threads are started; [`Self::finish`] applies the rest.
    pub(crate) fn begin() -> (Self, Confinement) {
        let process = Self::open();
        let memory = match process.sizes() {
            Some(_) => Measure::Full,
            None => Measure::Lacking("/proc/self/statm cannot be read".to_owned()),
        };
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        let few = Rlimit { current: Some(8), maximum: Some(8) };
        let limits = [(Resource::Core, none), (Resource::Fsize, none), (Resource::Nofile, few)];
        let applied = limits.into_iter().try_for_each(|(resource, limit)| setrlimit(resource, limit));
        let confinement = Confinement {
            landlock: landlock(),
            seccomp: Measure::Lacking("not yet".to_owned()),
            limits: Measure::of(applied),
            memory,
        };
        (process, confinement)
    }

    /// Applies what must come last, to all threads of the process: none can be started after it.
    pub(crate) fn finish(confinement: &mut Confinement) {
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        if let Err(error) = setrlimit(Resource::Nproc, none) {
            confinement.limits = Measure::Lacking(error.to_string());
        }
        confinement.seccomp = Measure::of(system_calls::allow_few());
    }

    /// Bytes of memory in use.
    pub(crate) fn resident(&self) -> Option<u64> {
        self.sizes().map(|[resident, _]| resident)
    }

    /// Bytes in use, and bytes of data and stacks that are reserved.
    fn sizes(&self) -> Option<[u64; 2]> {
        let mut bytes = [0; 256];
        let length = self.0.as_ref()?.read_at(&mut bytes, 0).ok()?;
        let text = std::str::from_utf8(&bytes[..length]).ok()?;
        let mut pages = text.split_ascii_whitespace().map(str::parse::<u64>);
        let resident = pages.nth(1)?.ok()?;
        let data = pages.nth(3)?.ok()?;
        let page = rustix::param::page_size() as u64;
        Some([resident * page, data * page])
    }
}

/// Limits memory to what is in use already, and so many bytes more.
pub(crate) fn limit_memory(process: &Process, more: u64) -> io::Result<()> {
    match process.sizes() {
        Some([_, data]) => soft(Resource::Data, data.saturating_add(more)),
        None => Ok(()),
    }
}

/// Limits memory and processor time for the run that follows: what is in use already, and what the code may use.
pub(crate) fn limit_run(process: &Process, limits: &Limits) -> io::Result<()> {
    limit_memory(process, limits.memory_bytes.saturating_add(SLACK_BYTES))?;
    let used = u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or(0);
    soft(Resource::Cpu, used + limits.cpu.as_secs() + SLACK_SECONDS)
}

/// Sets a limit that a later run may set otherwise.
fn soft(resource: Resource, limit: u64) -> io::Result<()> {
    let maximum = rustix::process::getrlimit(resource).maximum;
    // Some systems allow less than that.
    let current = Some(maximum.map_or(limit, |maximum| limit.min(maximum)));
    let limit = Rlimit { current, maximum };
    Ok(setrlimit(resource, limit)?)
}

fn landlock() -> Measure {
    let applied = || {
        Ruleset::default()
            .handle_access(AccessFs::from_all(ABI::V6))?
            .handle_access(AccessNet::from_all(ABI::V6))?
            .scope(Scope::from_all(ABI::V6))?
            .create()?
            .restrict_self()
    };
    match applied() {
        Ok(status) => match status.ruleset {
            RulesetStatus::FullyEnforced => Measure::Full,
            RulesetStatus::PartiallyEnforced => Measure::Lacking("this kernel has a part of it".to_owned()),
            RulesetStatus::NotEnforced => Measure::Lacking("this kernel does not have it".to_owned()),
        },
        Err(error) => Measure::Lacking(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use landlock::{CompatLevel, Compatible};

    use super::*;

    /// Whether the kernel has all of it, asked in a way that does not put up with less.
    fn kernel_has_landlock() -> bool {
        let whole = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V6))
            .and_then(|rules| rules.handle_access(AccessNet::from_all(ABI::V6)))
            .and_then(|rules| rules.scope(Scope::from_all(ABI::V6)));
        whole.and_then(Ruleset::create).is_ok()
    }

    /// It holds for the thread that asks for it, so here it is alone: in a worker, the filter of system calls refuses the
    /// same before.
    #[test]
    fn landlock_alone_keeps_files_and_network_away() {
        let tried = || {
            let applied = landlock();
            let file = File::open("/etc/passwd").map(drop);
            let host = TcpStream::connect(("127.0.0.1", 9)).map(drop);
            (applied, [file, host].map(|tried| tried.err().and_then(|error| error.raw_os_error())))
        };
        let (applied, refused) = std::thread::spawn(tried).join().unwrap();
        if !kernel_has_landlock() {
            println!("not run: this kernel does not have all of Landlock");
            assert_ne!(applied, Measure::Full);
            return;
        }
        assert_eq!(applied, Measure::Full);
        assert_eq!(refused, [Some(libc::EACCES); 2]);
        assert!(File::open("/etc/passwd").is_ok(), "elsewhere it does not hold");
    }
}
