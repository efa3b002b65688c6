//! Kinds are Markdown files: the built-in ones, and those of a user's directory, which add to them or
//! override them.

pub mod agencies;
mod approval;
mod check;
mod file;
mod foreign_tool_names;
pub(crate) mod front_matter;
mod lenient;
mod load;
pub(crate) mod pattern;
mod text;
mod yaml;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, LazyLock},
};

use entourage_types::Kind;

use crate::{Error, Result};
use agencies::Agency;

pub use check::{Finding, Severity};
pub use file::{bad_name, parse};
pub use pattern::names as names_tool;
pub use text::read as read_text;

/// The files of the built-in kinds in `agents/`.
const BUILTIN: [(&str, &str); 9] = [
    ("agents/assistant.md", include_str!("../../../../agents/assistant.md")),
    ("agents/documents.md", include_str!("../../../../agents/documents.md")),
    ("agents/explorer.md", include_str!("../../../../agents/explorer.md")),
    ("agents/general.md", include_str!("../../../../agents/general.md")),
    ("agents/goal.md", include_str!("../../../../agents/goal.md")),
    ("agents/orchestrator.md", include_str!("../../../../agents/orchestrator.md")),
    ("agents/researcher.md", include_str!("../../../../agents/researcher.md")),
    ("agents/task.md", include_str!("../../../../agents/task.md")),
    ("agents/user_agent.md", include_str!("../../../../agents/user_agent.md")),
];

/// The kinds of an engine, by name.
#[derive(Debug, Clone, Default)]
pub struct Kinds {
    kinds: BTreeMap<String, Arc<Kind>>,
    agencies: BTreeMap<String, Arc<Agency>>,
    /// The files that define the loaded kinds and agencies.
    files: BTreeMap<(Noun, String), PathBuf>,
    /// The mistakes in files of kinds that do not load, by the names of these kinds.
    left_out: BTreeMap<String, Vec<Finding>>,
    /// The mistakes in other files that are left out, with the name that each file defines: another file may
    /// define a kind or an agency of that name.
    others_left_out: Vec<(String, Finding)>,
}

/// What a file defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Noun {
    Kind,
    Agency,
}

impl Kinds {
    /// No kinds at all.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The kinds that come with the program.
    #[must_use]
    pub fn builtin() -> Self {
        static READ: LazyLock<Kinds> = LazyLock::new(|| {
            let mut kinds = Kinds::none();
            for (path, text) in BUILTIN {
                // A test loads each of them; a mistake cannot reach a user.
                if let (Some(kind), _) = parse(path, text) {
                    kinds.add(kind);
                }
            }
            kinds
        });
        READ.clone()
    }

    /// Adds a kind, replacing one of the same name. A kind without a version, because it was not read from a
    /// file or is a member of an agency, gets it here.
    pub fn add(&mut self, mut kind: Kind) {
        self.left_out.remove(&kind.name);
        if kind.version.is_empty() {
            kind.version = file::version(&serde_json::to_string(&kind).unwrap_or_default());
        }
        self.kinds.insert(kind.name.clone(), Arc::new(kind));
    }

    /// The kinds with one more.
    #[must_use]
    pub fn with(mut self, kind: Kind) -> Self {
        self.add(kind);
        self
    }

    /// Sets when the sessions of kinds end by idleness, and how many summaries they read, where their files say nothing about
    /// it. A kind for which that is not what is usual is another version of itself.
    pub fn set_sessions(&mut self, idle_minutes: u32, summaries: u32) {
        for kind in self.kinds.values_mut().map(Arc::make_mut) {
            let own = &mut kind.context;
            let before = (own.idle_minutes(), own.summaries());
            let after =
                (*own.idle_minutes.get_or_insert(idle_minutes), *own.summaries.get_or_insert(summaries));
            if before != after {
                kind.version = file::version(&format!("{} {} {}", kind.version, after.0, after.1));
            }
        }
    }

    /// Adds an agency, replacing one of the same name. Its agents, which must be kinds of this set, get their
    /// peers from its chart, and its shared instructions.
    ///
    /// # Errors
    /// What is wrong, for people: an agent is no kind, does not load, or belongs to another agency.
    pub fn join(&mut self, agency: Agency) -> std::result::Result<(), String> {
        for agent in agency.chart.agents() {
            if let Some(wrong) = self.left_out.get(agent) {
                return Err(format!("`{agent}` does not load: {}", lines(wrong)));
            }
            if !self.kinds.contains_key(agent) {
                let known = self.names();
                return Err(format!("`{agent}` is no kind; put {agent}.md beside it. There are: {known}"));
            }
            let is_other =
                |other: &&Arc<Agency>| other.name != agency.name && other.chart.agents().contains(agent);
            let other = self.agencies.values().find(is_other);
            if let Some(other) = other {
                let (ours, theirs) = (&agency.name, &other.name);
                return Err(format!(
                    "`{agent}` belongs to the agency `{theirs}` already; a kind of another name can belong to `{ours}`"
                ));
            }
        }
        for agent in agency.chart.agents() {
            if let Some(kind) = self.get(agent) {
                self.add(agency.member(Arc::unwrap_or_clone(kind)));
            }
        }
        self.agencies.insert(agency.name.clone(), Arc::new(agency));
        Ok(())
    }

    /// Whether this file is left out.
    pub(crate) fn leaves_out(&self, file: &str) -> bool {
        let others = self.others_left_out.iter().map(|(_, wrong)| wrong);
        self.left_out.values().flatten().chain(others).any(|wrong| wrong.file == file)
    }

    /// The mistakes for which files are left out.
    #[must_use]
    pub fn mistakes(&self) -> Vec<Finding> {
        let others = self.others_left_out.iter().map(|(_, wrong)| wrong);
        self.left_out.values().flatten().chain(others).cloned().collect()
    }

    /// Checks the peers and the tools that kinds name.
    #[must_use]
    pub fn check(&self, tools: &[&str]) -> Vec<Finding> {
        check::references(self.kinds.values(), tools)
    }

    /// The kind of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<Kind>> {
        self.kinds.get(name).cloned()
    }

    /// The kind of this name, or an error that lists the existing ones.
    ///
    /// # Errors
    /// [`Error::UnknownKind`]; [`Error::Kinds`] if its file does not load.
    pub fn named(&self, name: &str) -> Result<Arc<Kind>> {
        if let Some(wrong) = self.left_out.get(name) {
            return Err(Error::Kinds(lines(wrong)));
        }
        self.get(name).ok_or_else(|| Error::UnknownKind { name: name.to_owned(), known: self.names() })
    }

    /// The agency of this name, or an error that lists the existing ones.
    ///
    /// # Errors
    /// [`Error::UnknownAgency`]; [`Error::Kinds`] if its file does not load.
    pub fn agency(&self, name: &str) -> Result<Arc<Agency>> {
        if let Some(agency) = self.agencies.get(name) {
            return Ok(Arc::clone(agency));
        }
        let is_of = |(of, wrong): &&(String, Finding)| of == name && wrong.file.ends_with(agencies::ENDING);
        let broken = self.others_left_out.iter().filter(is_of).map(|(_, wrong)| wrong.clone());
        let broken: Vec<Finding> = broken.collect();
        if !broken.is_empty() {
            return Err(Error::Kinds(lines(&broken)));
        }
        let names = self.agencies.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let known = match names.as_str() {
            "" => "none is set up: put NAME.agency.md beside the kinds".into(),
            names => format!("there are: {names}"),
        };
        Err(Error::UnknownAgency { name: name.to_owned(), known })
    }

    /// All agencies in the order of their names.
    pub fn agencies(&self) -> impl Iterator<Item = &Arc<Agency>> {
        self.agencies.values()
    }

    /// All kinds in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.values()
    }

    /// All names, in one line for people.
    #[must_use]
    pub fn names(&self) -> String {
        self.kinds.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// The name of a kind whose file gives none.
pub(crate) fn name_of_file(file: &str) -> &str {
    let own = file.rsplit(['/', '\\']).next().unwrap_or(file);
    own.split('.').next().unwrap_or(own)
}

fn lines(findings: &[Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow lets an agent write to its peer whatever tools its file lists, once; one without peers
    /// keeps its list.
    #[test]
    fn a_flow_adds_send_message_to_a_kind_that_lists_its_tools() {
        let mut kinds = Kinds::none();
        let listing = |name: &str, tools: &[&str]| Kind {
            tools: Some(tools.iter().map(ToString::to_string).collect()),
            ..Kind::bare(name)
        };
        kinds.add(listing("ceo", &["create_note"]));
        kinds.add(listing("dev", &["send_*"]));
        kinds.add(listing("qa", &["create_note"]));
        kinds.add(Kind::bare("all"));
        let text = "---\nname: studio\nentry_points: ceo\nflows: [ceo > dev > qa, all > qa]\n---\n";
        kinds.join(agencies::parse("studio.agency.md", text).0.unwrap()).unwrap();
        let tools = |name: &str| kinds.named(name).unwrap().tools.clone();
        let listed = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(tools("ceo"), listed(&["create_note", "send_message"]));
        assert_eq!(tools("dev"), listed(&["send_*"]));
        assert_eq!(tools("qa"), listed(&["create_note"]));
        assert_eq!(tools("all"), None, "it has every tool");
    }

    #[test]
    fn every_builtin_file_loads_without_a_remark() {
        for (path, text) in BUILTIN {
            let (kind, findings) = parse(path, text);
            assert_eq!(findings, [], "{path}");
            assert!(kind.is_some_and(|kind| path.ends_with(&format!("/{}.md", kind.name))), "{path}");
        }
        assert_eq!(
            Kinds::builtin().names(),
            "assistant, documents, explorer, general, goal, orchestrator, researcher, task, user_agent"
        );
    }

    /// A long search calls one tool again and again: a limit on that is for users to set in their kinds'
    /// files. The agents of goals have the limits of their design.
    ///
    /// Shows: S4-R116, S4-R117, S4-R118, S4-R119, S4-R120.
    #[test]
    fn no_builtin_kind_but_those_of_goals_limits_how_often_one_tool_is_called() {
        let of_goals = ["goal", "task", "user_agent"];
        for kind in Kinds::builtin().iter().filter(|kind| !of_goals.contains(&&*kind.name)) {
            assert_eq!(kind.limits.max_same_tool, 0, "{}", kind.name);
        }
        for name in of_goals {
            let limits = &Kinds::builtin().get(name).unwrap().limits;
            assert_eq!((limits.max_steps, limits.max_same_tool, limits.max_seconds), (20, 5, 600), "{name}");
            assert_eq!(limits.max_history, if name == "task" { 20 } else { 0 }, "{name}");
        }
    }

    /// Each file has a shape that files of other programs have; the texts are our own.
    #[test]
    fn coding_agent_files_of_every_known_shape_load_as_expected() {
        let mut rows = String::new();
        let mut files: Vec<_> =
            std::fs::read_dir("src/kinds/shapes").unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "md")) {
            let file = path.file_name().unwrap().to_str().unwrap();
            let (kind, findings) = parse(file, &std::fs::read_to_string(path).unwrap());
            let kind = kind.unwrap_or_else(|| panic!("{findings:?}"));
            let tools = kind.tools.as_ref().map_or("all".into(), |tools| tools.join(" "));
            let model = kind.model.as_deref().unwrap_or("the default");
            let description: String = kind.description.replace('\n', "/").chars().take(60).collect();
            rows.push_str(&format!("{file}\n  {} | {description}\n  {tools} | {model}\n", kind.name));
            findings.iter().for_each(|finding| {
                rows.push_str(&format!("  {}\n", finding.to_string().split_once(':').unwrap().1));
            });
        }

        let rows: String = rows.lines().map(|row| format!("{}\n", row.trim_end())).collect();
        assert_eq!(rows, include_str!("shapes/expected.txt"));
    }

    #[test]
    fn an_agency_sets_the_peers_and_shared_instructions_of_its_kinds() {
        let directory = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        put("ceo.md", "---\nname: ceo\npeers: [nobody]\n---\nYou lead.");
        put("dev.md", "---\nname: dev\n---\nYou build.");
        put("studio.agency.md", "---\nname: studio\nentry_points: ceo\nflows: [ceo > dev]\n---\nBe brief.");
        let mut kinds = Kinds::builtin();
        let alone = parse("ceo.md", "---\nname: ceo\npeers: [nobody]\n---\nYou lead.").0.unwrap();
        assert_eq!(kinds.load(directory.path()).unwrap(), []);
        let ceo = kinds.named("ceo").unwrap();
        assert_eq!(
            (ceo.peers.as_slice(), ceo.instructions.as_str()),
            (&["dev".to_owned()][..], "Be brief.\n\nYou lead.")
        );
        assert_eq!(kinds.named("dev").unwrap().peers, [""; 0]);
        assert_ne!(ceo.version, alone.version, "what the agency says is part of the version");
        assert_eq!(kinds.agency("studio").unwrap().chart.entry_points(), ["ceo"]);
        assert_eq!(
            kinds.agency("none").unwrap_err().to_string(),
            "there is no agency `none`; there are: studio"
        );

        put("other.agency.md", "---\nname: other\nentry_points: dev\n---\n");
        put("third.agency.md", "---\nname: third\nentry_points: eve\n---\n");
        let findings = Kinds::builtin().load(directory.path()).unwrap();
        let [belongs, unknown] = &findings[..] else { panic!("{findings:?}") };
        assert!(belongs.text.contains("`dev` belongs to the agency `other` already"), "{belongs}");
        assert!(unknown.text.starts_with("`eve` is no kind; put eve.md beside it"), "{unknown}");
        let mut kinds = Kinds::builtin();
        kinds.load(directory.path()).unwrap();
        assert_eq!(
            kinds.names(),
            "assistant, ceo, dev, documents, explorer, general, goal, orchestrator, researcher, task, user_agent",
            "only it is left out"
        );
        let told = kinds.agency("third").unwrap_err().to_string();
        assert!(told.contains("third.agency.md:1: error: `eve` is no kind"), "{told}");
    }
}
