//! What a rebuilt request says of the one before it in its session, looked at once more: whether it begins with all of
//! that one, and if not, whether the cause that it names is there.

use entourage_engine::{Engine, PrefixBreak, RebuiltRequest};
use entourage_store::RunQuery;
use entourage_types::{EntityKind, Item, ItemBody, Kind, RunId, Scope};

use crate::world::must;

/// The requests of an agent, passed one after another.
#[derive(Default)]
pub(crate) struct Prefix {
    last: Option<RebuiltRequest>,
    has_digest_since: bool,
}

impl Prefix {
    /// Passes the next item of the transcript.
    pub(crate) fn pass(&mut self, item: &Item) {
        if self.last.as_ref().is_some_and(|last| last.item.session != item.session) {
            *self = Self::default();
        }
        self.has_digest_since |= matches!(item.body, ItemBody::Digest(_));
    }

    /// Passes the next request, and returns what it says wrongly of the one before.
    pub(crate) async fn untrue(&mut self, engine: &Engine, request: &RebuiltRequest) -> Option<String> {
        request.number?;
        let has_digest = std::mem::take(&mut self.has_digest_since);
        let Some(last) = self.last.replace(request.clone()) else {
            let before = request.before.as_ref();
            return before.map(|before| format!("it is the first of its session, not behind {before:?}"));
        };
        let Some(before) = &request.before else {
            return Some(format!("it says nothing of the request of item {}", last.item.seq));
        };
        let (old, new) = (&last.request, &request.request);
        let same = old.messages.iter().zip(&new.messages).take_while(|(one, other)| one == other).count();
        let kept = if old.tools == new.tools && old.system == new.system { same } else { 0 };
        let versions = [kind_of(engine, last.run).await, kind_of(engine, request.run).await];
        let is_other_kind = versions[0].0 != versions[1].0;
        let is_broken = kept < old.messages.len() || old.model != new.model || is_other_kind;
        let is_cause = match before.broken {
            None => !is_broken,
            Some(PrefixBreak::Model) => old.model != new.model,
            Some(PrefixBreak::Kind) => is_other_kind,
            Some(PrefixBreak::Tools) => old.tools != new.tools,
            Some(PrefixBreak::Digest) => is_broken && has_digest,
            Some(PrefixBreak::Window) => {
                let reads_latest = versions[1].1.as_ref().is_some_and(|kind| kind.context.messages.is_some());
                is_broken && reads_latest
            }
        };
        let told = (before.run, before.number, before.kept, before.messages);
        let found = (last.run, last.number.unwrap_or_default(), kept, old.messages.len());
        (!is_cause || told != found).then(|| {
            format!("it is not as {before:?} says: {kept} of {} messages are kept", old.messages.len())
        })
    }
}

/// The version of the kind that a run began with, and that kind.
async fn kind_of(engine: &Engine, run: RunId) -> (String, Option<Kind>) {
    let query = RunQuery { id: Some(run), ..RunQuery::default() };
    let run = must(engine.store().runs(&Scope::All, query).await, "the store answers").pop();
    let version = run.map(|run| run.kind_version).unwrap_or_default();
    let stored = engine.store().entity(&Scope::All, EntityKind::KIND, &version).await;
    let stored = must(stored, "the store answers");
    let kind = stored.and_then(|stored| serde_json::from_str(&stored.body).ok());
    (version, kind)
}
