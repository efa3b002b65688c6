//! Finds the agent, run, question, grant or schedule that a user means: by its id, by a part of it, by a name or the title
//! of a goal, or the newest.

use std::{fmt::Display, str::FromStr};

use async_trait::async_trait;
use entourage_api::{ListAgents, ListRuns, Question};
use entourage_types::{
    AgentId, CallId, CommitId, DeliveryId, DocumentId, GrantId, InterventionId, LearningId, NodeId, NoteId,
    PostId, ProjectId, QuestionId, RunId, ScheduleId, SessionId, TaskId, WakeupId,
};

use super::{
    backend::{Backend, Result},
    describe,
    failure::Failure,
};

/// Stands for the newest.
const LAST: &str = "@last";
/// The fewest characters of an id that are looked up.
pub(crate) const FEWEST: usize = 4;
/// How many matches are listed if there are several.
pub(crate) const NAMED: usize = 5;
/// What the ids of all nouns begin with.
const PREFIXES: [&str; 18] = [
    AgentId::PREFIX,
    RunId::PREFIX,
    CommitId::PREFIX,
    NodeId::PREFIX,
    TaskId::PREFIX,
    QuestionId::PREFIX,
    InterventionId::PREFIX,
    GrantId::PREFIX,
    ScheduleId::PREFIX,
    PostId::PREFIX,
    WakeupId::PREFIX,
    CallId::PREFIX,
    NoteId::PREFIX,
    LearningId::PREFIX,
    SessionId::PREFIX,
    DeliveryId::PREFIX,
    ProjectId::PREFIX,
    DocumentId::PREFIX,
];

/// What a user typed for an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IdInput<T> {
    /// The newest.
    Last,
    /// This one.
    Id(T),
    /// The one whose id begins or ends with these digits, unless one has the name that was typed.
    Part {
        /// The digits, without the prefix.
        digits: String,
        /// What was typed.
        typed: String,
    },
    /// The one whose caller gave it this name, or whose goal has this title.
    Name(String),
}

/// A thing with ids that users type.
#[async_trait]
pub(crate) trait Named: Copy + Display + FromStr + Send + Sync {
    /// What it is called.
    const NOUN: &'static str;
    /// What its ids begin with.
    const PREFIX: &'static str;
    /// Which command lists them.
    const LIST: &'static str;
    /// The error when there is none.
    const NONE: &'static str;

    /// Whether they may have names of their callers, or goals with titles.
    const HAS_NAMES: bool = false;

    /// The one, active or not, that its caller gave this name last; if there is none, the one whose goal has this title.
    async fn by_name(_: &Backend, _: &str) -> Result<Option<Self>> {
        Ok(None)
    }

    /// The one that `@last` means: the newest; for questions, the only open one.
    async fn last(backend: &Backend) -> Result<Option<Self>>;

    /// All candidates for a part of an id, each with a text that distinguishes it.
    async fn all(backend: &Backend) -> Result<Vec<(Self, String)>>;
}

impl<T: Named> FromStr for IdInput<T> {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, String> {
        let given = given.trim();
        if given == LAST {
            return Ok(Self::Last);
        }
        if let Ok(id) = given.parse() {
            return Ok(Self::Id(id));
        }
        let part = given.strip_prefix(T::PREFIX).and_then(|part| part.strip_prefix('_')).unwrap_or(given);
        let digits = part.trim_end_matches('…').to_ascii_lowercase();
        if digits.len() >= FEWEST && is_hex(&digits) {
            return Ok(Self::Part { digits, typed: given.to_owned() });
        }
        if T::HAS_NAMES && no_title(given).is_none() {
            return Ok(Self::Name(given.to_owned()));
        }
        let (noun, prefix) = (T::NOUN, T::PREFIX);
        Err(format!(
            "not a valid {noun} id. Give {prefix}_…, its first or last characters ({FEWEST} at least), or \
             {LAST}"
        ))
    }
}

impl<T: Named> IdInput<T> {
    /// Finds the id.
    pub(crate) async fn find(&self, backend: &Backend) -> Result<T> {
        let named = match self {
            Self::Name(typed) | Self::Part { typed, .. } => T::by_name(backend, typed).await?,
            Self::Id(_) | Self::Last => None,
        };
        self.find_unless(backend, named).await
    }

    /// Finds the id, unless what was typed is the name of this one: a whole name means more than a part of an id.
    async fn find_unless(&self, backend: &Backend, named: Option<T>) -> Result<T> {
        if let Some(named) = named {
            return Ok(named);
        }
        let list = T::LIST;
        let digits = match self {
            Self::Id(id) => return Ok(*id),
            Self::Last => {
                return T::last(backend).await?.ok_or_else(|| Failure::usage(T::NONE));
            }
            Self::Part { digits, .. } => digits,
            Self::Name(name) => {
                let (noun, prefix) = (T::NOUN, T::PREFIX);
                return Err(Failure::usage(format!(
                    "no {noun} has the id `{name}`. Give {prefix}_…, its first or last characters \
                     ({FEWEST} at least), {LAST}, the id that it was given, or the title of its goal; {list}"
                )));
            }
        };
        let mut meant = T::all(backend).await?;
        meant.retain(|(id, _)| {
            let id = id.to_string();
            let all = id.rsplit('_').next().unwrap_or_default();
            all.starts_with(digits.as_str()) || all.ends_with(digits.as_str())
        });
        match meant.as_slice() {
            [(id, _)] => Ok(*id),
            [] => Err(Failure::usage(format!("there is no {} `{digits}`. {list}", T::NOUN))),
            several => Err(ambiguous(digits, T::NOUN, several, "Give more of the id")),
        }
    }
}

impl IdInput<AgentId> {
    /// Finds the agent of a goal where a goal is meant: its title comes first.
    pub(crate) async fn find_goal(&self, backend: &Backend) -> Result<AgentId> {
        let (Self::Name(typed) | Self::Part { typed, .. }) = self else { return self.find(backend).await };
        let named = match titled(backend, typed).await? {
            Some(agent) => Some(agent),
            None => named(backend, typed).await?,
        };
        self.find_unless(backend, named).await
    }
}

/// The agent that its caller gave this name last.
async fn named(backend: &Backend, name: &str) -> Result<Option<AgentId>> {
    if no_name(name).is_some() { Ok(None) } else { backend.agent_named(name).await }
}

/// The agent of the goal of this title.
async fn titled(backend: &Backend, title: &str) -> Result<Option<AgentId>> {
    let goals = backend.goals_titled(title).await?.into_iter();
    let goals: Vec<(AgentId, String)> =
        goals.map(|goal| (goal.agent, format!("{}: {}", goal.status, goal.title))).collect();
    match goals.as_slice() {
        [] => Ok(None),
        [(agent, _)] => Ok(Some(*agent)),
        several => Err(ambiguous(title, "goal", several, "Give the id")),
    }
}

/// What was typed may be several; each is told with what distinguishes it, and then what to do.
pub(crate) fn ambiguous<T: Display>(typed: &str, noun: &str, several: &[(T, String)], next: &str) -> Failure {
    let told = several.iter().take(NAMED).map(|(id, about)| format!("{id} ({})", describe::cut(about, 60)));
    let more = (several.len() > NAMED).then(|| format!("{} more", several.len() - NAMED));
    let told: Vec<String> = told.chain(more).collect();
    Failure::usage(format!("`{typed}` may be {} {noun}s: {}. {next}", several.len(), told.join(", ")))
}

/// A name for a new agent by which all commands find it again.
///
/// # Errors
/// Why it is none.
pub(crate) fn new_name(given: &str) -> Result<String, String> {
    no_name(given)
        .map_or_else(|| Ok(given.to_owned()), |why| Err(format!("this cannot be an agent's id: {why}")))
}

/// Why this is no name that a caller gave an agent, as far as that can be seen.
fn no_name(given: &str) -> Option<&'static str> {
    if given.starts_with('@') {
        return Some("what begins with `@` stands for an agent, as `@last` does");
    }
    no_title(given).or_else(|| {
        // Control characters are shown with backslashes, and copied like that.
        let unnamed = given.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\');
        unnamed.then_some("it has a blank, a control character or a backslash")
    })
}

/// Why a goal is not found by this title: it means something else.
fn no_title(given: &str) -> Option<&'static str> {
    if given.is_empty() {
        return Some("it is empty");
    }
    if given == LAST {
        return Some("it stands for the newest agent");
    }
    let looks_like_id = given
        .split_once('_')
        .is_some_and(|(prefix, rest)| PREFIXES.contains(&prefix) && is_hex(rest.trim_end_matches('…')));
    looks_like_id.then_some("it looks like an id that was made here")
}

pub(crate) fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[async_trait]
impl Named for AgentId {
    const NOUN: &'static str = "agent";
    const PREFIX: &'static str = Self::PREFIX;
    const LIST: &'static str = "`entourage agents` lists them, `entourage goals` those of goals";
    const NONE: &'static str = "there is no agent yet. `entourage run \"…\"` starts one";
    const HAS_NAMES: bool = true;

    async fn by_name(backend: &Backend, name: &str) -> Result<Option<Self>> {
        let named = named(backend, name).await?;
        if named.is_some() { Ok(named) } else { titled(backend, name).await }
    }

    async fn last(backend: &Backend) -> Result<Option<Self>> {
        let newest = ListAgents { roots: true, limit: Some(1), ..ListAgents::default() };
        Ok(backend.agents(&newest).await?.data.first().map(|agent| agent.id))
    }

    async fn all(backend: &Backend) -> Result<Vec<(Self, String)>> {
        let all = backend.all_agents().await?;
        Ok(all.into_iter().map(|agent| (agent.id, format!("{}: {}", agent.kind, agent.title))).collect())
    }
}

#[async_trait]
impl Named for RunId {
    const NOUN: &'static str = "run";
    const PREFIX: &'static str = Self::PREFIX;
    const LIST: &'static str = "`entourage runs` lists them";
    const NONE: &'static str = "there is no run yet. `entourage run \"…\"` starts one";

    async fn last(backend: &Backend) -> Result<Option<Self>> {
        let newest = ListRuns { limit: Some(1), ..ListRuns::default() };
        Ok(backend.runs(&newest).await?.data.first().map(|run| run.id))
    }

    async fn all(backend: &Backend) -> Result<Vec<(Self, String)>> {
        let all = backend.all_runs().await?;
        Ok(all.into_iter().map(|run| (run.id, format!("{}: {}", run.agent, run.status))).collect())
    }
}

#[async_trait]
impl Named for QuestionId {
    const NOUN: &'static str = "open question";
    const PREFIX: &'static str = Self::PREFIX;
    const LIST: &'static str = "`entourage tree` lists them";
    const NONE: &'static str = "no question is open";
    const HAS_NAMES: bool = true;

    /// The open question of the agent of this name, or of this goal.
    async fn by_name(backend: &Backend, name: &str) -> Result<Option<Self>> {
        let Some(agent) = AgentId::by_name(backend, name).await? else { return Ok(None) };
        let mut open = backend.questions(None).await?;
        open.retain(|question| question.agent == agent);
        match open.as_slice() {
            [question] => Ok(Some(question.id)),
            [] => Err(Failure::usage(format!("no question of `{name}` is open"))),
            several => Err(several_open(several)),
        }
    }

    async fn last(backend: &Backend) -> Result<Option<Self>> {
        let open = backend.questions(None).await?;
        if let several @ [_, _, ..] = open.as_slice() {
            return Err(several_open(several));
        }
        Ok(open.first().map(|question| question.id))
    }

    async fn all(backend: &Backend) -> Result<Vec<(Self, String)>> {
        let open = backend.questions(None).await?;
        Ok(open
            .into_iter()
            .map(|question| (question.id, format!("{}: {}", question.kind, question.text)))
            .collect())
    }
}

fn several_open(open: &[Question]) -> Failure {
    let listed = open.iter().map(|question| {
        format!("{} ({}: {})", question.id, question.kind, describe::cut(&question.text, 60))
    });
    Failure::usage(format!(
        "{} questions are open: {}. Name the one that you answer by its id, or a part of it",
        open.len(),
        listed.collect::<Vec<_>>().join(", ")
    ))
}

#[async_trait]
impl Named for GrantId {
    const NOUN: &'static str = "standing grant";
    const PREFIX: &'static str = Self::PREFIX;
    const LIST: &'static str = "`entourage grants` lists them";
    const NONE: &'static str = "no grant is in force";

    async fn last(backend: &Backend) -> Result<Option<Self>> {
        Ok(backend.grants(None).await?.first().map(|grant| grant.id))
    }

    async fn all(backend: &Backend) -> Result<Vec<(Self, String)>> {
        let standing = backend.grants(None).await?;
        Ok(standing.into_iter().map(|grant| (grant.id, grant.tool)).collect())
    }
}

#[async_trait]
impl Named for ScheduleId {
    const NOUN: &'static str = "schedule";
    const PREFIX: &'static str = Self::PREFIX;
    const LIST: &'static str = "`entourage schedules` lists them";
    const NONE: &'static str = "there is no schedule yet. `entourage schedules create AGENT` creates one";

    async fn last(backend: &Backend) -> Result<Option<Self>> {
        Ok(backend.schedules(None, None, Some(1)).await?.first().map(|schedule| schedule.id))
    }

    async fn all(backend: &Backend) -> Result<Vec<(Self, String)>> {
        let all = backend.schedules(None, None, None).await?;
        Ok(all.into_iter().map(|schedule| (schedule.id, schedule.trigger)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What looks like an id and is none is refused before any lookup; a name begins with no `@`, but a title may.
    #[test]
    fn an_argument_is_an_id_a_part_of_one_last_or_for_an_agent_a_name_or_the_title_of_its_goal() {
        let part = |given: &str| given.parse::<IdInput<AgentId>>();
        let id = AgentId::new();
        assert_eq!(part("@last"), Ok(IdInput::Last));
        assert_eq!(part(&id.to_string()), Ok(IdInput::Id(id)));
        for (given, wanted) in
            [("agt_0199", "0199"), ("0199A", "0199a"), ("agt_0199…", "0199"), ("beef", "beef")]
        {
            let wanted = IdInput::Part { digits: wanted.into(), typed: given.into() };
            assert_eq!(part(given), Ok(wanted), "{given}");
        }
        for title in ["two words", "a\\u{1b}", " See Rome "] {
            assert_eq!(part(title), Ok(IdInput::Name(title.trim().into())), "as its goal is called");
            assert!(new_name(title).is_err(), "{title}");
        }
        for name in ["winter-2", "log_files", "agt_winter", "the_beef", "a@b"] {
            assert_eq!(part(name), Ok(IdInput::Name(name.into())), "as its caller named it");
            assert_eq!(new_name(name), Ok(name.to_owned()), "what is found by a name may have it");
        }
        assert!("winter-2".parse::<IdInput<RunId>>().is_err(), "only agents have names");
        for wrong in ["", " ", "agt_", "agt_123", "qst_0199", "run_1"] {
            assert!(part(wrong).is_err_and(|why| why.contains("agt_…")), "{wrong}");
            assert!(new_name(wrong).is_err(), "{wrong}");
        }
        for title in ["@first", "@home: paint it"] {
            assert_eq!(part(title), Ok(IdInput::Name(title.into())), "as its goal is called");
            assert!(new_name(title).is_err(), "{title}");
        }
        assert!(new_name("@last").is_err());
    }
}
