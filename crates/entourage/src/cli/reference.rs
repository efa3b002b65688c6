//! Finds the project, document or chat that a user means: by its name, its number or its id.

use std::{fmt::Display, str::FromStr};

use entourage_api::{DocumentHead, Project, ProjectChat};
use entourage_types::{AgentId, DocumentId, ProjectId, fold_name};

use super::{
    backend::{Backend, Result},
    failure::Failure,
    globals::quoted,
    id_input::{FEWEST, ambiguous, is_hex},
};

/// What a user typed for a project, a document or a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference(String);

impl FromStr for Reference {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, String> {
        match given.trim() {
            "" => Err("it is empty. Give a name, a number or an id".to_owned()),
            given => Ok(Self(given.to_owned())),
        }
    }
}

/// Something that has an id, and perhaps a number or a name.
trait Referable {
    const NOUN: &'static str;
    const PREFIX: &'static str;
    type Id: Display;

    fn id(&self) -> Self::Id;
    fn number(&self) -> Option<u64>;
    fn name(&self) -> Option<&str>;
}

impl Referable for Project {
    const NOUN: &'static str = "project";
    const PREFIX: &'static str = ProjectId::PREFIX;
    type Id = ProjectId;

    fn id(&self) -> ProjectId {
        self.id
    }

    fn number(&self) -> Option<u64> {
        Some(self.number)
    }

    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }
}

impl Referable for DocumentHead {
    const NOUN: &'static str = "document";
    const PREFIX: &'static str = DocumentId::PREFIX;
    type Id = DocumentId;

    fn id(&self) -> DocumentId {
        self.id
    }

    fn number(&self) -> Option<u64> {
        Some(self.number)
    }

    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }
}

impl Referable for ProjectChat {
    const NOUN: &'static str = "chat";
    const PREFIX: &'static str = AgentId::PREFIX;
    type Id = AgentId;

    fn id(&self) -> AgentId {
        self.agent
    }

    fn number(&self) -> Option<u64> {
        Some(self.number)
    }

    fn name(&self) -> Option<&str> {
        None
    }
}

impl Reference {
    /// The project.
    pub(crate) async fn project(&self, backend: &Backend) -> Result<Project> {
        self.known_project(backend).await?.ok_or_else(|| {
            let (typed, name) = (&self.0, quoted(&self.0));
            Failure::not_found(format!(
                "there is no project `{typed}`. `entourage projects` lists them, `entourage projects create {name}` \
                 creates it"
            ))
        })
    }

    /// The project, which is created if there is none.
    pub(crate) async fn project_or_new(&self, backend: &Backend) -> Result<Project> {
        match self.known_project(backend).await? {
            Some(project) => Ok(project),
            None if self.looks_like_id(Project::PREFIX) => self.project(backend).await,
            None => backend.create_project(&self.0, "").await,
        }
    }

    async fn known_project(&self, backend: &Backend) -> Result<Option<Project>> {
        self.one_of(backend.projects().await?)
    }

    /// The document, of this project or of any.
    pub(crate) async fn document(&self, backend: &Backend, of: Option<&Self>) -> Result<DocumentHead> {
        if let Some(of) = of {
            let project = of.project(backend).await?;
            return self.document_of(backend, &project).await;
        }
        if let Ok(id) = self.0.parse() {
            return Ok(backend.document(id).await?.head);
        }
        let mut all = Vec::new();
        for project in backend.projects().await? {
            all.extend(backend.documents(project.id).await?);
        }
        let unknown = || {
            let typed = &self.0;
            Failure::not_found(format!("there is no document `{typed}`. `entourage documents` lists them"))
        };
        self.one_of(all)?.ok_or_else(unknown)
    }

    /// The document of a project.
    pub(crate) async fn document_of(&self, backend: &Backend, project: &Project) -> Result<DocumentHead> {
        let found = self.one_of(backend.documents(project.id).await?)?;
        found.ok_or_else(|| {
            let (typed, name, quoted) = (&self.0, &project.name, quoted(&project.name));
            Failure::not_found(format!(
                "there is no document `{typed}` in project `{name}`. `entourage documents list --project {quoted}` \
                 lists them"
            ))
        })
    }

    /// The chat about a project.
    pub(crate) async fn chat_of(&self, backend: &Backend, project: &Project) -> Result<ProjectChat> {
        let found = self.one_of(backend.project_chats(project.id).await?)?;
        found.ok_or_else(|| {
            let (typed, name, quoted) = (&self.0, &project.name, quoted(&project.name));
            Failure::not_found(format!(
                "there is no chat `{typed}` about project `{name}`. `entourage projects chats {quoted}` lists them; \
                 without --chat a new one begins"
            ))
        })
    }

    /// The one that is meant, if any is.
    fn one_of<T: Referable>(&self, all: Vec<T>) -> Result<Option<T>> {
        let mut meant = self.meant(all);
        if meant.len() < 2 {
            return Ok(meant.pop());
        }
        let several: Vec<(T::Id, String)> = meant.iter().map(|one| (one.id(), described(one))).collect();
        Err(ambiguous(&self.0, T::NOUN, &several, "Give the id"))
    }

    /// The one with this id; if there is none, those with this name or this number, and else those with this part of an
    /// id.
    fn meant<T: Referable>(&self, mut all: Vec<T>) -> Vec<T> {
        if let Some(at) = all.iter().position(|one| one.id().to_string() == self.0) {
            return vec![all.swap_remove(at)];
        }
        let (folded, number) = (fold_name(&self.0), self.0.parse::<u64>().ok());
        let is_named = |one: &T| {
            (number.is_some() && number == one.number())
                || one.name().is_some_and(|name| fold_name(name) == folded)
        };
        let (named, others): (Vec<T>, Vec<T>) = all.into_iter().partition(is_named);
        if !named.is_empty() {
            return named;
        }
        let Some(digits) = self.digits(T::PREFIX) else { return Vec::new() };
        let has_them = |one: &T| {
            let id = one.id().to_string();
            let all = id.rsplit('_').next().unwrap_or_default();
            all.starts_with(&digits) || all.ends_with(&digits)
        };
        others.into_iter().filter(has_them).collect()
    }

    /// The digits of an id, or of a part of one, if it can be that.
    fn digits(&self, prefix: &str) -> Option<String> {
        let part = self.0.strip_prefix(prefix).and_then(|part| part.strip_prefix('_')).unwrap_or(&self.0);
        let digits = part.trim_end_matches('…').to_ascii_lowercase();
        (digits.len() >= FEWEST && is_hex(&digits)).then_some(digits)
    }

    fn looks_like_id(&self, prefix: &str) -> bool {
        self.0.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('_')) && self.digits(prefix).is_some()
    }
}

/// What distinguishes one from the others.
fn described(one: &impl Referable) -> String {
    let (name, number) = (one.name().map(|name| format!("`{name}`")), one.number());
    let known: Vec<String> =
        name.into_iter().chain(number.map(|number| format!("number {number}"))).collect();
    known.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One(u64, &'static str, &'static str);

    impl Referable for One {
        const NOUN: &'static str = "one";
        const PREFIX: &'static str = "one";
        type Id = String;

        fn id(&self) -> String {
            format!("one_{}", self.2)
        }

        fn number(&self) -> Option<u64> {
            Some(self.0)
        }

        fn name(&self) -> Option<&str> {
            Some(self.1)
        }
    }

    fn meant(typed: &str) -> Vec<u64> {
        let all = vec![
            One(1, "Plan", "0199aa01"),
            One(2, "Café", "0199aa02"),
            One(3, "1", "0199aa03"),
            One(4, "aa01", "0199bb04"),
        ];
        let reference: Reference = typed.parse().unwrap();
        reference.meant(all).iter().filter_map(Referable::number).collect()
    }

    #[test]
    fn a_name_and_a_number_mean_more_than_a_part_of_an_id() {
        assert_eq!(meant(" plan "), [1], "however it is spelled");
        assert_eq!(meant("CAFE\u{301}"), [2]);
        assert_eq!(meant("2"), [2]);
        assert_eq!(meant("1"), [1, 3], "the number of one and the name of another");
        assert_eq!(meant("aa01"), [4]);
        assert_eq!(meant("one_aa01"), [1]);
        assert_eq!(meant("one_0199aa02"), [2]);
        assert_eq!(meant("0199aa"), [1, 2, 3]);
        for none in ["5", "a02", "Plans", "prj_aa01"] {
            assert_eq!(meant(none), [0_u64; 0], "{none}");
        }
        assert!(" ".parse::<Reference>().is_err());
    }
}
