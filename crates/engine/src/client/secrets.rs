//! Secrets of an owner. Their values are set and never shown.

use entourage_store::{Commit, Error as StoreError, Expect, Page, RecordFilter, Versioned, Write};
use entourage_types::{EntityKind, LONGEST_NAME, RecordWrite, Scope, Secret, SecretName};
use secrecy::{ExposeSecret, SecretString};

use super::{Client, Narrowed, owner_limit::OwnerLimit};
use crate::{Error, Result, SecretKeys};

/// The minimum length of a value, in characters: a shorter one could not be told from other text where a server repeats it.
const SHORTEST_VALUE: usize = 8;
/// The maximum length of a value, in bytes.
const LONGEST_VALUE: usize = 16 * 1024;
/// How many secrets an owner may have.
const MOST: OwnerLimit =
    OwnerLimit { number: 1_000, what: "secrets", counter: "secrets", remedy: "delete some" };
/// How many secrets are read at once to be sealed anew.
const AT_ONCE: u32 = 100;

/// What sealing all secrets anew came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resealed {
    /// How many were sealed anew.
    pub resealed: usize,
    /// How many the first key had sealed already.
    pub current: usize,
    /// How many were left as they are, because no key at hand opens them.
    pub unreadable: usize,
}

impl Client {
    /// Sets a secret, sealed with the first of the engine's keys. What is connected with an earlier value is connected
    /// anew when an agent next uses it. Returns whether it is a new one, and the secret.
    ///
    /// # Errors
    /// [`Error::NoSecretKey`]; [`Error::Invalid`] for a value that is too short, too long or has control characters;
    /// [`Error::LimitReached`].
    pub async fn set_secret(&self, name: SecretName, value: &SecretString) -> Result<(bool, Secret)> {
        check_value(value)?;
        let id = Secret::id_of(&self.owner, &name);
        if id.len() > LONGEST_NAME {
            return Err(Error::Invalid("the owner's name is too long to keep secrets under".into()));
        }
        loop {
            let before = self.engine.store().versioned::<Secret>(&self.scope, &id).await?;
            let now = self.engine.now();
            let mut commit = Commit::new(now);
            if before.is_none() {
                match self.make_room(&MOST, &[RecordFilter::<Secret>::default()], &mut commit).await {
                    // Another request may have set the same one, which took the last place.
                    Err(Error::LimitReached { .. })
                        if self.engine.store().record::<Secret>(&self.scope, &id).await?.is_some() =>
                    {
                        continue;
                    }
                    room => room?,
                }
            }
            let (created, version) =
                before.map_or((now, 0), |before| (before.record.created, before.version));
            let named = (self.owner.clone(), name.clone());
            let secret = self.engine.secret_keys()?.seal(named, value, created, now)?;
            if self.write_secret(commit, &secret, version).await? {
                self.end_connections(&name);
                return Ok((version == 0, secret));
            }
        }
    }

    /// The secrets of the owner, sealed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn secrets(&self, page: Page) -> Result<Narrowed<Secret>> {
        self.searched(RecordFilter { page, ..RecordFilter::default() }).await
    }

    /// Deletes a secret. What is connected with it is used no more once an agent would use it.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn delete_secret(&self, name: &SecretName) -> Result<()> {
        let id = Secret::id_of(&self.owner, name);
        let found = self.engine.store().versioned::<Secret>(&self.scope, &id).await?;
        let found = found.ok_or_else(|| Error::not_found("secret", name))?;
        let expected = Expect::version::<Secret>(&id, found.version);
        let mut commit = Commit::new(self.engine.now()).expect(expected);
        commit.push(Write::PruneEntity(EntityKind::SECRET, id));
        match self.engine.commit(commit).await {
            Err(StoreError::OtherVersion { .. }) => Box::pin(self.delete_secret(name)).await,
            done => {
                done?;
                self.end_connections(name);
                Ok(())
            }
        }
    }

    /// Ends this node's connections that were made with an earlier value of a secret. Other nodes end theirs when an agent
    /// of the owner next begins or goes on.
    fn end_connections(&self, name: &SecretName) {
        let servers = self.engine.inner.servers.serving(&self.owner);
        for server in servers.filter(|server| server.secrets.contains(name)) {
            self.engine.end_connection(&self.owner, &server.name);
        }
    }

    /// Seals the secrets of all owners anew with the first key, until a look at all of them finds nothing left to do. What
    /// is interrupted is taken up by the next call.
    ///
    /// # Errors
    /// [`Error::Reserved`] for a caller that is not the operator; [`Error::NoSecretKey`].
    pub async fn reseal_secrets(&self) -> Result<Resealed> {
        let keys = self.whole_engine("seal the secrets of all owners anew")?.secret_keys()?;
        let mut resealed = 0;
        loop {
            // One that was deleted and set again meanwhile is behind those that were looked at.
            let done = self.reseal_all(keys).await?;
            resealed += done.resealed;
            if done.resealed == 0 {
                return Ok(Resealed { resealed, current: done.current.saturating_sub(resealed), ..done });
            }
        }
    }

    /// Looks at the secrets of all owners once.
    async fn reseal_all(&self, keys: &SecretKeys) -> Result<Resealed> {
        let (mut done, mut page) = (Resealed::default(), Page { limit: AT_ONCE, ..Page::default() });
        loop {
            let filter = RecordFilter::<Secret> { page: page.clone(), ..RecordFilter::default() };
            let secrets = match self.engine.store().records(&Scope::All, filter).await {
                // The last one was deleted meanwhile: it begins anew, and counts again those that are done.
                Err(StoreError::NoRow { .. }) => {
                    (done.current, done.unreadable, page.after) = (0, 0, None);
                    continue;
                }
                secrets => secrets?,
            };
            let Some(last) = secrets.last() else { return Ok(done) };
            page.after = Some(Secret::id_of(&last.owner, &last.name));
            for secret in secrets {
                self.reseal(&Secret::id_of(&secret.owner, &secret.name), keys, &mut done).await?;
            }
        }
    }

    /// Seals one secret anew, as it is by now; nothing if it was deleted meanwhile.
    async fn reseal(&self, id: &str, keys: &SecretKeys, done: &mut Resealed) -> Result<()> {
        loop {
            let found = self.engine.store().versioned::<Secret>(&Scope::All, id).await?;
            let Some(Versioned { record: secret, version }) = found else { return Ok(()) };
            if keys.is_current(&secret) {
                done.current += 1;
                return Ok(());
            }
            let Ok(value) = keys.open(&secret) else {
                done.unreadable += 1;
                return Ok(());
            };
            let named = (secret.owner, secret.name);
            let anew = keys.seal(named, &value, secret.created, secret.updated)?;
            if self.write_secret(Commit::new(self.engine.now()), &anew, version).await? {
                done.resealed += 1;
                return Ok(());
            }
        }
    }

    /// Writes a secret with a commit, if it still has this version. Returns whether it has.
    async fn write_secret(&self, mut commit: Commit, secret: &Secret, version: u64) -> Result<bool> {
        commit.record(RecordWrite::of(secret)?.at_version(version));
        match self.engine.commit(commit).await {
            Err(StoreError::OtherVersion { .. }) => Ok(false),
            done => Ok(done.map(|_| true)?),
        }
    }
}

/// Refuses a value that nothing could be connected with.
fn check_value(value: &SecretString) -> Result<()> {
    let value = value.expose_secret();
    if value.trim().chars().count() < SHORTEST_VALUE {
        return Err(Error::Invalid(format!(
            "a secret has {SHORTEST_VALUE} characters or more: a shorter one could not be struck out where a server \
             repeats it"
        )));
    }
    if value.len() > LONGEST_VALUE {
        return Err(Error::Invalid(format!("the secret has more than {LONGEST_VALUE} bytes")));
    }
    if value.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(Error::Invalid(
            "the secret has a control character, which neither a program nor a header can be given".into(),
        ));
    }
    Ok(())
}
