//! The kinds that the engine uses, and the number of open runs of each version.

use entourage::{Error, Settings, types::Kind};
use entourage_api::EarlierKind;
use entourage_store::Error as StoreError;
use serde::Serialize;

use crate::cli::{
    backend::{Backend, Result, Running},
    out,
};

/// A kind, and the number of unfinished runs of each of its versions.
#[derive(Debug, Serialize)]
pub(super) struct Used {
    pub(super) name: String,
    pub(super) description: String,
    tools: Option<Vec<String>>,
    peers: Vec<String>,
    model: Option<String>,
    fallback: Vec<String>,
    pub(super) version: String,
    /// None if it is not known.
    pub(super) open_runs: Option<u32>,
    pub(super) earlier: Vec<EarlierKind>,
    pub(super) gone: bool,
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

impl From<entourage_api::Kind> for Used {
    fn from(kind: entourage_api::Kind) -> Self {
        let entourage_api::Kind { name, description, tools, peers, model, fallback, version, .. } = kind;
        let (open_runs, earlier, gone) = (Some(kind.open_runs), kind.earlier, kind.gone);
        Self { name, description, tools, peers, model, fallback, version, open_runs, earlier, gone }
    }
}

/// The kinds of the engine of this data directory: the server's, where one runs. It creates no database, and
/// does not wait for another process that has it open.
pub(super) async fn in_use(settings: &Settings, quiet: bool) -> Result<Vec<Used>> {
    if let Some(running) = Running::find(&settings.data, quiet).await {
        return of_engine(&Backend::there(&running, settings)?).await;
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
        Ok(engine) => of_engine(&Backend::at(engine)?).await,
        Err(Error::Store(StoreError::InUse { .. })) => {
            out::note("open runs are not counted: another entourage process has the database open");
            of_files(None)
        }
        Err(error) => Err(error.into()),
    }
}

async fn of_engine(backend: &Backend) -> Result<Vec<Used>> {
    Ok(backend.kinds().await?.into_iter().map(Used::from).collect())
}
