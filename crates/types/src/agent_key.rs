//! The key of an agent in its tree: whose messages reach it.

use std::{fmt, num::NonZeroU32, str::FromStr};

use serde::{Deserialize, Serialize};

/// The key by which an agent is found in its tree when somebody writes to its kind: one agent for each recipient and
/// sender. Stored as `recipient<sender`, and as `recipient<sender#2` if it replaces a deleted one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentKey {
    /// The kind that receives the messages.
    pub recipient: String,
    /// Who sends them: a kind, `user`, the name that a person took, or the id of an agent that was created for one
    /// piece of work.
    pub sender: String,
    /// Which of the agents with this recipient and sender it is: 1 for the first, 2 for the one that replaces it once
    /// it was deleted.
    pub nth: NonZeroU32,
}

impl AgentKey {
    /// What separates the parts of a key as text. No name that a person takes has one of them.
    pub const SEPARATORS: [char; 2] = ['<', '#'];

    /// Creates the key of the first agent with this recipient and sender.
    ///
    /// # Errors
    /// When the names would not be read back from the key's text.
    pub fn new(recipient: impl Into<String>, sender: impl Into<String>) -> Result<Self, String> {
        let key = Self { recipient: recipient.into(), sender: sender.into(), nth: NonZeroU32::MIN };
        if key.to_string().parse().is_ok_and(|read: Self| read == key) {
            return Ok(key);
        }
        let Self { recipient, sender, .. } = key;
        Err(format!(
            "`{sender}` cannot write to `{recipient}`: a recipient has no `<` in its name, and a sender's name does \
             not end in `#` and a number"
        ))
    }

    /// The key of the agent that takes the place of this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self { nth: self.nth.saturating_add(1), ..self }
    }

    /// Whether it is the key of the first agent with this recipient and sender, which replaces none.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.nth == NonZeroU32::MIN
    }
}

impl fmt::Display for AgentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { recipient, sender, nth } = self;
        write!(f, "{recipient}<{sender}")?;
        if self.is_first() { Ok(()) } else { write!(f, "#{nth}") }
    }
}

impl FromStr for AgentKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (recipient, sender) =
            text.split_once('<').ok_or_else(|| format!("`{text}` is not the key of an agent"))?;
        let replaced = sender.rsplit_once('#').and_then(|(sender, nth)| {
            let number: NonZeroU32 = nth.parse().ok()?;
            (number > NonZeroU32::MIN && number.to_string() == nth).then_some((sender, number))
        });
        let (sender, nth) = replaced.unwrap_or((sender, NonZeroU32::MIN));
        Ok(Self { recipient: recipient.to_owned(), sender: sender.to_owned(), nth })
    }
}

impl TryFrom<String> for AgentKey {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<AgentKey> for String {
    fn from(key: AgentKey) -> Self {
        key.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_back_from_its_text() {
        let first = AgentKey::new("writer", "user").unwrap();
        let third = first.clone().next().next();
        for (key, text) in [(&first, "writer<user"), (&third, "writer<user#3")] {
            assert_eq!(key.to_string(), text);
            assert_eq!(text.parse().as_ref(), Ok(key));
            assert_eq!(serde_json::to_string(key).unwrap(), format!("\"{text}\""));
            assert_eq!(&serde_json::from_str::<AgentKey>(&format!("\"{text}\"")).unwrap(), key);
        }
        // A kind that writes may have a name with a separator.
        for sender in ["c#", "a<b", "c#1", "c#02"] {
            let key = AgentKey::new("c#", sender).unwrap().next();
            assert_eq!(key.to_string().parse(), Ok(key));
        }
    }

    #[test]
    fn names_that_would_not_be_read_back_make_no_key() {
        for (recipient, sender) in [("a<b", "user"), ("a", "b#2")] {
            assert!(AgentKey::new(recipient, sender).is_err(), "{recipient} {sender}");
        }
        assert!("writer".parse::<AgentKey>().is_err());
    }
}
