//! Finds the agent, run, question or grant that a user means: by its id, by a part of it, or the newest.

use std::{fmt::Display, str::FromStr};

use async_trait::async_trait;
use entourage_api::{ListAgents, ListRuns};
use entourage_types::{AgentId, GrantId, QuestionId, RunId};

use super::{
    backend::{Backend, Result},
    describe,
    failure::Failure,
};

/// Stands for the newest.
const LAST: &str = "@last";
/// The fewest characters of an id that are looked up.
const FEWEST: usize = 4;
/// How many matches are listed if there are several.
const NAMED: usize = 5;

/// What a user typed for an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IdInput<T> {
    /// The newest.
    Last,
    /// This one.
    Id(T),
    /// The one whose id begins or ends with this, without its prefix, or whose caller gave it this name.
    Part(String),
    /// The one whose caller gave it this name.
    Name(String),
}

/// A thing with ids that users type.
#[async_trait]
pub(crate) trait Named: Copy + Display + FromStr + Send + Sync {
    /// What it is called.
    const NOUN: &'static str;
    /// What its ids begin with.
    const PREFIX: &'static str;
    /// The command that lists them.
    const LIST: &'static str;
    /// The error when there is none.
    const NONE: &'static str;

    /// Whether those that are active may have names of their callers.
    const HAS_NAMES: bool = false;

    /// The active one that its caller gave this name.
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
        if given == LAST {
            return Ok(Self::Last);
        }
        if let Ok(id) = given.parse() {
            return Ok(Self::Id(id));
        }
        let part = given.strip_prefix(T::PREFIX).and_then(|part| part.strip_prefix('_')).unwrap_or(given);
        let part = part.trim_end_matches('…').to_ascii_lowercase();
        if part.len() >= FEWEST && part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self::Part(part));
        }
        if T::HAS_NAMES && may_be_name(given) {
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
        let list = format!("`{}` lists them", T::LIST);
        let part = match self {
            Self::Id(id) => return Ok(*id),
            Self::Last => {
                return T::last(backend).await?.ok_or_else(|| Failure::usage(T::NONE));
            }
            Self::Part(part) => part,
            Self::Name(name) => {
                let named = T::by_name(backend, name).await?;
                return named.ok_or_else(|| {
                    Failure::usage(format!("no active {} has the id `{name}`. {list}", T::NOUN))
                });
            }
        };
        let mut meant = T::all(backend).await?;
        meant.retain(|(id, _)| {
            let id = id.to_string();
            let digits = id.rsplit('_').next().unwrap_or_default();
            digits.starts_with(part.as_str()) || digits.ends_with(part.as_str())
        });
        match meant.as_slice() {
            [(id, _)] => Ok(*id),
            [] => {
                let named = T::by_name(backend, part).await?;
                named.ok_or_else(|| Failure::usage(format!("there is no {} `{part}`. {list}", T::NOUN)))
            }
            several => {
                let mut named: Vec<String> = several
                    .iter()
                    .take(NAMED)
                    .map(|(id, about)| format!("{id} ({})", describe::cut(about, 30)))
                    .collect();
                named.extend((several.len() > NAMED).then(|| format!("{} more", several.len() - NAMED)));
                Err(Failure::usage(format!(
                    "`{part}` may be {} {}s: {}. Give more of the id",
                    several.len(),
                    T::NOUN,
                    named.join(", ")
                )))
            }
        }
    }
}

/// Whether callers may have given an agent this name: no blanks, and nothing that looks like an id.
fn may_be_name(given: &str) -> bool {
    let looks_like_id = given.split_once('_').is_some_and(|(prefix, _)| {
        prefix.len() == AgentId::PREFIX.len() && prefix.bytes().all(|byte| byte.is_ascii_lowercase())
    });
    !given.is_empty()
        && !given.starts_with('@')
        && !looks_like_id
        && !given.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[async_trait]
impl Named for AgentId {
    const NOUN: &'static str = "agent";
    const PREFIX: &'static str = Self::PREFIX;
    const LIST: &'static str = "entourage agents";
    const NONE: &'static str = "there is no agent yet. `entourage run \"…\"` starts one";
    const HAS_NAMES: bool = true;

    async fn by_name(backend: &Backend, name: &str) -> Result<Option<Self>> {
        let mut active = backend.active_agents().await?;
        active.retain(|active| active.name == name);
        Ok(active.pop().map(|active| active.agent.id))
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
    const LIST: &'static str = "entourage runs";
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
    const LIST: &'static str = "entourage tree";
    const NONE: &'static str = "no question is open";

    async fn last(backend: &Backend) -> Result<Option<Self>> {
        let open = backend.questions(None).await?;
        if let [_, _, ..] = open.as_slice() {
            let listed: Vec<String> = open
                .iter()
                .map(|question| {
                    format!("{} ({}: {})", question.id, question.kind, describe::cut(&question.text, 60))
                })
                .collect();
            return Err(Failure::usage(format!(
                "{} questions are open: {}. Name the one that you answer by its id, or a part of it",
                open.len(),
                listed.join(", ")
            )));
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

#[async_trait]
impl Named for GrantId {
    const NOUN: &'static str = "standing grant";
    const PREFIX: &'static str = Self::PREFIX;
    const LIST: &'static str = "entourage grants";
    const NONE: &'static str = "no grant is in force";

    async fn last(backend: &Backend) -> Result<Option<Self>> {
        Ok(backend.grants(None).await?.first().map(|grant| grant.id))
    }

    async fn all(backend: &Backend) -> Result<Vec<(Self, String)>> {
        let standing = backend.grants(None).await?;
        Ok(standing.into_iter().map(|grant| (grant.id, grant.tool)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that is no id, no part of one and not `@last` is refused before any lookup.
    #[test]
    fn an_argument_is_an_id_a_part_of_one_or_last_and_nothing_else() {
        let part = |given: &str| given.parse::<IdInput<AgentId>>();
        let id = AgentId::new();
        assert_eq!(part("@last"), Ok(IdInput::Last));
        assert_eq!(part(&id.to_string()), Ok(IdInput::Id(id)));
        for (given, wanted) in
            [("agt_0199", "0199"), ("0199A", "0199a"), ("agt_0199…", "0199"), ("beef", "beef")]
        {
            assert_eq!(part(given), Ok(IdInput::Part(wanted.into())), "{given}");
        }
        assert_eq!(part("winter-2"), Ok(IdInput::Name("winter-2".into())), "as its caller named it");
        assert!("winter-2".parse::<IdInput<RunId>>().is_err(), "only agents have names");
        for wrong in ["", "@first", "agt_", "agt_123", "qst_0199", "two words"] {
            assert!(part(wrong).is_err_and(|why| why.contains("agt_…")), "{wrong}");
        }
    }
}
