//! The status words shared by code, database and API.

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

        impl From<$name> for &'static str {
            fn from(word: $name) -> Self {
                word.as_str()
            }
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
    /// The status of an agent, a run or a task.
    Status, "status" {
        /// An agent that has not run yet.
        Idle => "idle",
        /// It has something to do and has not begun.
        Queued => "queued",
        /// It works, or its tools do.
        Running => "running",
        /// It sleeps on disk until something named by [`WaitingOn`] happens.
        Waiting => "waiting",
        /// It ended with its answer.
        Succeeded => "succeeded",
        /// It ended with an error.
        Failed => "failed",
        /// It was ended by a person, by its parent's end, or because its assigner cancelled the
        /// task.
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
    /// What a waiting run waits for.
    WaitingOn, "thing to wait on" {
        /// A person's answer.
        User => "user",
        /// The result of another agent.
        Agent => "agent",
        /// A moment in time.
        Timer => "timer",
        /// The next attempt of a model call that failed.
        Retry => "retry",
        /// A person's intervention to resume, after a pause.
        Resume => "resume",
    }
}
