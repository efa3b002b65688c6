//! The one status vocabulary; the seeds' own words are renderings of it at their surfaces.

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$vdoc:meta])* $variant:ident => $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// The word, as stored and shown.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// All words, in order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(format!(concat!("`{}` is not a ", $what, "; one of {}"), word, Self::WORDS.join(", "))),
                }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// Where an agent, a run or a task stands.
    Status, "status" {
        /// An agent that has not run yet.
        Idle => "idle",
        /// Something to do, not begun.
        Queued => "queued",
        /// At work; also while its tools are.
        Running => "running",
        /// Asleep on disk until something named by [`WaitingOn`] happens.
        Waiting => "waiting",
        /// Ended with its answer.
        Succeeded => "succeeded",
        /// Ended with an error.
        Failed => "failed",
        /// Ended by a person or by its parent's end.
        Cancelled => "cancelled",
    }
}

impl Status {
    /// Whether nothing further happens without a new message.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

words! {
    /// What a waiting run sleeps for.
    WaitingOn, "thing to wait on" {
        /// A person's answer.
        User => "user",
        /// The result of another agent.
        Agent => "agent",
        /// A moment in time.
        Timer => "timer",
        /// The next attempt of a model call that failed.
        Retry => "retry",
        /// A person's word to go on, after a pause.
        Resume => "resume",
    }
}
