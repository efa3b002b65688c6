//! Decisions: a step of a program is done once, by one item, and what was wanted is stored with the first answer.

use std::collections::{BTreeMap, BTreeSet};

use entourage_types::{
    Checkpoint, Decision, DecisionOutcome, Item, ItemBody, Run, RunId, Step, StepKey, StepState,
};

use super::{
    Found,
    Invariant::{Requests, Transcript},
    Snapshot,
};

pub(super) fn check(whole: &Snapshot, found: &mut Found) {
    for agent in &whole.agents {
        let mut decided: BTreeMap<(RunId, &str), u64> = BTreeMap::new();
        let mut wanted: BTreeSet<(RunId, &str)> = BTreeSet::new();
        for item in whole.items(agent.id) {
            let Some(decision) = decision_in(item) else { continue };
            let of = (item.run, decision.name.as_str());
            if let Some(why) = not_a_step(item, decision) {
                found.add(Transcript, agent.id, format!("item {} {why}", item.seq));
            }
            let before = decided.get(&of).copied();
            found.must(before.is_none(), Transcript, agent.id, || {
                format!(
                    "item {} belongs to the decision `{}`, which item {} ended",
                    item.seq,
                    decision.name,
                    before.unwrap_or_default()
                )
            });
            if !is_refused(decision) {
                decided.insert(of, item.seq);
            }
            found.must(decision.asked.is_some() == decision.used.is_some(), Requests, agent.id, || {
                format!("item {} does not say how its model was asked and what that used", item.seq)
            });
            if let Some(asked) = &decision.asked {
                found.must(asked.at <= item.at, Requests, agent.id, || {
                    format!("item {} was asked for at {}, after it was written", item.seq, asked.at)
                });
                wanted.extend(decision.prompt.is_some().then_some(of));
                found.must(wanted.contains(&of), Requests, agent.id, || {
                    format!("item {} is an answer, and what was wanted is not stored", item.seq)
                });
            }
        }
    }
    for run in &whole.runs {
        steps(whole, run, found);
    }
}

fn decision_in(item: &Item) -> Option<&Decision> {
    match &item.body {
        ItemBody::Decision(decision) => Some(decision),
        _ => None,
    }
}

const fn is_refused(decision: &Decision) -> bool {
    matches!(decision.outcome, DecisionOutcome::Refused { .. })
}

/// Says what is wrong with the step of a decision's item: the one that ends a decision has its step, an answer that did
/// not fit has none.
fn not_a_step(item: &Item, decision: &Decision) -> Option<String> {
    let own = StepKey::Decision(decision.name.clone());
    match &item.step {
        None if is_refused(decision) => None,
        Some(key) if !is_refused(decision) && *key == own => None,
        key => {
            let key = key.as_ref().map_or_else(|| "no step".to_owned(), |key| format!("the step {key}"));
            Some(format!("is of the decision `{}` and has {key}", decision.name))
        }
    }
}

/// A decision's row that is done points to the item that ended the decision.
fn steps(whole: &Snapshot, run: &Run, found: &mut Found) {
    let is_decision = |step: &&Step| matches!(step.key, StepKey::Decision(_));
    for step in whole.steps(run.id).iter().filter(is_decision) {
        let items = whole.items(run.agent);
        let ends = |item: &&Item| item.run == run.id && item.step.as_ref() == Some(&step.key);
        let item = items.iter().find(ends).map(|item| item.seq);
        let fits = match &step.state {
            StepState::Done(Some(Checkpoint::Item(seq))) => item == Some(*seq),
            StepState::Done(_) => false,
            _ => item.is_none(),
        };
        found.must(fits, Transcript, run.agent, || {
            format!("the step {} of {} is {:?}; its item: {item:?}", step.key, run.id, step.state)
        });
    }
}
