//! Which tools an agent is offered: built once per kind, position, tools withheld from its owner and switches, and
//! byte-identical until the kinds or tools change.

mod offer;
mod offered_tool;

pub(crate) use offered_tool::OfferedTool;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use entourage_tools::{Address, Caller, Error as ToolError, Tool, Toolbox};
use entourage_types::{
    Agent, ApprovalRule, Effect, Item, Kind, Owner, ResultSource, Sha256, Switches, ToolCall, ToolSpec,
    WorksFor, is_tool_of, tool_names,
};
use lru::LruCache;
use serde_json::Value;

use crate::{
    Kinds,
    kinds::pattern,
    prompt::{is_cut, of_tools},
    servers::{ConnectionState, OwnerServer, cannot_be_reached},
};

/// The tools of the engine, and the offers built from them.
pub(crate) struct Toolsets {
    tools: RwLock<Arc<Toolbox>>,
    /// The tools that programs call themselves.
    of_programs: ToolsOfPrograms,
    made: Mutex<BuiltOffers>,
}

/// How many offers are kept, of those that were used last.
const MOST_OFFERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(255);

/// The offers that were built since the kinds or tools have changed.
struct BuiltOffers {
    offers: LruCache<OfferKey, Arc<Toolset>>,
    /// How often they have changed.
    changes: u64,
}

/// The names of tools by the name of the program that calls them itself.
pub(crate) type ToolsOfPrograms = BTreeMap<String, Vec<String>>;

/// For whom tools are offered, beside the kind and the position.
pub(crate) struct Holder<'a> {
    /// The owner of the agent.
    pub(crate) owner: &'a Owner,
    /// The switches of the run.
    pub(crate) switches: &'a Switches,
    /// The servers of the owner alone that the run has.
    pub(crate) servers: &'a [OwnerServer],
}

/// What an offer is kept under.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct OfferKey {
    /// The kind and its version.
    kind: String,
    position: Position,
    /// The tools that the owner's agents may not use, by name.
    withheld: Vec<String>,
    switches: Switches,
    /// The servers of the owner alone.
    servers: Vec<(String, ConnectionState)>,
}

/// What determines an agent's offer, beside its kind and owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Position {
    /// Its counterpart.
    pub(crate) works_for: WorksFor,
    /// Whether it has closed sessions.
    pub(crate) has_sessions: bool,
    /// Whether something in its session was too long to be shown whole.
    pub(crate) has_cuts: bool,
    /// Whether its program makes the calls, and not its model.
    pub(crate) by_program: bool,
}

impl Position {
    /// Returns the position of an agent with these items of its session.
    pub(crate) fn of(agent: &Agent, kind: &Kind, items: &[Item]) -> Self {
        Self {
            works_for: agent.works_for,
            has_sessions: agent.session > 1,
            has_cuts: items.iter().any(|item| is_cut(&item.body, kind.limits.max_output_chars)),
            by_program: false,
        }
    }
}

/// The tools for its own transcript that every agent has, whatever its kind lists.
const OWN: [&str; 1] = [tool_names::READ_OUTPUT];

/// What one kind of agent is offered.
pub(crate) struct Toolset {
    /// The tools as the model sees them, in the order in which the kind lists them: small models try the
    /// first ones first.
    pub(crate) specs: Arc<[ToolSpec]>,
    /// Their approximate size, in bytes.
    pub(crate) weight: usize,
    /// The digest under which the list is stored.
    pub(crate) sha256: Sha256,
    tools: HashMap<String, OfferedTool>,
    /// The tools beside these that the code of a call may call.
    of_code: HashMap<String, OfferedTool>,
    kind: Arc<Kind>,
    /// The MCP servers whose tools are not known now, and why.
    away: Vec<(String, Option<String>)>,
    switches: Switches,
}

impl Toolsets {
    pub(crate) fn new(tools: Toolbox, of_programs: ToolsOfPrograms) -> Self {
        Self {
            tools: RwLock::new(Arc::new(tools)),
            of_programs,
            made: Mutex::new(BuiltOffers { offers: LruCache::new(MOST_OFFERS), changes: 0 }),
        }
    }

    fn tools(&self) -> Arc<Toolbox> {
        Arc::clone(&self.tools.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The names of all tools.
    pub(crate) fn names(&self) -> Vec<String> {
        self.tools().iter().map(|tool| tool.name().to_owned()).collect()
    }

    /// Adds tools, and returns why some of them cannot be added.
    pub(crate) fn add(&self, tools: Vec<Arc<dyn Tool>>) -> Vec<ToolError> {
        let mut known = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let all = Arc::make_mut(&mut *known);
        tools.into_iter().filter_map(|tool| all.add(tool).err()).collect()
    }

    /// Returns the offer for an agent of this kind. `made_of` returns the kinds under the lock that
    /// [`forget`](Self::forget) needs, and an offer is kept only if nothing was forgotten while it was built:
    /// one built from earlier kinds never outlives them.
    pub(crate) fn of(
        &self,
        kind: &Arc<Kind>,
        position: Position,
        holder: &Holder<'_>,
        made_of: impl FnOnce() -> (Arc<Kinds>, Vec<String>),
    ) -> Arc<Toolset> {
        let shared = self.tools();
        let all = || shared.iter().chain(holder.servers.iter().flat_map(|server| server.tools.iter()));
        let withheld = all().filter(|tool| !tool.serves(holder.owner));
        let state = |server: &OwnerServer| (server.name.clone(), server.state.clone());
        let key = OfferKey {
            kind: format!("{}@{}", kind.name, kind.version),
            position,
            withheld: withheld.map(|tool| tool.name().to_owned()).collect(),
            switches: holder.switches.clone(),
            servers: holder.servers.iter().map(state).collect(),
        };
        let (changes, (kinds, away)) = {
            let mut made = self.made();
            if let Some(offer) = made.offers.get(&key) {
                return Arc::clone(offer);
            }
            (made.changes, made_of())
        };
        // Without the lock: it compiles the schemas of all tools.
        let tools: Vec<&Arc<dyn Tool>> = all().collect();
        let offer = Arc::new(self.make(kind, &key, &tools, &kinds, away));
        let mut made = self.made();
        if made.changes != changes {
            return offer;
        }
        Arc::clone(made.offers.get_or_insert(key, || offer))
    }

    /// Drops the offers with tools of a connection that has ended.
    pub(crate) fn forget_connection(&self, number: u64) {
        let ended = ConnectionState::Connected(number);
        let mut made = self.made();
        let has_it = |key: &&OfferKey| key.servers.iter().any(|(_, state)| *state == ended);
        let all: Vec<OfferKey> = made.offers.iter().map(|(key, _)| key).filter(has_it).cloned().collect();
        for key in &all {
            made.offers.pop(key);
        }
        // One that is being built now may have it, too.
        made.changes += 1;
    }

    fn made(&self) -> MutexGuard<'_, BuiltOffers> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops all offers, because the kinds or the tools have changed. Activations in progress keep theirs.
    pub(crate) fn forget(&self) {
        let mut made = self.made();
        made.offers.clear();
        made.changes += 1;
    }

    /// Returns where the results of a tool come from; none if there is no such tool.
    pub(crate) fn source(&self, tool: &str) -> Option<ResultSource> {
        self.tools().get(tool).map(|tool| tool.source())
    }

    /// Returns where a call would send its arguments, if they name it.
    pub(crate) fn address(&self, call: &ToolCall) -> Option<Address> {
        self.tools().get(&call.tool)?.address(&call.arguments)
    }

    fn make(
        &self,
        kind: &Arc<Kind>,
        key: &OfferKey,
        all: &[&Arc<dyn Tool>],
        kinds: &Kinds,
        away: Vec<String>,
    ) -> Toolset {
        let peers: Vec<Arc<Kind>> = kind.peers.iter().filter_map(|name| kinds.get(name)).collect();
        let Position { works_for, has_sessions, has_cuts, by_program } = key.position;
        let rules: Vec<Arc<ApprovalRule>> = kind.approval.iter().cloned().map(Arc::new).collect();
        let mut specs = Vec::new();
        let mut tools = HashMap::new();
        let own_calls = self.of_programs.get(kind.program.as_str()).filter(|_| by_program);
        let calls = |name: &str| own_calls.is_some_and(|names| names.iter().any(|own| own == name));
        let is_withheld =
            |name: &str| !key.switches.allow(name) || key.withheld.iter().any(|other| other == name);
        let is_offered = |name: &str| (wants(kind, name) || calls(name)) && !is_withheld(name);
        let (own, others): (Vec<_>, Vec<_>) = all
            .iter()
            .copied()
            .filter(|tool| is_offered(tool.name()))
            .partition(|tool| OWN.contains(&tool.name()));
        for tool in others.into_iter().chain(own) {
            // Outputs become too long. What reads on is there from the start, beside any other tool, so that the first
            // one which does leaves the tools as they are, and the provider's cache with them; but not for a kind
            // that reads its latest messages alone, whose requests begin anew each time.
            let may_have_cuts = has_cuts || (!specs.is_empty() && kind.context.messages.is_none());
            let caller =
                Caller { kind, peers: &peers, works_for, has_sessions, by_code: false, may_have_cuts };
            if let Some((spec, offered)) = OfferedTool::of(tool, &caller, &rules) {
                tools.insert(spec.name.clone(), offered);
                specs.push(spec);
            }
        }
        let comes_with: HashSet<&str> =
            tools.values().flat_map(|offered| offered.tool.comes_with().iter().copied()).collect();
        let caller =
            Caller { kind, peers: &peers, works_for, has_sessions, by_code: true, may_have_cuts: false };
        let beside = all.iter().copied().filter(|tool| comes_with.contains(tool.name()));
        let beside = beside.filter(|tool| !tools.contains_key(tool.name()) && !is_withheld(tool.name()));
        let of_code: HashMap<String, OfferedTool> = beside
            .filter_map(|tool| OfferedTool::of(tool, &caller, &rules))
            .map(|(spec, offered)| (spec.name, offered))
            .collect();
        specs.sort_by_key(|spec: &ToolSpec| place(kind, &spec.name));
        let weight =
            |spec: &ToolSpec| spec.name.len() + spec.description.len() + spec.parameters.to_string().len();
        let of_owner = key.servers.iter().filter_map(|(server, state)| match state {
            ConnectionState::Connected(_) => None,
            ConnectionState::Away(why) => Some((server.clone(), Some(why.clone()))),
        });
        let away = away.into_iter().map(|server| (server, None)).chain(of_owner).collect();
        let (kind, switches) = (Arc::clone(kind), key.switches.clone());
        let (weight, sha256) = (specs.iter().map(weight).sum(), of_tools(&specs));
        Toolset { weight, sha256, specs: specs.into(), tools, of_code, kind, away, switches }
    }
}

impl Toolset {
    /// Returns the tool that a call names, if it is offered and the arguments fit.
    pub(crate) fn allowed(&self, tool: &str, arguments: &Value) -> Result<&OfferedTool, ToolError> {
        self.named(tool)?.checked(arguments)
    }

    /// Returns the tool that a call names, if it is offered.
    pub(crate) fn named(&self, tool: &str) -> Result<&OfferedTool, ToolError> {
        let missing = || {
            if wants(&self.kind, tool) && !self.switches.allow(tool) {
                return ToolError::NotAllowed(format!("`{tool}` is switched off: go on without it"));
            }
            let is_of = |(server, _): &&(String, _)| wants(&self.kind, tool) && is_tool_of(server, tool);
            match self.away.iter().find(is_of) {
                Some((_, Some(why))) => ToolError::NotConfigured(why.clone()),
                Some((server, None)) => ToolError::NotConfigured(format!(
                    "{}, so that `{tool}` cannot be called",
                    cannot_be_reached(server)
                )),
                None => {
                    let known = self.names();
                    ToolError::NotAllowed(format!("there is no tool `{tool}`; there are: {known}"))
                }
            }
        };
        self.tools.get(tool).ok_or_else(missing)
    }

    /// Returns the tool that a call names, by code or by the model, if it may be called so and the arguments fit.
    pub(crate) fn allowed_to(
        &self,
        is_code: bool,
        tool: &str,
        arguments: &Value,
    ) -> Result<&OfferedTool, ToolError> {
        if is_code { self.allowed_to_code(tool, arguments) } else { self.allowed(tool, arguments) }
    }

    /// Returns the tool that the code of a call names, if such code may call it and the arguments fit.
    fn allowed_to_code(&self, tool: &str, arguments: &Value) -> Result<&OfferedTool, ToolError> {
        let offered = match self.of_code.get(tool) {
            Some(offered) => offered,
            None => self.named(tool)?,
        };
        if offered.tool.answers() || !offered.tool.comes_with().is_empty() {
            let what = if offered.tool.answers() { "ends the work" } else { "runs code itself" };
            return Err(ToolError::NotAllowed(format!("code cannot call `{tool}`, which {what}")));
        }
        offered.checked(arguments)
    }

    /// Whether a call gives the run's answer.
    pub(crate) fn answers(&self, call: &ToolCall) -> bool {
        let answers = self.tools.get(&call.tool).is_some_and(|offered| offered.tool.answers());
        answers && self.allowed(&call.tool, &call.arguments).is_ok()
    }

    /// Returns the JSON schema of a tool's arguments; one that allows anything, if the tool is not offered.
    pub(crate) fn parameters(&self, tool: &str) -> Value {
        self.find(tool).map_or_else(|| true.into(), |offered| offered.parameters.clone())
    }

    /// Returns the effect of a tool's calls, if the tool is offered.
    pub(crate) fn effect(&self, tool: &str) -> Option<Effect> {
        self.find(tool).map(|offered| offered.effect)
    }

    /// Returns a tool that the model, or code, may call.
    pub(crate) fn find(&self, tool: &str) -> Option<&OfferedTool> {
        self.tools.get(tool).or_else(|| self.of_code.get(tool))
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

/// Whether a kind lists a tool, or every agent has it.
fn wants(kind: &Kind, tool: &str) -> bool {
    OWN.contains(&tool)
        || kind.tools.as_ref().is_none_or(|listed| listed.iter().any(|name| pattern::names(name, tool)))
}

/// Returns the place at which a kind lists a tool; tools that it does not list come last.
fn place(kind: &Kind, tool: &str) -> usize {
    let listed = kind.tools.iter().flatten().position(|name| pattern::names(name, tool));
    listed.unwrap_or(usize::MAX)
}

/// Returns the effect that a kind declares for a tool's calls, whether there is such a tool or not.
pub(crate) fn declared(kind: &Kind, tool: &str) -> Option<Effect> {
    let named = |names: &[String]| names.iter().any(|name| pattern::names(name, tool));
    kind.effects.listed().into_iter().find(|(_, names)| named(names)).map(|(effect, _)| effect)
}

#[cfg(test)]
mod tests;
