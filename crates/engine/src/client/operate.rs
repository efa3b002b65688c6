//! What concerns the whole engine and not one owner's rows: for the operator alone.

use entourage_types::{AgentId, JobRun};
use serde::{Deserialize, Serialize};

use super::Client;
use crate::{
    Engine, Error, Reloaded, Result,
    maintenance::{Inconsistency, Job, jobs},
};

/// A job of maintenance, and its last run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    /// What it looks for, in a few words.
    pub purpose: String,
    /// Its last run.
    #[serde(flatten)]
    pub job_run: JobRun,
}

impl JobRecord {
    fn new(job: &dyn Job, job_run: JobRun) -> Self {
        Self { purpose: job.purpose().to_owned(), job_run }
    }
}

/// Something that should not be, as a job finds it at this moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundInconsistency {
    /// The job that finds and repairs it.
    pub job: String,
    /// Whom it keeps from going on.
    pub agent: AgentId,
    /// What is wrong and what repairs it, in a sentence.
    pub text: String,
}

fn named(name: &str) -> Result<Box<dyn Job>> {
    jobs().into_iter().find(|job| job.name() == name).ok_or_else(|| Error::not_found("job", name))
}

impl Client {
    /// Reads the kinds anew; see [`Engine::reload`].
    ///
    /// # Errors
    /// [`Error::Reserved`] for anybody but the operator, and those of [`Engine::reload`].
    pub async fn reload_kinds(&self) -> Result<Reloaded> {
        self.whole_engine("to read the kinds anew")?.reload().await
    }

    /// The jobs of maintenance, in the order in which they are done, each with its last run.
    ///
    /// # Errors
    /// [`Error::Reserved`] for anybody but the operator.
    pub async fn jobs(&self) -> Result<Vec<JobRecord>> {
        let rounds = self.whole_engine("to see what maintenance does")?.rounds().await?;
        Ok(rounds.into_iter().map(|(job, job_run)| JobRecord::new(&*job, job_run)).collect())
    }

    /// Does a job run of a job now; see [`Engine::job run`].
    ///
    /// # Errors
    /// [`Error::Reserved`] for anybody but the operator, [`Error::NotFound`] where there is no such job.
    pub async fn run_job(&self, name: &str) -> Result<JobRecord> {
        let (engine, job) = (self.whole_engine("to have a job done")?, named(name)?);
        Ok(JobRecord::new(&*job, engine.job_run(&*job).await?))
    }

    /// Everything that a job would find at this moment. Nothing is changed.
    ///
    /// # Errors
    /// [`Error::Reserved`] for anybody but the operator, [`Error::NotFound`] where there is no such job.
    pub async fn inconsistencies(&self, name: &str) -> Result<Vec<FoundInconsistency>> {
        let (engine, job) = (self.whole_engine("to see what is wrong")?, named(name)?);
        let found = job.find(engine).await?.into_iter();
        let told = |inconsistency: Inconsistency| FoundInconsistency {
            job: name.to_owned(),
            agent: inconsistency.agent,
            text: inconsistency.text,
        };
        Ok(found.map(told).collect())
    }

    /// The engine, where the caller may do what concerns all of it.
    fn whole_engine(&self, what: &'static str) -> Result<&Engine> {
        if self.is_operator { Ok(&self.engine) } else { Err(Error::Reserved(what)) }
    }
}
