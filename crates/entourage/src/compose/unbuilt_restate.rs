//! What a build without the feature `restate` has in place of Restate.

use std::sync::Arc;

use entourage_engine::dispatch::Dispatcher;
use entourage_store::Store;
use entourage_types::{DatabaseId, DispatchBy};

use super::cluster::Cluster;
use crate::{Error, Result, Settings, settings};

/// There is none.
pub(crate) enum ByRestate {}

/// None; settings that choose Restate are refused.
pub(crate) fn by_restate(settings: &Settings, _: &settings::Cluster) -> Result<Option<ByRestate>> {
    match settings.dispatch.by {
        DispatchBy::Database => Ok(None),
        DispatchBy::Restate => Err(Error::Settings {
            place: "dispatch.by".to_owned(),
            why: "this program was built without Restate. Build it with the feature `restate` of entourage, or take the \
                  setting out"
                .to_owned(),
        }),
    }
}

impl ByRestate {
    pub(super) fn set_database(&mut self, _: DatabaseId) {
        match *self {}
    }

    pub(super) async fn listen(&self) -> Result<()> {
        match *self {}
    }

    pub(super) fn dispatcher(self, _: Cluster) -> Arc<dyn Dispatcher> {
        match self {}
    }

    pub(super) fn handing_over(self, _: Arc<dyn Store>) -> Arc<dyn Store> {
        match self {}
    }
}
