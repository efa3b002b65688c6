//! Whether anything in the database is stuck, and mending it.

use entourage_engine::FoundDamage;

use super::{Finding, broken, good};
use crate::cli::backend::{Backend, Result};

/// What the jobs of the upkeep find; with `repair`, what became of it.
pub(super) async fn upkeep(backend: &dyn Backend, repair: bool) -> Vec<Finding> {
    let looked = async {
        let found = backend.damages().await?;
        if repair && !found.is_empty() { mended(backend, found).await } else { Ok(unmended(found)) }
    };
    match looked.await {
        Ok(findings) if findings.is_empty() => vec![good("upkeep", "nothing is stuck")],
        Ok(findings) => findings,
        Err(failure) => vec![broken("upkeep", failure.text())],
    }
}

fn unmended(found: Vec<FoundDamage>) -> Vec<Finding> {
    let told = |damage: FoundDamage| {
        broken(damage.job, format!("{}. Not done yet: `entourage doctor --repair` mends it", damage.text))
    };
    found.into_iter().map(told).collect()
}

/// A round of each job that found something, and another look.
async fn mended(backend: &dyn Backend, found: Vec<FoundDamage>) -> Result<Vec<Finding>> {
    let mut jobs: Vec<&str> = found.iter().map(|damage| damage.job.as_str()).collect();
    jobs.dedup();
    for job in jobs {
        backend.run_job(job).await?;
    }
    let left = backend.damages().await?;
    let gone = found.into_iter().filter(|damage| !left.contains(damage));
    let gone: Vec<Finding> =
        gone.map(|damage| good(damage.job, format!("mended: {}", damage.text))).collect();
    let still = left.iter().map(|damage| {
        broken(damage.job.as_str(), format!("not mended: {}. `entourage jobs` may say why", damage.text))
    });
    Ok(gone.into_iter().chain(still).collect())
}
