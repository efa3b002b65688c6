//! The kinds that the engine uses, and the number of open runs of each version.

use entourage::{Error, Settings, types::Kind};
use entourage_engine::InUse;
use entourage_store::Error as StoreError;
use entourage_types::Owner;
use serde::{Deserialize, Serialize};

use crate::cli::{
    backend::{Backend, Result, Running},
    out,
};

/// A kind, and the number of unfinished runs of each of its versions.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Used {
    pub(in crate::cli) name: String,
    pub(super) description: String,
    tools: Option<Vec<String>>,
    peers: Vec<String>,
    model: Option<String>,
    fallback: Vec<String>,
    pub(super) version: String,
    /// None if it is not known.
    pub(super) open_runs: Option<u32>,
    pub(super) earlier: Vec<Earlier>,
    pub(in crate::cli) gone: bool,
}

/// An earlier version.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Earlier {
    pub(super) version: String,
    pub(super) open_runs: u32,
}

impl Used {
    fn new(kind: &Kind, open_runs: Option<u32>) -> Self {
        let Kind { name, description, tools, peers, model, fallback, version, .. } = kind.clone();
        Self {
            name,
            description,
            tools,
            peers,
            model,
            fallback,
            version,
            open_runs,
            earlier: vec![],
            gone: false,
        }
    }

    /// Describes its unfinished runs; empty if there are none.
    pub(super) fn runs(&self) -> String {
        let runs = |count: u32| if count == 1 { "1 open run".into() } else { format!("{count} open runs") };
        let now = self.open_runs.filter(|count| *count > 0).map(runs);
        let earlier =
            self.earlier.iter().map(|old| format!("{} of version {}", runs(old.open_runs), old.version));
        let gone = self.gone.then(|| "its file is gone".to_owned());
        gone.into_iter().chain(now).chain(earlier).collect::<Vec<_>>().join(", ")
    }
}

impl From<InUse> for Used {
    fn from(InUse { kind, is_gone, open_runs, earlier }: InUse) -> Self {
        let earlier = earlier.into_iter().map(|(version, open_runs)| Earlier { version, open_runs });
        Self { earlier: earlier.collect(), gone: is_gone, ..Self::new(&kind, Some(open_runs)) }
    }
}

/// The kinds of the engine of this data directory: the server's, where one runs. It creates no database, and
/// does not wait for another process that has it open.
pub(super) async fn in_use(settings: &Settings, quiet: bool) -> Result<Vec<Used>> {
    if let Some(running) = Running::find(&settings.data, quiet).await {
        return Backend::there(&running, settings)?.kinds().await;
    }
    let of_files = |open_runs| -> Result<Vec<Used>> {
        let (mut kinds, _) = entourage::loaded_kinds(settings)?;
        let _left_out = entourage::unchecked(&mut kinds);
        Ok(kinds.iter().map(|kind| Used::new(kind, open_runs)).collect())
    };
    if !entourage::is_begun(settings).await? {
        return of_files(Some(0));
    }
    match entourage::read_only(settings).await {
        Ok(engine) => {
            let used = engine.client(Owner::local()).kinds_in_use().await?;
            Ok(used.into_iter().map(Used::from).collect())
        }
        Err(Error::Store(StoreError::InUse { .. })) => {
            out::note("open runs are not counted: another entourage process has the database open");
            of_files(None)
        }
        Err(error) => Err(error.into()),
    }
}
