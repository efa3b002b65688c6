//! What a round of health did.

use entourage_api::{HealthReport, HealthRound};
use entourage_engine as engine;

pub(crate) fn health_round(round: engine::HealthRound) -> HealthRound {
    let engine::HealthRound { is_dry, reports } = round;
    let report = |engine::HealthReport { agent, what, why }| HealthReport { agent, what, why };
    HealthRound { dry_run: is_dry, reports: reports.into_iter().map(report).collect() }
}
