//! Which system calls CPython may not make: those that start something, that reach beyond its own process, that use
//! memory which no limit counts, and those of the kernel that no code here needs.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is,
    SeccompCondition as Condition, SeccompFilter, SeccompRule as Rule, TargetArch,
};

const REFUSED: &[i64] = &[
    // Processes and threads: no limit of their number holds for root.
    libc::SYS_clone,
    libc::SYS_clone3,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    // The network: there is none in its namespace, and none to be made.
    libc::SYS_socket,
    // Memory beside what a process's limit counts.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    // Pages that a pipe keeps count for no process.
    libc::SYS_vmsplice,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kcmp,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // Parts of the kernel that escapes were found in.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    libc::SYS_inotify_init1,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
    // Of these the whole machine has a number.
    libc::SYS_io_setup,
    libc::SYS_personality,
    // The machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
];

/// By this much the numbers of a second set of the same calls differ that some kernels have.
#[cfg(target_arch = "x86_64")]
const SECOND_SET: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND_SET: Option<i64> = None;

/// The filter, as bubblewrap reads it.
pub(super) fn filter() -> Result<Vec<u8>, BackendError> {
    let mut rules: BTreeMap<i64, Vec<Rule>> = BTreeMap::new();
    // Memory that is shared is not counted as its own, and there is no one to share it with.
    let shared = (libc::MAP_SHARED | libc::MAP_ANONYMOUS) as u64;
    let shared = Condition::new(3, Length::Dword, Is::MaskedEq(shared), shared)?;
    let shared = Rule::new(vec![shared])?;
    // Memory that grows like a stack counts as one.
    let grows = libc::MAP_GROWSDOWN as u64;
    let grows = Condition::new(3, Length::Dword, Is::MaskedEq(grows), grows)?;
    let grows = Rule::new(vec![grows])?;
    for set in [Some(0), SECOND_SET].into_iter().flatten() {
        rules.extend(REFUSED.iter().map(|call| (set + call, Vec::new())));
        rules.insert(set + libc::SYS_mmap, vec![shared.clone(), grows.clone()]);
    }
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let program: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()?;
    let mut bytes = Vec::with_capacity(program.len() * 8);
    for step in program {
        bytes.extend(step.code.to_ne_bytes());
        bytes.extend([step.jt, step.jf]);
        bytes.extend(step.k.to_ne_bytes());
    }
    Ok(bytes)
}
