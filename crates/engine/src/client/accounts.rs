//! Accounts: who may log in. They belong to the engine and to no owner; passwords arrive here as hashes.

use entourage_store::{Commit, Error as StoreError, RecordFilter};
use entourage_types::{Account, Email, EntityKind, Owner, PasswordHash, Record, RecordWrite, Scope};

use crate::{Engine, Error, Result};

impl Engine {
    /// Creates an account, with an owner of its own. Of two at once with the same email, one is created.
    ///
    /// # Errors
    /// [`Error::NameInUse`] if another account has this email, however it is spelled.
    pub async fn create_account(&self, email: Email, password: PasswordHash) -> Result<Account> {
        let mut commit = Commit::new(self.now());
        let account = Account::new(email, password, commit.at);
        commit.record(RecordWrite::of(&account)?.at_version(0));
        match self.commit(commit).await {
            Err(StoreError::NameTaken { kind: EntityKind::ACCOUNT, holder }) => Err(Error::NameInUse {
                noun: Account::KIND.as_str(),
                name: account.email.as_str().to_owned(),
                holder,
            }),
            done => Ok(done.map(|_| account)?),
        }
    }

    /// The account with this email, however it is spelled.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn account(&self, email: &Email) -> Result<Option<Account>> {
        let named = RecordFilter::named(email.name());
        Ok(self.store().records(&Scope::from(&Owner::engine()), named).await?.pop())
    }
}
