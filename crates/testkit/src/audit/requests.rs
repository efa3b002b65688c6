//! Requests: what they are rebuilt from is stored, and what the model reads beside the conversation is appended once.

use std::collections::{BTreeMap, BTreeSet};

use entourage_store::Write;
use entourage_types::{Item, ItemBody};

use super::{Found, Invariant::Requests, Snapshot};
use crate::Fact;

pub(super) fn check(whole: &Snapshot, found: &mut Found) {
    for agent in &whole.agents {
        let mut sessions = BTreeSet::new();
        for item in whole.items(agent.id) {
            let ItemBody::Turn(turn) = &item.body else { continue };
            let Some(asked) = &turn.asked else { continue };
            found.must(asked.at <= item.at, Requests, agent.id, || {
                format!("item {} was asked for at {}, after it was written", item.seq, asked.at)
            });
            let is_first = sessions.insert(item.session);
            found.must(asked.tools.is_some() || !is_first, Requests, agent.id, || {
                format!("item {} is the first turn of its session and names no list of tools", item.seq)
            });
            if let Some(tools) = asked.tools {
                found.must(whole.tool_lists.contains(&tools.to_string()), Requests, agent.id, || {
                    format!("the list of tools {tools} of item {} is not stored", item.seq)
                });
            }
        }
        let forgets = |item: &Item| reads_latest(whole, item);
        if let Some(again) = repeated(whole.items(agent.id), forgets) {
            found.add(Requests, agent.id, again);
        }
    }
}

/// Whether the model may read the latest messages only, so that each one may hide what stood before.
fn reads_latest(whole: &Snapshot, item: &Item) -> bool {
    let run = whole.runs.iter().find(|run| run.id == item.run);
    let kind = run.and_then(|run| whole.kinds.get(&run.kind_version));
    kind.is_none_or(|kind| kind.context.messages.is_some())
}

/// What the model is to know beside messages comes before them: the last words that it reads are theirs.
pub(super) fn facts(facts: &[Fact], found: &mut Found) {
    for fact in facts {
        let Fact::Committed(commit) = fact else { continue };
        let mut last: Option<&ItemBody> = None;
        for write in &commit.writes {
            let Write::Item(item) = write else { continue };
            let is_late = matches!((last, &item.body), (Some(ItemBody::Message(_)), ItemBody::Context(_)));
            found.must(!is_late, Requests, item.agent, || {
                format!("item {} is a context behind the message with which it was written", item.seq)
            });
            last = Some(&item.body);
        }
    }
}

/// What a context repeats although the model still sees it.
fn repeated(items: &[Item], forgets: impl Fn(&Item) -> bool) -> Option<String> {
    let mut seen = BTreeMap::new();
    for item in items {
        match &item.body {
            // What stood before may be out of the model's sight.
            ItemBody::Digest(_) => seen.clear(),
            ItemBody::Message(_) if forgets(item) => seen.clear(),
            ItemBody::Context(context) => {
                for entry in &context.entries {
                    let before = seen.insert((entry.section.as_str(), entry.about.clone()), &entry.text);
                    if before == Some(&entry.text) {
                        return Some(format!(
                            "item {} repeats what the model sees: {}",
                            item.seq, entry.text
                        ));
                    }
                }
                if context.entries.is_empty() {
                    return Some(format!("item {} tells nothing", item.seq));
                }
            }
            _ => {}
        }
    }
    None
}
