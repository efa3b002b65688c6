//! An account: who may log in with an email address and a password.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    AccountId, Columns, EntityKind, LONGEST_NAME, Owner, Record, Time, UniqueName, fold_name,
    is_storable_name, status::words,
};

/// The fewest characters of an email address.
const SHORTEST: usize = 3;
/// The most characters of an email address: as many as a mail server takes (RFC 5321).
const LONGEST: usize = 254;

/// An email address, as a person gave it. Nothing is sent to it: it is a name to log in with, so only its form is
/// checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Email(String);

/// Why a text is no email address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EmailError {
    /// It is too short or too long.
    #[error(
        "has {0} characters; an address has {SHORTEST} to {LONGEST}, and at most {LONGEST_NAME} bytes as it is stored"
    )]
    Length(usize),
    /// It has not one `@` with something on both sides.
    #[error("is no address: write one `@` with something before and behind it, as in `ann@example.com`")]
    Form,
    /// It has a space or a control character.
    #[error("has a space or a control character; remove it")]
    Character,
}

impl Email {
    /// Reads an address. Blanks around it do not belong to it.
    ///
    /// # Errors
    /// [`EmailError`] for what is none.
    pub fn parse(text: &str) -> Result<Self, EmailError> {
        let text = text.trim();
        let length = text.chars().count();
        if !(SHORTEST..=LONGEST).contains(&length) || !is_storable_name(&fold_name(text)) {
            return Err(EmailError::Length(length));
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(EmailError::Character);
        }
        match text.split_once('@') {
            Some((before, behind)) if !before.is_empty() && !behind.is_empty() && !behind.contains('@') => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(EmailError::Form),
        }
    }

    /// The address, as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name by which its account is found, however the address is spelled.
    #[must_use]
    pub fn name(&self) -> UniqueName {
        UniqueName::of_owner(&self.0)
    }
}

/// What is kept of a password: its hash, in PHC string format. It is not shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// A hash, in PHC string format.
    #[must_use]
    pub const fn new(phc: String) -> Self {
        Self(phc)
    }

    /// The hash, to verify a password with.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// Who may log in with an email address and a password. Accounts are records of the engine: no owner reads them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Its id.
    pub id: AccountId,
    /// The owner that its tokens name: generated, so that no account takes over the agents of an owner that another
    /// issuer of tokens names, and is never the operator's.
    pub sub: Owner,
    /// The address, which no other account has.
    pub email: Email,
    /// What is kept of the password.
    pub password: PasswordHash,
    /// When it was registered.
    pub created: Time,
}

impl Account {
    /// A new account, with an id and an owner of its own.
    #[must_use]
    pub fn new(email: Email, password: PasswordHash, created: Time) -> Self {
        let sub = Owner::new(AccountId::new().uuid().to_string());
        Self { id: AccountId::new(), sub, email, password, created }
    }
}

words! {
    /// The status of an account.
    AccountStatus, "status of an account" {
        /// It can be logged in to.
        Kept => "kept",
    }
}

impl Record for Account {
    const KIND: EntityKind = EntityKind::ACCOUNT;
    type Status = AccountStatus;

    fn columns(&self) -> Columns {
        Columns {
            id: self.id.to_string(),
            owner: Owner::engine(),
            root: None,
            parent: None,
            status: AccountStatus::Kept.as_str(),
            created: self.created,
            updated: self.created,
            name: Some(self.email.name()),
            text: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_has_one_at_sign_between_two_texts_and_no_blanks() {
        for good in ["a@b", " ann@example.com\n", "Ann+tag@Example.COM", "zoë@例え.jp"] {
            assert_eq!(Email::parse(good).unwrap().as_str(), good.trim());
        }
        let long = |count: usize| format!("{}@b", "a".repeat(count - 2));
        assert!(Email::parse(&long(LONGEST)).is_ok());
        for (bad, error) in [
            ("", EmailError::Length(0)),
            ("@b", EmailError::Length(2)),
            (&*long(LONGEST + 1), EmailError::Length(LONGEST + 1)),
            // Few characters of many bytes each.
            (&*format!("{}@b", "例".repeat(200)), EmailError::Length(202)),
            ("@example.com", EmailError::Form),
            ("ann@", EmailError::Form),
            ("ann.example.com", EmailError::Form),
            ("ann@b@c", EmailError::Form),
            ("an n@b", EmailError::Character),
            ("ann@b\u{a0}c", EmailError::Character),
            ("ann\0@b", EmailError::Character),
            ("ann@b\u{85}c", EmailError::Character),
        ] {
            assert_eq!(Email::parse(bad), Err(error), "{bad:?}");
        }
    }

    #[test]
    fn an_account_is_found_by_any_spelling_of_its_email_and_has_an_owner_of_its_own() {
        let account = |email| {
            Account::new(Email::parse(email).unwrap(), PasswordHash::new("$x$".into()), Time::from_micros(0))
        };
        let (one, other) = (account("Zoë@Example.com"), account("ZOE\u{308}@example.COM"));
        assert_eq!(one.columns().name, other.columns().name);
        assert_ne!(one.sub, other.sub);
        assert!(one.sub.is_of_a_token() && !one.sub.as_str().contains('@'), "{}", one.sub);
        assert_eq!(Account::from_entity(&one.entity().unwrap()).unwrap(), one);
    }

    #[test]
    fn the_debug_output_of_an_account_has_no_hash() {
        let email = Email::parse("ann@example.com").unwrap();
        let account = Account::new(email, PasswordHash::new("$argon2id$".into()), Time::from_micros(0));
        let shown = format!("{account:?}");
        assert!(shown.contains("ann@example.com") && !shown.contains("argon2"), "{shown}");
    }
}
