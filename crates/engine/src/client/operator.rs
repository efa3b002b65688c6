//! What concerns the whole engine and not one owner's rows: for the operator alone.

use std::time::Duration;

use entourage_llm::{GateState, GateStatus};
use entourage_types::{AgentId, JobRun, Scope};

use super::Client;
use crate::{
    Engine, Error, HealthRound, Reloaded, Result,
    dispatch::Places,
    maintenance::{Inconsistency, Job, jobs},
};

/// A job of maintenance, and its last run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    /// What it looks for, in a few words.
    pub purpose: String,
    /// Its last run.
    pub job_run: JobRun,
}

impl JobRecord {
    fn new(job: &dyn Job, job_run: JobRun) -> Self {
        Self { purpose: job.purpose().to_owned(), job_run }
    }
}

/// An inconsistency that a job finds at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundInconsistency {
    /// The job that finds and repairs it.
    pub job: String,
    /// The agent that it keeps from going on.
    pub agent: AgentId,
    /// What is wrong and what repairs it, in a sentence.
    pub text: String,
}

/// The state of one process's engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineState {
    /// The places of its dispatcher; none if no dispatcher works here.
    pub places: Option<Places>,
    /// The gates before the models that were used.
    pub gates: Vec<GateRecord>,
}

/// The gate before a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateRecord {
    /// The model, as `provider::name`.
    pub model: String,
    /// `open`; `paused` while the provider wants fewer requests; `broken` while it answers none.
    pub door: &'static str,
    /// How long until it opens, if it is closed.
    pub opens_in: Option<Duration>,
    /// How many calls are in flight.
    pub in_flight: usize,
    /// How many callers wait.
    pub waiting: usize,
    /// For how many owners it is closed because of their own calls.
    pub blocked_owners: usize,
}

impl From<GateState> for GateRecord {
    fn from(GateState { model, door, in_flight, waiting, blocked_owners }: GateState) -> Self {
        let (door, opens_in) = match door {
            GateStatus::Open => ("open", None),
            GateStatus::Paused(left) => ("paused", Some(left)),
            GateStatus::Broken(left) => ("broken", Some(left)),
        };
        Self { model, door, opens_in, in_flight, waiting, blocked_owners }
    }
}

fn named(name: &str) -> Result<Box<dyn Job>> {
    jobs().into_iter().find(|job| job.name() == name).ok_or_else(|| Error::not_found("job", name))
}

impl Client {
    /// Reloads the kinds; see [`Engine::reload`].
    ///
    /// # Errors
    /// [`Error::Reserved`] for a caller that is not the operator, and those of [`Engine::reload`].
    pub async fn reload_kinds(&self) -> Result<Reloaded> {
        self.whole_engine("reload the kinds")?.reload().await
    }

    /// The state of this process's engine: its places and the gates before its models.
    ///
    /// # Errors
    /// [`Error::Reserved`] for a caller that is not the operator.
    pub fn engine_state(&self) -> Result<EngineState> {
        let engine = self.whole_engine("see the state of the server")?;
        let gates = engine.model().gates().into_iter().map(GateRecord::from).collect();
        Ok(EngineState { places: engine.places(), gates })
    }

    /// The jobs of maintenance, in the order in which they run, each with its last run.
    ///
    /// # Errors
    /// [`Error::Reserved`] for a caller that is not the operator.
    pub async fn jobs(&self) -> Result<Vec<JobRecord>> {
        let runs = self.whole_engine("list the maintenance jobs")?.job_runs().await?;
        Ok(runs.into_iter().map(|(job, job_run)| JobRecord::new(&*job, job_run)).collect())
    }

    /// Runs a job now; see [`Engine::job_run`].
    ///
    /// # Errors
    /// [`Error::Reserved`] for a caller that is not the operator, [`Error::NotFound`] if there is no such
    /// job.
    pub async fn run_job(&self, name: &str) -> Result<JobRecord> {
        let (engine, job) = (self.whole_engine("run a maintenance job")?, named(name)?);
        Ok(JobRecord::new(&*job, engine.job_run(&*job).await?))
    }

    /// All inconsistencies that a job would find at this moment. Changes nothing.
    ///
    /// # Errors
    /// [`Error::Reserved`] for a caller that is not the operator, [`Error::NotFound`] if there is no such
    /// job.
    pub async fn inconsistencies(&self, name: &str) -> Result<Vec<FoundInconsistency>> {
        let (engine, job) = (self.whole_engine("list inconsistencies")?, named(name)?);
        let found = job.find(engine).await?.into_iter();
        let record = |inconsistency: Inconsistency| FoundInconsistency {
            job: name.to_owned(),
            agent: inconsistency.agent,
            text: inconsistency.text,
        };
        Ok(found.map(record).collect())
    }

    /// Does a round of health now; see [`Engine::health_round`]. A dry one changes nothing.
    ///
    /// # Errors
    /// [`Error::Reserved`] for a caller that is not the operator.
    pub async fn run_health(&self, is_dry: bool) -> Result<HealthRound> {
        self.whole_engine("do a round of health")?.health_round(is_dry).await
    }

    /// Checks that the caller may do this, which concerns the whole engine.
    ///
    /// # Errors
    /// [`Error::Reserved`] for a caller that is not the operator.
    pub fn check_operator(&self, what: &'static str) -> Result<()> {
        self.whole_engine(what).map(drop)
    }

    /// This client, with the rows of all owners: what the operator looks at by hand, and sets to work by hand.
    ///
    /// # Errors
    /// [`Error::Reserved`] for a caller that is not the operator; `what` says what they wanted.
    pub fn of_all_owners(&self, what: &'static str) -> Result<Self> {
        self.check_operator(what)?;
        Ok(Self { scope: Scope::All, ..self.clone() })
    }

    /// Returns the engine if the caller may do what concerns all of it.
    pub(super) fn whole_engine(&self, what: &'static str) -> Result<&Engine> {
        if self.is_operator { Ok(&self.engine) } else { Err(Error::Reserved(what)) }
    }
}
