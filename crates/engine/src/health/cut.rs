//! Activations that were at work for too long: the watchdog has ended them, and the next round says so (S4-R123).

use entourage_types::HealthAct;

use super::{Finding, HealthReport, Remedy, said};
use crate::Engine;

pub(super) fn find(engine: &Engine) -> Vec<Finding> {
    let longest = said(engine.health().at_work);
    let report = |(agent, at)| {
        let why = format!("it was at work for {longest} without a pause until {at}: its run was ended then");
        Finding { report: HealthReport { agent, what: HealthAct::Cut, why }, remedy: Remedy::None }
    };
    engine.inner.health.cuts().into_iter().map(report).collect()
}
