//! Typed identifiers: a prefix that names the noun, then a UUIDv7 in hex, so that ids of one noun
//! sort by creation time and parsing refuses an id of another noun.

use std::{cell::Cell, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

/// A string that is not an id of the expected noun.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no {noun} id: one looks like `{prefix}_` and 32 hex digits")]
pub struct ParseIdError {
    given: String,
    noun: &'static str,
    prefix: &'static str,
}

thread_local! {
    /// The seed from which the ids of this thread follow, and how many have been created.
    static SEEDED: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
}

/// Until the returned value is dropped, ids created on this thread follow from the seed: the same
/// program creates the same ids. For simulations.
#[must_use]
pub fn seeded_ids(seed: u64) -> impl Drop {
    struct Seeded;
    impl Drop for Seeded {
        fn drop(&mut self) {
            SEEDED.set(None);
        }
    }
    SEEDED.set(Some((seed, 0)));
    Seeded
}

fn fresh() -> Uuid {
    let Some((seed, count)) = SEEDED.get() else { return Uuid::now_v7() };
    SEEDED.set(Some((seed, count + 1)));
    // A count instead of the time keeps them in order.
    let noise = (seed ^ count).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Uuid::from_u64_pair((count << 16) | 0x7000, (noise >> 2) | (1 << 63))
}

/// The longest id, in bytes.
const LONGEST: usize = 40;

/// Writes an id in one piece: each statement and each item has several.
fn written<'a>(prefix: &str, uuid: Uuid, text: &'a mut [u8; LONGEST]) -> &'a str {
    let digits = prefix.len() + 1;
    text[..prefix.len()].copy_from_slice(prefix.as_bytes());
    text[prefix.len()] = b'_';
    uuid.simple().encode_lower(&mut text[digits..]);
    str::from_utf8(&text[..digits + 32]).unwrap_or_default()
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $noun:literal, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// The prefix of every id of this noun, without the underscore.
            pub const PREFIX: &'static str = $prefix;

            /// A fresh id; later ones sort after earlier ones.
            #[must_use]
            #[allow(clippy::new_without_default, reason = "a default that differs each time would mislead")]
            pub fn new() -> Self {
                Self(fresh())
            }

            /// The UUID after the prefix.
            #[must_use]
            pub fn uuid(self) -> Uuid {
                self.0
            }

            /// An id from a UUID created elsewhere, for example from a digest.
            #[must_use]
            pub fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                const { assert!($prefix.len() + 33 <= LONGEST) };
                f.write_str(written($prefix, self.0, &mut [0; LONGEST]))
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(given: &str) -> Result<Self, ParseIdError> {
                given
                    .strip_prefix(concat!($prefix, "_"))
                    .filter(|hex| hex.len() == 32)
                    .and_then(|hex| Uuid::try_parse(hex).ok())
                    .map(Self)
                    .ok_or_else(|| ParseIdError {
                        given: given.chars().take(64).collect(),
                        noun: $noun,
                        prefix: $prefix,
                    })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(written($prefix, self.0, &mut [0; LONGEST]))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// An agent.
    AgentId, "agent", "agt"
);
id!(
    /// An account.
    AccountId, "account", "acc"
);
id!(
    /// A run of an agent.
    RunId, "run", "run"
);
id!(
    /// A commit. A caller that does not know whether it was applied repeats it under the same id.
    CommitId, "commit", "cmt"
);
id!(
    /// A node: one process with an engine. Each start of the process is another node.
    NodeId, "node", "nod"
);
id!(
    /// A database that nodes share. What several of them use, such as a Restate, tells them apart by it.
    DatabaseId, "database", "dtb"
);
id!(
    /// A task from one agent to another.
    TaskId, "task", "tsk"
);
id!(
    /// A question to a person.
    QuestionId, "question", "qst"
);
id!(
    /// An intervention.
    InterventionId, "intervention", "int"
);
id!(
    /// A standing approval.
    GrantId, "grant", "grt"
);
id!(
    /// A schedule.
    ScheduleId, "schedule", "sch"
);
id!(
    /// A post in an agent's inbox.
    PostId, "post", "pst"
);
id!(
    /// A wake-up; also the idempotency key under which a dispatcher delivers it.
    WakeupId, "wake-up", "wkp"
);
id!(
    /// A tool call. The engine's id, not the provider's (some providers number calls per answer),
    /// because it is also the idempotency key that the tool receives.
    CallId, "call", "cal"
);
impl CallId {
    /// The id of the call with this number, from 0, that the code of this call makes: the same whenever the code
    /// runs. It sorts with the calls of this one's time, and by the numbers.
    #[must_use]
    pub fn sub_call(self, number: u16) -> Self {
        let (time, random) = self.0.as_u64_pair();
        // The mix of SplitMix64.
        let mixed = (random ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let noise = (mixed ^ (mixed >> 27)) >> 18;
        Self(Uuid::from_u64_pair(time, (1 << 63) | (u64::from(number) << 46) | noise))
    }
}

id!(
    /// A note.
    NoteId, "note", "nte"
);
id!(
    /// A learning.
    LearningId, "learning", "lrn"
);
id!(
    /// A closed session.
    SessionId, "session", "ses"
);
id!(
    /// A project.
    ProjectId, "project", "prj"
);
id!(
    /// A document of a project.
    DocumentId, "document", "doc"
);
id!(
    /// A delivery; a receiver gets every attempt under this id.
    DeliveryId, "delivery", "dlv"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_parses_back_from_its_text_and_refuses_another_prefix() {
        let id = AgentId::new();
        assert_eq!(id.to_string().parse::<AgentId>(), Ok(id));
        let wrong = RunId::new().to_string().parse::<AgentId>();
        assert!(wrong.is_err_and(|e| e.to_string().contains("agent id")));
        assert!("agt_".parse::<AgentId>().is_err());
    }

    #[test]
    fn calls_of_code_have_ids_of_their_own_that_sort_by_number() {
        let calls = [CallId::new(), CallId::new()];
        let subs: Vec<CallId> = (0..300).map(|number| calls[1].sub_call(number)).collect();
        assert!(subs.is_sorted() && subs.iter().collect::<std::collections::HashSet<_>>().len() == 300);
        assert_eq!(subs[7], calls[1].sub_call(7));
        assert!(subs.iter().all(|sub| !calls.contains(sub)));
        assert!((0..300).all(|number| calls[0].sub_call(number) != calls[1].sub_call(number)));
        assert_eq!(subs[0].uuid().get_version_num(), 7);
    }

    #[test]
    fn later_ids_sort_after_earlier_ones() {
        let ids: Vec<String> = (0..100).map(|_| PostId::new().to_string()).collect();
        assert!(ids.is_sorted());
    }
}
