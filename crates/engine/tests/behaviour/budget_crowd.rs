//! A budget that a crowd meets at once, while its process dies.

use entourage_testkit::Fault;

use crate::{
    budgets::{WORKERS, answering, crowd, dollars, met},
    kit::within,
};

/// Every how many commits there is a fault: there are hundreds.
const STRIDE: usize = 47;

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
    let faults = [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch].into_iter().cycle();
    for (at, fault) in (1..=commits).step_by(STRIDE).zip(faults) {
        within(&format!("{fault:?} at commit {at}"), met(at, fault)).await;
    }
}
