//! Logins at the console: a secret in a browser's cookie stands for the token that its owner logged in with.

use std::time::Duration;

use entourage_store::{Commit, Page, RecordFilter, Write};
use entourage_types::{ConsoleLogin, EntityKind, Scope, Sha256, Time};

use crate::{Client, Engine, Error, Result, digest::sha256};

/// How long a login lasts at most.
const LONGEST: Duration = Duration::from_secs(12 * 3600);
/// How many logins an owner may have: the oldest ends when another is made.
const MOST: u32 = 100;

impl Client {
    /// Logs this owner in, until the token that proved who they are expires, and for twelve hours at most. Returns the
    /// secret, which is kept nowhere.
    ///
    /// # Errors
    /// When the store fails, or the system has no randomness.
    pub async fn log_in(&self, token_expires: Option<Time>) -> Result<(String, ConsoleLogin)> {
        let now = self.engine.now();
        let mut known = self.logins().await?;
        known.sort_by_key(|login| login.created);
        let living = known.iter().filter(|login| login.expires > now).count();
        let mut too_many = (living + 1).saturating_sub(MOST as usize);
        let mut commit = Commit::new(now);
        for login in &known {
            let gives_way = login.expires > now && too_many > 0;
            too_many -= usize::from(gives_way);
            if gives_way || login.expires <= now {
                commit.push(removed(login.digest));
            }
        }
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| Error::NoRandomness(error.to_string()))?;
        let secret = Sha256::from_bytes(bytes).to_string();
        let latest = now + LONGEST;
        let login = ConsoleLogin {
            digest: sha256(&secret),
            owner: self.owner.clone(),
            is_operator: self.is_operator,
            expires: token_expires.map_or(latest, |expires| expires.min(latest)),
            created: now,
        };
        commit.push(Write::record(&login)?);
        self.engine.commit(commit).await?;
        Ok((secret, login))
    }

    /// Ends all logins of this owner.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn log_out_everywhere(&self) -> Result<()> {
        let mut commit = Commit::new(self.engine.now());
        self.logins().await?.iter().for_each(|login| commit.push(removed(login.digest)));
        self.engine.commit(commit).await?;
        Ok(())
    }

    async fn logins(&self) -> Result<Vec<ConsoleLogin>> {
        // Some may be made at the same moment.
        let page = Page { limit: 2 * MOST, ..Page::default() };
        self.records(RecordFilter { page, ..RecordFilter::default() }).await
    }
}

fn removed(login: Sha256) -> Write {
    Write::PruneEntity(EntityKind::CONSOLE_LOGIN, login.to_string())
}

impl Engine {
    /// The login that this secret belongs to; none if it is unknown, has ended or has expired.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn console_login(&self, secret: &str) -> Result<Option<ConsoleLogin>> {
        let found = self.store().versioned::<ConsoleLogin>(&Scope::All, sha256(secret)).await?;
        Ok(found.map(|found| found.record).filter(|login| login.expires > self.now()))
    }

    /// Ends the login that this secret belongs to, if there is one.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn log_out(&self, secret: &str) -> Result<()> {
        let mut commit = Commit::new(self.now());
        commit.push(removed(sha256(secret)));
        self.commit(commit).await?;
        Ok(())
    }
}
