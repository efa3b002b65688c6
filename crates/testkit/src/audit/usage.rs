//! Usage: that of a run is the sum over its turns, decisions and digests.

use entourage_types::{Cost, ItemBody, ModelUse, Usage};

use super::{Found, Invariant, Snapshot};

pub(super) fn check(whole: &Snapshot, found: &mut Found) {
    for run in &whole.runs {
        let used: Vec<&ModelUse> = whole
            .items(run.agent)
            .iter()
            .filter(|item| item.run == run.id)
            .filter_map(|item| match &item.body {
                ItemBody::Turn(turn) => turn.used.as_ref(),
                ItemBody::Digest(digest) => digest.used.as_ref(),
                ItemBody::Decision(decision) => decision.used.as_ref(),
                _ => None,
            })
            .collect();
        let mut cost = Cost::default();
        used.iter().filter_map(|used| used.cost).for_each(|one| cost += one);
        let usage: Usage = used.iter().map(|used| used.usage).sum();
        let counted = (used.len() as u64, usage, cost);
        let kept = (u64::from(run.model_calls), run.usage, run.cost);
        found.must(counted == kept, Invariant::Usage, run.agent, || {
            format!("{} has the usage {kept:?}; its items add up to {counted:?}", run.id)
        });
    }
}
