//! What can go wrong at the engine's door and inside it.

use std::time::Duration;

use entourage_types::{AgentId, Question, QuestionId, QuestionStatus, ThreadKey};

/// What can go wrong. Variants say what the caller can do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No such thing, or not the caller's.
    #[error("there is no {noun} `{id}`")]
    NotFound {
        /// The noun asked for.
        noun: &'static str,
        /// The id given.
        id: String,
    },
    /// The request makes no sense as it is; the text says what to change.
    #[error("{0}")]
    Invalid(String),
    /// It concerns the whole engine, and the caller is not its operator.
    #[error(
        "{0} is for the operator alone: whom `operator` in `[server.auth.jwt]` names; with a shared secret, \
         `entourage token --owner local` makes a token for them"
    )]
    Reserved(&'static str),
    /// No kind of this name.
    #[error("there is no kind `{name}`; there are: {known}")]
    UnknownKind {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// No agency of this name.
    #[error("there is no agency `{name}`; {known}")]
    UnknownAgency {
        /// The name given.
        name: String,
        /// Which there are, for people.
        known: String,
    },
    /// The question is not open any more.
    #[error("question {id} is {status} already: {how}")]
    NotOpen {
        /// Which question.
        id: QuestionId,
        /// Where it stands.
        status: QuestionStatus,
        /// Who closed it, when and with which words.
        how: String,
    },
    /// The answer is for other arguments than those that the question is about.
    #[error(
        "the answer is for another call than the one that question {0} is about; read the question again"
    )]
    OtherCall(QuestionId),
    /// The agent has ended for good.
    #[error("agent {0} was cancelled and takes no more messages")]
    Gone(AgentId),
    /// The agent is not where this could be done to it.
    #[error("not now: agent {agent} cannot do that, for {why}")]
    NotNow {
        /// Which agent.
        agent: AgentId,
        /// Why not.
        why: &'static str,
    },
    /// The agent is at work and its kind takes no message meanwhile.
    #[error("agent {0} is at work and takes no message until it has ended; wait, or steer it")]
    AtWork(AgentId),
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used before for another request")]
    KeyReused,
    /// The agent of the first request with this idempotency key is not kept any more.
    #[error(
        "agent {0}, which the first request with this idempotency key was about, was pruned and is not kept any more. \
         With another key the request is a new one"
    )]
    Forgotten(AgentId),
    /// Events were asked for from a number on that is not kept any more.
    #[error(
        "the events of tree {root} behind number {after} are not kept any more, up to number {}. Read the \
         transcript, and go on after number {}",
        .first - 1, .first - 1
    )]
    CursorGone {
        /// The top of the tree.
        root: AgentId,
        /// The number given.
        after: u64,
        /// The first event that is still there.
        first: u64,
    },
    /// Events were asked for behind a number that was not given yet.
    #[error(
        "no event of tree {root} has number {after} yet; was an older copy of the database put back? Read the \
         transcript, and go on without a number"
    )]
    CursorAhead {
        /// The top of the tree.
        root: AgentId,
        /// The number given.
        after: u64,
    },
    /// What was said before in a thread that is kept elsewhere is not known now.
    #[error(
        "what was said before between `{0}` and `{1}` in chat `{2}` could not be loaded: {cause}. Nothing was \
         changed; say it again later", key.recipient, key.sender, key.chat
    )]
    NotLoaded {
        /// Which thread.
        key: Box<ThreadKey>,
        /// What its thread_store said.
        cause: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] entourage_store::Error),
    /// An activation was stopped, because nothing had come of it for too long.
    #[error(
        "agent {agent} neither committed nor streamed anything for {seconds} s and was stopped; it goes on from its last commit"
    )]
    Stuck {
        /// Which agent.
        agent: AgentId,
        /// For how long.
        seconds: u64,
    },
    /// Others go first. A dispatcher comes again; it is no failure.
    #[error("agent {agent} is taken up later: others go first")]
    NotYet {
        /// Which agent.
        agent: AgentId,
        /// After how long.
        after: Duration,
    },
    /// A kind's files are at fault.
    #[error("the kinds cannot be loaded:\n{0}")]
    Kinds(String),
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Error {
    /// A question that was closed before.
    pub(crate) fn not_open(question: &Question) -> Self {
        let Question { id, status, owner, updated, .. } = question;
        let what = question.answer.as_deref().map(|answer| format!("`{answer}`, ")).unwrap_or_default();
        let who = match status {
            QuestionStatus::Expired => "by nobody".to_owned(),
            _ => format!("by {owner}"),
        };
        Self::NotOpen { id: *id, status: *status, how: format!("{what}{who}, at {updated}") }
    }

    /// A missing row, named by its noun.
    pub(crate) fn not_found(noun: &'static str, id: impl ToString) -> Self {
        Self::NotFound { noun, id: id.to_string() }
    }
}
