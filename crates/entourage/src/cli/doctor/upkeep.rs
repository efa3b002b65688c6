//! Whether anything in the database is stuck, and mending it.

use entourage_engine::FoundDamage;

use super::{Finding, broken, good, remark};
use crate::cli::{
    backend::{Backend, Result},
    failure::Failure,
};

/// What the jobs of the upkeep find; with `repair`, what became of it. A job that cannot look keeps no
/// other from it.
pub(super) async fn upkeep(backend: &dyn Backend, repair: bool) -> Vec<Finding> {
    let jobs = match backend.jobs().await {
        Ok(jobs) => jobs,
        // Whoever may not look knows nothing of what is there to be mended.
        Err(failure) if failure.is_usage() && !repair => return vec![remark("upkeep", failure.text())],
        Err(failure) => return vec![broken("upkeep", failure.text())],
    };
    let mut findings = Vec::new();
    for job in jobs {
        let job = job.round.job;
        match looked(backend, &job, repair).await {
            Ok(found) => findings.extend(found),
            Err(failure) => findings.push(broken(job, failure.text())),
        }
    }
    if findings.is_empty() {
        findings.push(good("upkeep", "nothing is stuck"));
    }
    findings
}

async fn looked(backend: &dyn Backend, job: &str, repair: bool) -> Result<Vec<Finding>> {
    let found = backend.damages(job).await?;
    if !repair || found.is_empty() {
        let told = |FoundDamage { text, .. }| {
            broken(job, format!("{text}. Not done yet: `entourage doctor --repair` mends it"))
        };
        return Ok(found.into_iter().map(told).collect());
    }
    if let Some(error) = backend.run_job(job).await?.round.error {
        return Err(Failure::failed(error));
    }
    // Whether it is mended, another look tells.
    let left = backend.damages(job).await?;
    let gone = found.iter().filter(|damage| !left.contains(damage));
    let gone = gone.map(|damage| good(job, format!("mended: {}", damage.text)));
    let still = left.iter().map(|damage| broken(job, format!("not mended: {}", damage.text)));
    Ok(gone.chain(still).collect())
}
