//! The engine's errors.

use std::time::Duration;

use entourage_types::{
    AgentId, DOCUMENTS_OF_PROJECT, DocumentId, PartError, Question, QuestionId, QuestionStatus, RunId,
    SecretName, SectionError, ThreadKey,
};

/// An error of the engine. Variants say what the caller can do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It does not exist, or belongs to another owner.
    #[error("there is no {} `{id}`", noun.replace('_', " "))]
    NotFound {
        /// What was asked for, such as `agent`.
        noun: &'static str,
        /// The id given.
        id: String,
    },
    /// A run has no such model call with an answer on record.
    #[error("there is no request {number} of run `{run}`, whose model has answered {}; a call whose \
             attempts all failed has no request on record", calls(*.answered))]
    NoRequest {
        /// The run.
        run: RunId,
        /// The number given.
        number: u32,
        /// How many model calls of the run have an answer.
        answered: usize,
    },
    /// The request makes no sense as it is; the text says what to change.
    #[error("{0}")]
    Invalid(String),
    /// A part of a project, of a document or of a change cannot be kept.
    #[error(transparent)]
    Part(#[from] PartError),
    /// A message about documents continues no chat and names no project (S5-R013).
    #[error("no chat is continued: name the project that the new one is about")]
    NoProject,
    /// The request concerns the whole engine, and the caller is not its operator.
    #[error(
        "only the operator may {0}; `operator` in `[server.auth.jwt]` names the operator. With a shared \
         secret, `entourage token --owner local` makes a token for them"
    )]
    Reserved(&'static str),
    /// No kind of this name.
    #[error("there is no kind `{name}`; there are: {known}")]
    UnknownKind {
        /// The name given.
        name: String,
        /// The names of the existing kinds.
        known: String,
    },
    /// No agency of this name.
    #[error("there is no agency `{name}`; {known}")]
    UnknownAgency {
        /// The name given.
        name: String,
        /// The existing agencies, as a text for people.
        known: String,
    },
    /// The question is not open any more.
    #[error("question {id} is {status} already: {how}")]
    NotOpen {
        /// Which question.
        id: QuestionId,
        /// Its status.
        status: QuestionStatus,
        /// Who closed it, when, and with which answer.
        how: String,
    },
    /// The answer is for other arguments than those that the question is about.
    #[error("question {0} is about a different call than this answer; read the question again")]
    OtherCall(QuestionId),
    /// The agent was cancelled for good.
    #[error("agent {0} was deleted and does nothing any more")]
    Gone(AgentId),
    /// The agent's state does not allow this now.
    #[error("agent {agent} cannot do that now: {why}")]
    NotNow {
        /// Which agent.
        agent: AgentId,
        /// Why not.
        why: &'static str,
    },
    /// The name belongs to an active agent.
    #[error("agent `{name}` is active already; wait until it has ended, or take another name")]
    NameTaken {
        /// The name given.
        name: String,
        /// The agent that has it.
        agent: AgentId,
    },
    /// Another record of this noun has the name already.
    #[error("there is another {noun} called `{name}`; choose another name, or change that one")]
    NameInUse {
        /// The noun.
        noun: &'static str,
        /// The name given.
        name: String,
        /// The id of the record that has it.
        holder: String,
    },
    /// The document was changed since the caller read it.
    #[error(
        "the document has version {current}, not {expected}: it was changed meanwhile, and nothing was stored. Read it \
         again, and change what is there now"
    )]
    StaleVersion {
        /// Which document.
        document: DocumentId,
        /// The version that the caller has seen.
        expected: u64,
        /// The version it has.
        current: u64,
    },
    /// The engine has no key that seals secrets; the text says how to give it one.
    #[error("{0}")]
    NoSecretKey(&'static str),
    /// No key of the engine opens the secret.
    #[error(
        "the secret `{name}` was sealed with the key `{key}`, which is not among the keys, or it was changed since; add \
         that key, or set the secret again"
    )]
    SealedOtherwise {
        /// The secret.
        name: SecretName,
        /// Which key sealed it.
        key: String,
    },
    /// The system gave no random numbers, without which nothing secret can be made.
    #[error("the system gave no random numbers: {0}")]
    NoRandomness(String),
    /// A project has as many documents as one may have.
    #[error(
        "the project has {DOCUMENTS_OF_PROJECT} documents, the most that one can have; delete some, or create the \
         document in another project"
    )]
    ProjectFull,
    /// The owner has as many of something as one may have.
    #[error("{most} {what} are the most that one can have; {remedy} first")]
    LimitReached {
        /// How many that is.
        most: u32,
        /// Of what.
        what: &'static str,
        /// What makes room for more.
        remedy: &'static str,
    },
    /// The owner has as many of something as one may have for a moment.
    #[error("{0}")]
    TooMany(String),
    /// The chat was created or deleted by others again and again while this was tried.
    #[error("chat `{0}` changes too fast, and nothing was sent; send the message again")]
    ChatChanges(String),
    /// The agent is at work, and its kind refuses messages meanwhile.
    #[error("agent {0} is at work and takes no message until it has ended; wait, or steer it")]
    AtWork(AgentId),
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used before for another request")]
    KeyReused,
    /// The agent of the first request with this idempotency key was pruned.
    #[error(
        "the first request with this idempotency key was about agent {0}, which was pruned. Use another key \
         to send a new request"
    )]
    Forgotten(AgentId),
    /// The caller asked for events after a number, and those that follow it were pruned.
    #[error(
        "the events of tree {root} after number {after} were pruned, up to number {}. Read the transcript, \
         then continue after number {}",
        .first - 1, .first - 1
    )]
    CursorGone {
        /// The root of the tree.
        root: AgentId,
        /// The number given.
        after: u64,
        /// The first event that is still kept.
        first: u64,
    },
    /// The caller asked for events after a number that no event has yet.
    #[error(
        "tree {root} has no event with number {after} yet; was the database restored from a backup? Read the \
         transcript, then continue without a number"
    )]
    CursorAhead {
        /// The root of the tree.
        root: AgentId,
        /// The number given.
        after: u64,
    },
    /// The caller asked for a tree as it was, and events that tell that were pruned.
    #[error(
        "how tree {root} was after event {at} is no longer known: its events up to number {} were pruned",
        .first - 1
    )]
    PastGone {
        /// The root of the tree.
        root: AgentId,
        /// The number given.
        at: u64,
        /// The first event that is still kept.
        first: u64,
    },
    /// The earlier items of a kept thread could not be loaded from the thread store.
    #[error(
        "the earlier messages between `{0}` and `{1}` in chat `{2}` could not be loaded: {cause}. Nothing \
         was changed; send the message again later", key.recipient, key.sender, key.chat
    )]
    NotLoaded {
        /// Which thread.
        key: Box<ThreadKey>,
        /// The thread store's error.
        cause: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] entourage_store::Error),
    /// The engine stopped an activation that made no progress for too long.
    #[error(
        "agent {agent} neither committed nor streamed anything for {seconds} s and was stopped; it resumes \
         from its last commit"
    )]
    Stuck {
        /// Which agent.
        agent: AgentId,
        /// For how many seconds it made no progress.
        seconds: u64,
    },
    /// Other agents go first, or this node has lost its lease. The dispatcher tries again; this is no failure.
    #[error("agent {agent} is resumed later: other agents go first, or another node may be at work on it")]
    NotYet {
        /// Which agent.
        agent: AgentId,
        /// After how long.
        after: Duration,
    },
    /// Ending the agent's run has ended a process: the run stays as it is until a person stops the agent.
    #[error(
        "ending the run of agent {agent} ended the process, so it is left open: `entourage stop {agent}` tries again"
    )]
    LeftOpen {
        /// Which agent.
        agent: AgentId,
    },
    /// The kinds' files have mistakes.
    #[error("the kinds cannot be loaded:\n{0}")]
    Kinds(String),
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<SectionError> for Error {
    fn from(error: SectionError) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl Error {
    /// The error for a question that was closed before.
    pub(crate) fn not_open(question: &Question) -> Self {
        let Question { id, status, owner, updated, .. } = question;
        let answer = question.answer_in_words();
        let how = match (status, answer) {
            (QuestionStatus::Expired, Some(declared)) => format!("nobody answered, so `{declared}` applies"),
            (QuestionStatus::Expired, None) => "nobody answered".to_owned(),
            (_, Some(answer)) => format!("`{answer}`, by {owner}"),
            (_, None) => format!("by {owner}"),
        };
        Self::NotOpen { id: *id, status: *status, how: format!("{how}, at {updated}") }
    }

    /// The error for a missing row.
    pub(crate) fn not_found(noun: &'static str, id: impl ToString) -> Self {
        Self::NotFound { noun, id: id.to_string() }
    }
}

fn calls(answered: usize) -> String {
    if answered == 1 { "1 call".to_owned() } else { format!("{answered} calls") }
}
