//! What the rows say when a simulation has ended.

use std::hash::{DefaultHasher, Hash, Hasher};

use entourage_store::{ItemQuery, Page, RunQuery};
use entourage_types::{EntityKind, ItemBody, Scope};

use super::{agents, life::Stage, roots, stuck};
use entourage_testkit::Violation;

/// Runs that cannot continue because the version of the kind they began with is not stored.
pub(super) async fn lost_versions(stage: &Stage) -> Vec<Violation> {
    let page = Page { limit: u32::MAX, ..Page::default() };
    let query = RunQuery { page, ..RunQuery::default() };
    let runs = stage.store.runs(&Scope::All, query).await.unwrap_or_default();
    let mut lost = Vec::new();
    for run in runs {
        let kept = stage.store.entity(&Scope::All, EntityKind::KIND, &run.kind_version).await;
        if !matches!(kept, Ok(Some(_))) {
            let what = format!("version `{}` of run {} is not kept", run.kind_version, run.id);
            lost.push(Violation { agent: Some(run.agent), ..stuck(what) });
        }
    }
    lost
}

/// How many calls code has made.
pub(super) async fn sub_calls(stage: &Stage) -> usize {
    let mut count = 0;
    for agent in agents(stage).await {
        let query = ItemQuery::of(agent.id, 0, u32::MAX);
        let items = stage.store.items(&Scope::All, query).await.unwrap_or_default();
        let made = items.iter().map(|item| match &item.body {
            ItemBody::SubCalls(made) => made.calls.len(),
            _ => 0,
        });
        count += made.sum::<usize>();
    }
    count
}

/// A hash of all events of all trees.
pub(super) async fn digest(stage: &Stage) -> u64 {
    let mut hasher = DefaultHasher::new();
    for root in roots(stage).await {
        let events = stage.store.events(&Scope::All, root.id, 0, u32::MAX).await.unwrap_or_default();
        format!("{events:?}").hash(&mut hasher);
    }
    hasher.finish()
}
