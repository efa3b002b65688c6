//! Checks whether anything in the database is stuck, and repairs it.

use entourage_api::Inconsistency;

use super::{Finding, broken, good, remark};
use crate::cli::{
    backend::{Backend, Result},
    failure::Failure,
};

/// Runs the checks of the maintenance jobs; with `repair`, repairs what they find. A job that fails to check
/// does not stop the others.
pub(super) async fn maintenance(backend: &Backend, repair: bool) -> Vec<Finding> {
    let jobs = match backend.jobs().await {
        Ok(jobs) => jobs,
        // A user who may not check cannot know of anything to repair.
        Err(failure) if failure.is_usage() && !repair => return vec![remark("maintenance", failure.text())],
        Err(failure) => return vec![broken("maintenance", failure.text())],
    };
    let mut findings = Vec::new();
    for job in jobs {
        let job = job.job;
        match looked(backend, &job, repair).await {
            Ok(found) => findings.extend(found),
            Err(failure) => findings.push(broken(job, failure.text())),
        }
    }
    if findings.is_empty() {
        findings.push(good("maintenance", "nothing is stuck"));
    }
    findings
}

async fn looked(backend: &Backend, job: &str, repair: bool) -> Result<Vec<Finding>> {
    let found = backend.inconsistencies(job).await?;
    if !repair || found.is_empty() {
        let unrepaired = |Inconsistency { text, .. }| {
            broken(job, format!("{text}. Not repaired yet: `entourage doctor --repair` repairs it"))
        };
        return Ok(found.into_iter().map(unrepaired).collect());
    }
    if let Some(error) = backend.run_job(job).await?.error {
        return Err(Failure::failed(error));
    }
    // A second check shows whether it is repaired.
    let left = backend.inconsistencies(job).await?;
    let gone = found.iter().filter(|inconsistency| !left.contains(inconsistency));
    let gone = gone.map(|inconsistency| good(job, format!("repaired: {}", inconsistency.text)));
    let still = left.iter().map(|inconsistency| broken(job, format!("not repaired: {}", inconsistency.text)));
    Ok(gone.chain(still).collect())
}
