//! The nouns that records are of.

use std::sync::{Mutex, PoisonError};
use std::{collections::BTreeSet, convert::Infallible, fmt, str::FromStr};

/// The noun that a stored entity is. The nouns of the engine are constants; an application adds its own with
/// [`EntityKind::new`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntityKind(&'static str);

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident => $word:literal),+ $(,)?) => {
        impl EntityKind {
            $($(#[$doc])* pub const $name: Self = Self($word);)+

            /// The nouns of the engine.
            pub const KNOWN: &'static [Self] = &[$(Self::$name),+];
        }
    };
}

kinds! {
    /// A task.
    TASK => "task",
    /// A question.
    QUESTION => "question",
    /// A standing approval.
    GRANT => "grant",
    /// An intervention by a person.
    INTERVENTION => "intervention",
    /// A note.
    NOTE => "note",
    /// A learning.
    LEARNING => "learning",
    /// A closed session.
    SESSION => "session",
    /// The recorded answer to a request that carried an idempotency key.
    REQUEST => "request",
    /// A version of a kind with which a run has started.
    KIND => "kind",
    /// A list of tools that a model was offered.
    TOOL_LIST => "tool_list",
    /// The last run of a job of the engine's maintenance.
    JOB_RUN => "job_run",
    /// An event to be delivered to a receiver outside the engine.
    DELIVERY => "delivery",
    /// A schedule of an agent.
    SCHEDULE => "schedule",
    /// A chat: a name, and the tree it refers to.
    CHAT => "chat",
    /// A thread that a thread store keeps as well.
    THREAD => "thread",
    /// Items of such a thread that the thread store has yet to save.
    PENDING_SAVE => "pending_save",
    /// The last integer id given under a name.
    COUNTER => "counter",
    /// What is left of an agent or a record that was forgotten while its tree lives on.
    TOMBSTONE => "tombstone",
    /// What callers and people set of an agent.
    ANNOTATIONS => "annotations",
    /// Which agent a name leads to.
    AGENT_NAME => "agent_name",
    /// What is kept of a token for a stream.
    STREAM_TOKEN => "stream_token",
    /// What is kept of a login at the console.
    CONSOLE_LOGIN => "console_login",
    /// An account, to log in to.
    ACCOUNT => "account",
    /// A project.
    PROJECT => "project",
    /// A document of a project.
    DOCUMENT => "document",
    /// A version of a document.
    DOCUMENT_VERSION => "document_version",
    /// A chat about the documents of a project.
    PROJECT_CHAT => "project_chat",
    /// What a message in such a chat came to.
    ACT => "act",
    /// A goal.
    GOAL => "goal",
    /// Which tools of MCP servers are switched on and off, for an owner or a tree.
    TOOL_SWITCHES => "tool_switches",
    /// A secret of an owner, sealed.
    SECRET => "secret",
    /// The state of code that waits.
    CODE_SNAPSHOT => "code_snapshot",
}

impl EntityKind {
    /// A noun of an application: a word of lower-case letters and underscores that no noun of the engine has.
    ///
    /// # Panics
    /// If it is no such word: in a constant, when that is compiled.
    #[must_use]
    pub const fn new(word: &'static str) -> Self {
        assert!(is_word(word.as_bytes()), "a noun consists of lower-case letters and underscores");
        let mut known = Self::KNOWN;
        while let [first, rest @ ..] = known {
            assert!(!are_equal(first.0.as_bytes(), word.as_bytes()), "the engine has a noun of this name");
            known = rest;
        }
        Self(word)
    }

    /// The word, as stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// Whether only the engine writes records of this noun. Notes, learnings and the nouns of applications are
    /// also written by tools.
    #[must_use]
    pub fn is_reserved(self) -> bool {
        ![Self::NOTE, Self::LEARNING].contains(&self) && Self::KNOWN.contains(&self)
    }
}

const fn is_word(mut word: &[u8]) -> bool {
    let is_empty = word.is_empty();
    while let [first, rest @ ..] = word {
        if !(first.is_ascii_lowercase() || *first == b'_') {
            return false;
        }
        word = rest;
    }
    !is_empty
}

const fn are_equal(mut one: &[u8], mut other: &[u8]) -> bool {
    while let ([first, rest @ ..], [second, others @ ..]) = (one, other) {
        if *first != *second {
            return false;
        }
        (one, other) = (rest, others);
    }
    one.is_empty() && other.is_empty()
}

impl fmt::Debug for EntityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for EntityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl FromStr for EntityKind {
    type Err = Infallible;

    /// The noun of a stored row. Words that are no constants are kept for the life of the process, each once.
    fn from_str(word: &str) -> Result<Self, Infallible> {
        static OTHERS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        if let Some(known) = Self::KNOWN.iter().find(|known| known.0 == word) {
            return Ok(*known);
        }
        let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = others.get(word) {
            return Ok(Self(known));
        }
        let word: &'static str = Box::leak(word.to_owned().into_boxed_str());
        others.insert(word);
        Ok(Self(word))
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_noun_of_an_application_is_a_word_that_the_engine_does_not_use() {
        assert_eq!(EntityKind::new("line_item").as_str(), "line_item");
        for word in ["", "Goal", "two words", "task", "counter"] {
            assert!(catch_unwind(|| EntityKind::new(word)).is_err(), "{word}");
        }
    }
}
