//! Restate as what delivers wake-ups to the processes that share a database.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_engine::{
    Clock, NodeSignal, Signals, SystemClock,
    dispatch::{self, Advance, Dispatcher},
};
use entourage_restate::{Error as RestateError, Restate, Settings as RestateSettings};
use entourage_store::Store;
use entourage_types::{DatabaseId, DispatchBy, Wakeup};
use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio_util::sync::CancellationToken;

use super::{cluster::Cluster, part::Part};
use crate::{Error, Result, Settings, settings};

/// The Restate of these settings; none if the database delivers.
///
/// # Errors
/// [`Error::Settings`] if it has nothing to deliver to, or is not named, and for a key that is none.
pub fn chosen_restate(settings: &Settings) -> Result<Option<Restate>> {
    let set = &settings.dispatch;
    if set.by == DispatchBy::Database {
        return Ok(None);
    }
    let wrong = |place: &str, why: &str| Error::Settings { place: place.to_owned(), why: why.to_owned() };
    if settings.store.url.is_none() {
        return Err(wrong(
            "dispatch.by",
            "Restate delivers to processes that share a database, and this one has a file of its own. Set `store.url` (or \
             ENTOURAGE_STORE=postgres://…), or leave `dispatch.by` out",
        ));
    }
    let settings::Restate { ingress, listen, identity_key, .. } = set.restate.clone();
    let Some(ingress) = ingress else {
        return Err(wrong(
            "dispatch.restate.ingress",
            "`dispatch.by` is `restate`, and nothing says where that is: set this to the URL of its ingress, such as \
             http://restate:8080",
        ));
    };
    let dispatch::Settings { concurrency, grace, give_up_after, .. } = super::dispatch_settings(settings);
    let usual = RestateSettings::new(ingress, listen);
    let restate = Restate::new(RestateSettings { identity_key, concurrency, grace, give_up_after, ..usual });
    Ok(Some(restate.map_err(|error| match error {
        RestateError::Key => wrong("dispatch.restate.identity_key", &error.to_string()),
        other => other.into(),
    })?))
}

/// The Restate of these settings, for the agents of their database; none if the database delivers.
///
/// # Errors
/// As for [`chosen_restate`], and when the database cannot be opened, or has no tables yet.
pub async fn chosen_restate_of_database(settings: &Settings) -> Result<Option<Restate>> {
    let Some(restate) = chosen_restate(settings)? else { return Ok(None) };
    let begun = super::is_begun(settings).await?;
    let nodes = if begun { super::open_database(settings).await?.nodes() } else { None };
    match nodes {
        Some(nodes) => Ok(Some(restate.of(nodes.database().await?))),
        None => Err(Error::Settings {
            place: "store.url".to_owned(),
            why: "the database has no tables yet: `entourage migrate` or `entourage serve` makes them"
                .to_owned(),
        }),
    }
}

/// The part of a process of these settings, as one of several, in what Restate delivers; none if the database delivers.
///
/// # Errors
/// As for [`chosen_restate`].
pub(crate) fn by_restate(settings: &Settings, set: &settings::Cluster) -> Result<Option<ByRestate>> {
    Ok(chosen_restate(settings)?.map(|restate| ByRestate { restate, part: Part::of(set) }))
}

/// The part of this process in what Restate delivers.
pub(crate) struct ByRestate {
    restate: Restate,
    part: Part,
}

impl ByRestate {
    /// Sets whose agents it delivers to.
    pub(super) fn set_database(&mut self, database: DatabaseId) {
        self.restate = self.restate.clone().of(database);
    }

    /// Listens for calls, where agents work.
    pub(super) async fn listen(&self) -> Result<()> {
        match self.part {
            Part::Works => Ok(self.restate.listen().await?),
            Part::Looks | Part::Answers | Part::Visits => Ok(()),
        }
    }

    /// The dispatcher of this process, as one of these.
    pub(super) fn dispatcher(self, cluster: Cluster) -> Arc<dyn Dispatcher> {
        let restate = self.restate.with_signals(cluster.signals());
        Arc::new(Delivering { restate, part: self.part, cluster })
    }

    /// A store whose commits hand over what they schedule before they return, for a process that may end right after one.
    pub(super) fn handing_over(self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        self.restate.handing_over(store, Arc::new(SystemClock))
    }
}

struct Delivering {
    restate: Restate,
    part: Part,
    cluster: Cluster,
}

#[async_trait]
impl Dispatcher for Delivering {
    async fn run(
        &self,
        engine: Arc<dyn Advance>,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> entourage_engine::Result<()> {
        let hints = store.woken();
        let delivering = async {
            match self.part {
                Part::Works => self.restate.run(engine, store, Arc::clone(&clock), stop).await,
                Part::Looks | Part::Answers | Part::Visits => {
                    self.restate.hand_over(store, Arc::clone(&clock), stop).await;
                    Ok(())
                }
            }
        };
        tokio::select! {
            ended = delivering => ended,
            () = tell(hints, self.cluster.signals(), &*clock) => Ok(()),
            () = self.cluster.warn_where_none_works(), if self.part == Part::Visits => Ok(()),
        }
    }
}

/// Tells the other processes what is due for agents, for those that are at work there: Restate calls for them only later.
/// Returns never.
async fn tell(mut hints: Receiver<Arc<[Wakeup]>>, signals: Arc<dyn Signals>, clock: &dyn Clock) {
    loop {
        match hints.recv().await {
            Ok(wakeups) => {
                let now = clock.now();
                let due: Vec<_> = wakeups.iter().filter(|wakeup| wakeup.due <= now).cloned().collect();
                if !due.is_empty() {
                    signals.broadcast(NodeSignal::Woken(due));
                }
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with these settings.
    fn refused(text: &str) -> String {
        let settings: Settings = toml::from_str(text).expect("valid");
        chosen_restate(&settings).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn restate_is_refused_without_a_shared_database_an_ingress_or_a_key_of_its_form() {
        const STORE: &str = "store.url = \"postgres://db/work\"\n[dispatch]\nby = \"restate\"\n";
        assert_eq!(refused(""), "");
        assert!(refused("dispatch.by = \"restate\"").starts_with("dispatch.by: "));
        assert!(refused(STORE).starts_with("dispatch.restate.ingress: "));
        let ingress = format!("{STORE}restate.ingress = \"http://127.0.0.1:8080\"\n");
        assert_eq!(refused(&ingress), "");
        assert!(refused(&format!("{ingress}restate.identity_key = \"x\"")).contains("publickeyv1_"));
    }

    #[tokio::test]
    async fn only_a_process_that_works_for_agents_listens_for_calls() {
        let taken = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let listen = taken.local_addr().expect("bound");
        let listened = async |role: &str, visits: bool| {
            let text = format!(
                "store.url = \"postgres://db/work\"\ncluster.role = \"{role}\"\n[dispatch]\nby = \"restate\"\n\
                 restate = {{ ingress = \"http://127.0.0.1:8080\", listen = \"{listen}\" }}"
            );
            let mut settings: Settings = toml::from_str(&text).expect("valid");
            settings.cluster.visits = visits;
            by_restate(&settings, &settings.cluster).expect("valid").expect("chosen").listen().await
        };
        for (role, visits) in [("api", false), ("all", true)] {
            assert!(listened(role, visits).await.is_ok(), "{role}");
        }
        for role in ["all", "worker"] {
            let error = listened(role, false).await.expect_err("somebody else listens there");
            assert!(error.to_string().starts_with(&format!("cannot listen on {listen}")), "{error}");
        }
    }
}
