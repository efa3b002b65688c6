//! What concerns the whole house and not one owner's rows: for the operator alone, the owner `local`.

use entourage_types::{AgentId, Owner, Round};
use serde::{Deserialize, Serialize};

use super::Client;
use crate::{
    Error, House, Reloaded, Result,
    upkeep::{Job, jobs},
};

/// A job of the upkeep, and its last round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    /// What it looks for, in a few words.
    pub purpose: String,
    /// Its last round.
    #[serde(flatten)]
    pub round: Round,
}

impl JobRecord {
    fn new(job: &dyn Job, round: Round) -> Self {
        Self { purpose: job.purpose().to_owned(), round }
    }
}

/// Something that should not be, as a job finds it at this moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundDamage {
    /// The job that finds and mends it.
    pub job: String,
    /// Whom it keeps from going on.
    pub agent: AgentId,
    /// What is wrong and what mends it, in a sentence.
    pub text: String,
}

impl Client {
    /// Reads the kinds anew; see [`House::reload`].
    ///
    /// # Errors
    /// [`Error::Reserved`] for anybody but the operator, and those of [`House::reload`].
    pub async fn reload_kinds(&self) -> Result<Reloaded> {
        self.whole_house("to read the kinds anew")?.reload().await
    }

    /// The jobs of the upkeep, in the order in which they are done, each with its last round.
    ///
    /// # Errors
    /// [`Error::Reserved`] for anybody but the operator.
    pub async fn jobs(&self) -> Result<Vec<JobRecord>> {
        let rounds = self.whole_house("to see what the upkeep does")?.rounds().await?;
        Ok(rounds.into_iter().map(|(job, round)| JobRecord::new(&*job, round)).collect())
    }

    /// Does a round of a job now; see [`House::round`].
    ///
    /// # Errors
    /// [`Error::Reserved`] for anybody but the operator, [`Error::NotFound`] where there is no such job.
    pub async fn run_job(&self, name: &str) -> Result<JobRecord> {
        let house = self.whole_house("to have a job done")?;
        let job = jobs().into_iter().find(|job| job.name() == name);
        let job = job.ok_or_else(|| Error::not_found("job", name))?;
        Ok(JobRecord::new(&*job, house.round(&*job).await?))
    }

    /// Everything that is wrong at this moment; see [`House::examine`]. Nothing is changed.
    ///
    /// # Errors
    /// [`Error::Reserved`] for anybody but the operator.
    pub async fn damages(&self) -> Result<Vec<FoundDamage>> {
        let found = self.whole_house("to see what is wrong")?.examine().await?;
        let told = found.into_iter().map(|(job, damage)| FoundDamage {
            job: job.to_owned(),
            agent: damage.agent,
            text: damage.text,
        });
        Ok(told.collect())
    }

    /// The house, where the caller may do what concerns all of it.
    fn whole_house(&self, what: &'static str) -> Result<&House> {
        if self.owner == Owner::local() { Ok(&self.house) } else { Err(Error::Reserved(what)) }
    }
}
