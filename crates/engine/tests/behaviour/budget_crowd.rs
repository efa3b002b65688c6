//! A budget that a crowd meets at once, while its process dies.

use entourage_testkit::{Fault, crash_stride};

use crate::{
    budgets::{WORKERS, answering, crowd, dollars, met},
    kit::within,
};

/// Of how many faults one is tried: there are hundreds of commits, each with five of them.
const STRIDE: usize = 211;

/// Nothing is spent beyond a budget that 64 workers meet at once, each answer counts once, and a grant lets all of them
/// go on, whatever dies at one of the commits.
///
/// Shows: INV-08.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_that_a_crowd_meets_at_once_holds_whatever_dies() {
    // Room for 20 answers and one call's worst case.
    let allowed = "$0.0072";
    let met = async |at, fault| met(crowd(answering(), allowed), dollars(allowed), WORKERS, at, fault).await;
    let commits = met(u64::MAX, Fault::DieBefore).await;
    assert!(commits >= 300, "{commits}");
    let faults = (1..=commits).flat_map(|at| Fault::ENDING.map(|fault| (at, fault)));
    for (at, fault) in faults.step_by(crash_stride(STRIDE)) {
        within(&format!("{fault:?} at commit {at}"), met(at, fault)).await;
    }
}
