//! The state of code that waits, kept so that it need not run again from its top.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use entourage_store::{Error as StoreError, Write};
use entourage_types::{CallId, CodeSnapshot, EntityKind, Step, StepKey, Time, Wait};

use crate::run::Run;

impl Run<'_> {
    /// Returns the write that keeps the state of a call's code.
    pub(in crate::run) fn snapshot_of(
        &self,
        call: CallId,
        state: &[u8],
        at: Time,
    ) -> Result<Write, StoreError> {
        Ok(Write::record(&CodeSnapshot {
            call,
            owner: self.agent.owner.clone(),
            root: self.agent.root,
            agent: self.agent.id,
            state: BASE64_STANDARD.encode(state),
            updated: at,
        })?)
    }

    /// Returns the state of a call's code, if it is kept. One that cannot be read is none: the code runs again.
    pub(in crate::run) async fn snapshot(&self, call: CallId) -> Result<Option<Vec<u8>>, StoreError> {
        if !self.has_snapshot(call) {
            return Ok(None);
        }
        let found = self.engine.store().record::<CodeSnapshot>(&self.scope(), call).await?;
        Ok(found.and_then(|kept| BASE64_STANDARD.decode(kept.state).ok()))
    }

    /// Returns the write that drops the state of a call's code, if it is kept.
    pub(in crate::run) fn without_snapshot(&self, call: CallId) -> Option<Write> {
        let has = self.has_snapshot(call);
        has.then(|| Write::PruneEntity(EntityKind::CODE_SNAPSHOT, call.to_string()))
    }

    fn has_snapshot(&self, call: CallId) -> bool {
        let wait = self.steps.get(&StepKey::Tool(call)).and_then(Step::wait);
        matches!(wait, Some(Wait::SubCalls { snapshot: true, .. }))
    }
}
