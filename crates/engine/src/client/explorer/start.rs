//! Starting an agent as S3's `agent()` does: from a prompt or a history, under a name, below an active agent.

use entourage_store::{Commit, Error as StoreError, Expect, Versioned, Write};
use entourage_types::{
    Agent, AgentId, AgentName, AgentState, Annotations, Author, EntityKind, ItemBody, Message, RecordWrite,
    StreamToken, Turn, Unread, check_nesting, is_blank,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::token::use_of;
use crate::{Client, Error, NewAgent, Result, client::create::message_post};

/// The kind that explores unless another is named.
const EXPLORER: &str = "explorer";
/// Why no agent can be put below another one.
const NOT_ACTIVE: &str = "it is not active, and only an active agent can be a parent";
/// The most earlier messages that an agent may begin with.
const MOST_MESSAGES: usize = 1_000;
/// The most bytes of metadata, as JSON.
const MOST_METADATA: usize = 64 << 10;

/// An agent that explores (S3-R077).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NewExploration {
    /// What it explores.
    pub input: ExplorationInput,
    /// The name by which its caller knows it; its id if there is none (S3-R078).
    pub name: Option<String>,
    /// The name or id of the active agent below which it is put (S3-R008). It works for the person all the same.
    pub parent: Option<String>,
    /// Its kind; `explorer` if none is given.
    pub kind: Option<String>,
    /// What its caller wants to keep with it (S3-R095).
    pub metadata: Map<String, Value>,
}

/// What an exploration begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum ExplorationInput {
    /// A question.
    Prompt(String),
    /// A conversation, whose last message is the person's.
    Messages(Vec<EarlierMessage>),
}

impl From<&str> for ExplorationInput {
    fn from(prompt: &str) -> Self {
        Self::Prompt(prompt.to_owned())
    }
}

impl From<String> for ExplorationInput {
    fn from(prompt: String) -> Self {
        Self::Prompt(prompt)
    }
}

impl From<Vec<EarlierMessage>> for ExplorationInput {
    fn from(messages: Vec<EarlierMessage>) -> Self {
        Self::Messages(messages)
    }
}

/// A message of a conversation that the agent goes on with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierMessage {
    /// Who said it.
    pub role: Speaker,
    /// What they said.
    pub content: String,
}

/// Who said a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The person.
    User,
    /// The agent.
    Assistant,
}

impl NewExploration {
    /// An agent that explores this question.
    #[must_use]
    pub fn of(prompt: impl Into<String>) -> Self {
        let input = ExplorationInput::Prompt(prompt.into());
        Self { input, name: None, parent: None, kind: None, metadata: Map::new() }
    }

    /// Whether it gives an agent nothing to explore.
    pub(super) fn is_blank(&self) -> bool {
        matches!(&self.input, ExplorationInput::Prompt(prompt) if is_blank(prompt))
    }

    /// What the agent reads first, and what was said before.
    fn split(&self) -> Result<(&str, &[EarlierMessage])> {
        match &self.input {
            ExplorationInput::Prompt(prompt) if is_blank(prompt) => {
                Err(Error::Invalid("the prompt is blank: say what to explore".into()))
            }
            ExplorationInput::Prompt(prompt) => Ok((prompt, &[])),
            ExplorationInput::Messages(messages) => match messages.split_last() {
                Some((EarlierMessage { role: Speaker::User, content }, earlier)) => {
                    if earlier.len() >= MOST_MESSAGES {
                        let count = messages.len();
                        return Err(Error::Invalid(format!(
                            "{count} messages are given; at most {MOST_MESSAGES} are taken"
                        )));
                    }
                    if let Some(blank) = messages.iter().position(|said| is_blank(&said.content)) {
                        return Err(Error::Invalid(format!("message {blank} is blank")));
                    }
                    Ok((content, earlier))
                }
                Some(_) => {
                    Err(Error::Invalid("the last message is not the user's: end with what to do".into()))
                }
                None => Err(Error::Invalid("there is neither a prompt nor a message: give one".into())),
            },
        }
    }
}

impl Client {
    /// Starts an agent that explores; it works on by itself. The same `key` with the same request returns the agent of
    /// the first request.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a blank prompt, a history that does not end with the person's words, a name that cannot be
    /// one, and metadata that are too large; [`Error::NameTaken`] if the name belongs to an active agent (S3-R007);
    /// [`Error::NotFound`] and [`Error::NotNow`] if the parent is unknown or not active (S3-R008); and as for
    /// [`Client::create`].
    pub async fn explore(&self, new: NewExploration, key: Option<&str>) -> Result<Agent> {
        self.begin(&new, key, None).await
    }

    /// Starts it, with the use of this token in the same commit.
    pub(super) async fn begin(
        &self,
        new: &NewExploration,
        key: Option<&str>,
        token: Option<&Versioned<StreamToken>>,
    ) -> Result<Agent> {
        let request = serde_json::to_string(new)?;
        if let Some(first) = self.first_answer(key, &request).await? {
            return self.made_before(first).await;
        }
        let (prompt, earlier) = new.split()?;
        check_metadata(&new.metadata)?;
        if let Some(name) = &new.name {
            self.checked_agent_name(name).await?;
        }
        let parent = match &new.parent {
            Some(parent) => Some(self.active_parent(parent).await?),
            None => None,
        };
        let kind = Some(new.kind.clone().unwrap_or_else(|| EXPLORER.to_owned()));
        let core = NewAgent { kind, title: None, message: Some(prompt.to_owned()), parent };
        loop {
            let (mut agent, mut commit) = self.prepare(&core).await?;
            let history = self.engine.seed_transcript(&mut agent, earlier.iter().map(item_of).collect());
            commit.push(Write::NewAgent(agent.clone()));
            commit.writes.extend(history);
            commit.post(message_post(&agent, prompt.to_owned(), false), &self.owner);
            commit.push(Write::record(&Annotations {
                name: new.name.clone(),
                content: Some(prompt.to_owned()),
                metadata: new.metadata.clone(),
                ..Annotations::of(&agent, commit.at)
            })?);
            if let Some(name) = &new.name {
                match self.take_name(name, &agent, &mut commit).await {
                    // It may be that of the first request with this key.
                    Err(taken @ Error::NameTaken { .. }) => {
                        return match self.first_answer(key, &request).await? {
                            Some(first) => self.made_before(first).await,
                            None => Err(taken),
                        };
                    }
                    done => done?,
                }
            }
            commit.expect.extend(parent.map(Expect::Living));
            if let Some(token) = token {
                commit.record(use_of(token, &agent, new, commit.at)?);
            }
            match self.commit_created(agent, commit, key, &request).await {
                // Another caller took the name at the same moment.
                Err(Error::Store(StoreError::OtherVersion { kind: EntityKind::AGENT_NAME, .. })) => {}
                Err(Error::Store(StoreError::HasEnded { agent })) => {
                    return Err(Error::NotNow { agent, why: NOT_ACTIVE });
                }
                created => return created,
            }
        }
    }

    /// Gives the name to an agent that the commit creates, unless an active agent has it.
    async fn take_name(&self, name: &str, agent: &Agent, commit: &mut Commit) -> Result<()> {
        let holder = self.holder(name).await?;
        if let Some(holder) = &holder
            && self.is_active(holder.record.agent).await?
        {
            return Err(Error::NameTaken { name: name.to_owned(), agent: holder.record.agent });
        }
        let (created, version) =
            holder.map_or((commit.at, 0), |holder| (holder.record.created, holder.version));
        let (owner, name) = (agent.owner.clone(), name.to_owned());
        let (root, updated) = (agent.root, commit.at);
        let taken = AgentName { owner, name, agent: agent.id, root, created, updated };
        commit.record(RecordWrite::of(&taken)?.at_version(version));
        Ok(())
    }

    /// The agent below which another is to be put.
    async fn active_parent(&self, name: &str) -> Result<AgentId> {
        let parent = self.named_agent(name).await?;
        if !self.state_of(&parent).await?.is_active() {
            return Err(Error::NotNow { agent: parent.id, why: NOT_ACTIVE });
        }
        Ok(parent.id)
    }

    /// Whether an agent is active; one that was forgotten is not.
    pub(super) async fn is_active(&self, id: AgentId) -> Result<bool> {
        match self.agent(id).await {
            Ok(agent) => Ok(self.state_of(&agent).await?.is_active()),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The state of an agent, by what it does and by what it has to read.
    pub(super) async fn state_of(&self, agent: &Agent) -> Result<AgentState> {
        Ok(match self.with_empty_inbox(agent).await? {
            Some(read) => read.state(Unread::Nothing),
            None => agent.state(Unread::Something),
        })
    }
}

fn item_of(said: &EarlierMessage) -> ItemBody {
    let text = said.content.clone();
    match said.role {
        Speaker::User => ItemBody::Message(Message::new(Author::User, text, None)),
        Speaker::Assistant => ItemBody::Turn(Turn { text, calls: Vec::new(), used: None, asked: None }),
    }
}

/// Refuses metadata that are too large or nested too deep.
fn check_metadata(metadata: &Map<String, Value>) -> Result<()> {
    let metadata = Value::Object(metadata.clone());
    let length = metadata.to_string().len();
    if length > MOST_METADATA {
        return Err(Error::Invalid(format!(
            "the metadata have {length} bytes; at most {MOST_METADATA} are taken"
        )));
    }
    check_nesting(&metadata).map_err(|error| Error::Invalid(format!("the metadata are {error}")))
}
