//! One writer: epochs only rise, and each commit is made by the last one to claim its agent.

use std::collections::BTreeMap;

use super::{Found, Invariant::OneWriter};
use crate::Fact;

pub(super) fn check(facts: &[Fact], found: &mut Found) {
    let mut held = BTreeMap::new();
    for fact in facts {
        match fact {
            Fact::Claimed { agent, epoch } => {
                let before = held.insert(*agent, *epoch);
                let rises = before.is_none_or(|before| before.number < epoch.number);
                found.must(rises, OneWriter, *agent, || {
                    format!("a claim returned {epoch:?} after {before:?}; epochs must rise")
                });
            }
            Fact::Committed(commit) => {
                let Some(fence) = commit.fence else { continue };
                let held = held.get(&fence.agent).copied();
                found.must(held == Some(fence.epoch), OneWriter, fence.agent, || {
                    format!("a commit under {:?} was accepted; the last claim returned {held:?}", fence.epoch)
                });
            }
            _ => {}
        }
    }
}
