//! Which tools an agent is offered: made once per kind and position, byte-identical ever after.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use entourage_tools::{Caller, Checker, Error as ToolError, Source, Tool, Toolbox};
use entourage_types::{Agent, ApprovalRule, Effect, Item, Kind, Owner, ToolSpec};
use serde_json::Value;

use crate::{
    Kinds,
    approval::{concerns, holds},
    kinds::pattern,
    prompt::is_cut,
};

/// The tools of the engine and the offers made of them.
pub(crate) struct Toolsets {
    tools: RwLock<Arc<Toolbox>>,
    made: Mutex<HashMap<(String, Position, Withheld), Arc<Toolset>>>,
}

/// The tools that an owner's agents may not use, by name.
type Withheld = Vec<String>;

/// What of an agent's own decides on its offer, beside its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Position {
    /// Whether it stands at the top of its tree.
    pub(crate) is_root: bool,
    /// Whether there are closed sessions of it.
    pub(crate) has_sessions: bool,
    /// Whether something in its session was too long to be shown whole.
    pub(crate) has_cuts: bool,
}

impl Position {
    /// Where an agent stands with the items of its session.
    pub(crate) fn of(agent: &Agent, kind: &Kind, items: &[Item]) -> Self {
        let max_output = kind.limits.max_output_chars;
        Self {
            is_root: agent.parent.is_none(),
            has_sessions: agent.session > 1,
            has_cuts: items.iter().any(|item| is_cut(&item.body, max_output)),
        }
    }
}

/// What every agent may do with its own transcript, whatever its kind lists.
const OWN: [&str; 1] = ["read_output"];

/// What one kind of agent is offered.
pub(crate) struct Toolset {
    /// As the model sees it, in the order in which the kind lists them: small models try the first ones first.
    pub(crate) specs: Arc<[ToolSpec]>,
    /// How many bytes they have, roughly.
    pub(crate) weight: usize,
    tools: HashMap<String, OfferedTool>,
    kind: Arc<Kind>,
    /// The servers whose tools are not known now.
    away: Vec<String>,
}

/// One tool on offer.
pub(crate) struct OfferedTool {
    pub(crate) tool: Arc<dyn Tool>,
    /// What its calls do to the world, as the kind says, or else the tool.
    pub(crate) effect: Effect,
    /// The JSON schema of its arguments.
    pub(crate) parameters: Value,
    checker: Checker,
    /// The kind's rules that may hold a call back.
    rules: Vec<Arc<ApprovalRule>>,
}

impl Toolsets {
    pub(crate) fn new(tools: Toolbox) -> Self {
        Self { tools: RwLock::new(Arc::new(tools)), made: Mutex::default() }
    }

    fn tools(&self) -> Arc<Toolbox> {
        Arc::clone(&self.tools.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds tools, and returns why some of them cannot be added.
    pub(crate) fn add(&self, tools: Vec<Arc<dyn Tool>>) -> Vec<ToolError> {
        let mut known = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let all = Arc::make_mut(&mut *known);
        tools.into_iter().filter_map(|tool| all.add(tool).err()).collect()
    }

    /// The offer for an agent of this kind. The kinds are asked for while nobody can
    /// [forget](Self::forget): an offer made of earlier ones never outlives them.
    pub(crate) fn of(
        &self,
        kind: &Arc<Kind>,
        position: Position,
        owner: &Owner,
        made_of: impl FnOnce() -> (Arc<Kinds>, Vec<String>),
    ) -> Arc<Toolset> {
        let withheld: Withheld = self
            .tools()
            .iter()
            .filter(|tool| !tool.serves(owner))
            .map(|tool| tool.name().to_owned())
            .collect();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (format!("{}@{}", kind.name, kind.version), position, withheld);
        if let Some(offer) = made.get(&key) {
            return Arc::clone(offer);
        }
        let (kinds, away) = made_of();
        let offer = Arc::new(self.make(kind, position, &key.2, &kinds, away));
        made.insert(key, Arc::clone(&offer));
        offer
    }

    /// What is offered is made anew: the kinds or the tools have changed. Whoever is at work keeps what it has.
    pub(crate) fn forget(&self) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Where what a tool of this name returns comes from; none where there is no such tool.
    pub(crate) fn source(&self, tool: &str) -> Option<Source> {
        self.tools().get(tool).map(|tool| tool.source())
    }

    fn make(
        &self,
        kind: &Arc<Kind>,
        position: Position,
        withheld: &[String],
        kinds: &Kinds,
        away: Vec<String>,
    ) -> Toolset {
        let peers: Vec<Arc<Kind>> = kind.peers.iter().filter_map(|name| kinds.get(name)).collect();
        let Position { is_root, has_sessions, has_cuts } = position;
        let caller = Caller { kind, peers: &peers, is_root, has_sessions, has_cuts };
        let rules: Vec<Arc<ApprovalRule>> = kind.approval.iter().cloned().map(Arc::new).collect();
        let mut specs = Vec::new();
        let mut tools = HashMap::new();
        let is_offered = |name: &str| wants(kind, name) && !withheld.iter().any(|other| other == name);
        for tool in self.tools().iter().filter(|tool| is_offered(tool.name())) {
            let Some(spec) = tool.offer(&caller) else { continue };
            match Checker::new(&spec) {
                Ok(checker) => {
                    let effect = declared(kind, tool.name()).unwrap_or_else(|| tool.effect());
                    let concerned = rules.iter().filter(|rule| concerns(rule, &spec.name, effect));
                    let offered = OfferedTool {
                        tool: Arc::clone(tool),
                        effect,
                        parameters: spec.parameters.clone(),
                        checker,
                        rules: concerned.cloned().collect(),
                    };
                    tools.insert(spec.name.clone(), offered);
                    specs.push(spec);
                }
                Err(error) => tracing::warn!(tool = tool.name(), %error, "a tool is left out"),
            }
        }
        specs.sort_by_key(|spec: &ToolSpec| place(kind, &spec.name));
        let weight =
            |spec: &ToolSpec| spec.name.len() + spec.description.len() + spec.parameters.to_string().len();
        let kind = Arc::clone(kind);
        Toolset { weight: specs.iter().map(weight).sum(), specs: specs.into(), tools, kind, away }
    }
}

impl Toolset {
    /// The tool that a call names, when it is on offer and the arguments fit.
    pub(crate) fn allowed(&self, tool: &str, arguments: &Value) -> Result<&OfferedTool, ToolError> {
        let offered = self.named(tool)?;
        let renamed = offered.tool.renamed(arguments);
        offered.checker.check(renamed.as_ref().unwrap_or(arguments))?;
        Ok(offered)
    }

    /// The tool that a call names, when it is on offer.
    pub(crate) fn named(&self, tool: &str) -> Result<&OfferedTool, ToolError> {
        let missing = || {
            let is_of = |server: &&String| wants(&self.kind, tool) && pattern::is_of_server(server, tool);
            match self.away.iter().find(is_of) {
                Some(server) => ToolError::NotConfigured(format!(
                    "the MCP server `{server}` cannot be reached now, so that `{tool}` cannot be called"
                )),
                None => {
                    let known = self.names();
                    ToolError::NotAllowed(format!("there is no tool `{tool}`; there are: {known}"))
                }
            }
        };
        self.tools.get(tool).ok_or_else(missing)
    }

    /// Whether a call of this tool answers for its run.
    pub(crate) fn answers(&self, tool: &str) -> bool {
        self.tools.get(tool).is_some_and(|offered| offered.tool.answers())
    }

    /// The JSON schema of a tool's arguments; anything, where the tool is not on offer.
    pub(crate) fn parameters(&self, tool: &str) -> Value {
        self.tools.get(tool).map_or_else(|| true.into(), |offered| offered.parameters.clone())
    }

    /// What a call of a tool does to the world, where the tool is on offer.
    pub(crate) fn effect(&self, tool: &str) -> Option<Effect> {
        self.tools.get(tool).map(|offered| offered.effect)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    pub(crate) fn names(&self) -> String {
        let mut names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        names.sort_unstable();
        names.join(", ")
    }
}

impl OfferedTool {
    /// The rules that hold back a call with these arguments.
    pub(crate) fn rules(&self, arguments: &Value) -> impl Iterator<Item = &Arc<ApprovalRule>> {
        self.rules.iter().filter(|rule| holds(rule, arguments))
    }
}

/// Whether a kind lists a tool, or every agent has it.
fn wants(kind: &Kind, tool: &str) -> bool {
    OWN.contains(&tool)
        || kind.tools.as_ref().is_none_or(|listed| listed.iter().any(|name| pattern::names(name, tool)))
}

/// Where a kind lists a tool; behind all others what every agent has.
fn place(kind: &Kind, tool: &str) -> usize {
    let listed = kind.tools.iter().flatten().position(|name| pattern::names(name, tool));
    listed.unwrap_or(usize::MAX)
}

/// What a kind says that calls of a tool do to the world, whether there is such a tool or not.
pub(crate) fn declared(kind: &Kind, tool: &str) -> Option<Effect> {
    let named = |names: &[String]| names.iter().any(|name| pattern::names(name, tool));
    kind.effects.listed().into_iter().find(|(_, names)| named(names)).map(|(effect, _)| effect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_forgets_what_is_being_made_of_the_kinds() {
        let (offers, kind) = (Toolsets::new(Toolbox::new()), Arc::new(Kind::bare("a")));
        let position = Position { is_root: true, has_sessions: false, has_cuts: false };
        let mut asked = 0;
        for expected in [1, 1, 2] {
            if expected == 2 {
                offers.forget();
            }
            offers.of(&kind, position, &Owner::local(), || {
                asked += 1;
                assert!(offers.made.try_lock().is_err(), "what replaces the kinds comes before, or after");
                (Arc::new(Kinds::none()), Vec::new())
            });
            assert_eq!(asked, expected);
        }
    }
}
