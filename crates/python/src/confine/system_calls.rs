//! Which system calls a worker may make: those for memory, time, waiting, and its pipes.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is, SeccompCondition as Condition,
    SeccompFilter, SeccompRule as Rule, TargetArch,
};

/// Calls that are allowed whatever their arguments are.
const ALLOWED: [i64; 29] = [
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    // Of files that are open: the one that tells the size of the process.
    libc::SYS_pread64,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
];

/// Refuses all other system calls from now on, in all threads.
pub(super) fn allow_few() -> Result<(), seccompiler::Error> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut rules: BTreeMap<i64, Vec<Rule>> = ALLOWED.into_iter().map(|call| (call, Vec::new())).collect();
    // From its standard input, to its standard output and error: nothing that was inherited beside these is of use.
    rules.insert(libc::SYS_read, vec![only(&[(0, Is::Eq, 0)])?]);
    rules.insert(libc::SYS_write, vec![only(&[(0, Is::Eq, 1)])?, only(&[(0, Is::Eq, 2)])?]);
    // Memory that is neither a file nor code.
    let (exec, anonymous) = (libc::PROT_EXEC as u64, libc::MAP_ANONYMOUS as u64);
    rules.insert(
        libc::SYS_mmap,
        vec![only(&[(2, Is::MaskedEq(exec), 0), (3, Is::MaskedEq(anonymous), anonymous)])?],
    );
    rules.insert(libc::SYS_mprotect, vec![only(&[(2, Is::MaskedEq(exec), 0)])?]);
    // Limits of this process, and signals to it, as when it aborts.
    rules.insert(libc::SYS_prlimit64, vec![only(&[(0, Is::Eq, 0)])?]);
    let own = u64::from(std::process::id());
    rules.insert(libc::SYS_tgkill, vec![only(&[(0, Is::Eq, own)])?]);
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter: BpfProgram = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch)?.try_into()?;
    seccompiler::apply_filter_all_threads(&filter)
}

/// A rule for calls whose arguments are as these say: the place of one, and how it compares with a number.
fn only(arguments: &[(u8, Is, u64)]) -> Result<Rule, seccompiler::BackendError> {
    let conditions =
        arguments.iter().map(|(place, is, value)| Condition::new(*place, Length::Dword, is.clone(), *value));
    Rule::new(conditions.collect::<Result<_, _>>()?)
}
