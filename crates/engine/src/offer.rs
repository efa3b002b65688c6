//! Which tools an agent is offered: made once per kind and position, byte-identical ever after.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use entourage_tools::{Caller, Checker, Error as ToolError, Tool, Toolbox};
use entourage_types::{ApprovalRule, Effect, Kind, ToolSpec};
use serde_json::Value;

use crate::{
    Kinds,
    approval::{concerns, holds},
    kinds::pattern,
};

/// The tools of the house and the offers made of them.
pub(crate) struct Offers {
    tools: Toolbox,
    made: Mutex<HashMap<(String, bool), Arc<Offer>>>,
}

/// What one kind of agent is offered.
pub(crate) struct Offer {
    /// As the model sees it, in the order of the names.
    pub(crate) specs: Arc<[ToolSpec]>,
    tools: HashMap<String, Offered>,
}

/// One tool on offer.
pub(crate) struct Offered {
    pub(crate) tool: Arc<dyn Tool>,
    /// What its calls do to the world, as the kind says, or else the tool.
    pub(crate) effect: Effect,
    /// The JSON schema of its arguments.
    pub(crate) parameters: Value,
    checker: Checker,
    /// The kind's rules that may hold a call back.
    rules: Vec<Arc<ApprovalRule>>,
}

impl Offers {
    pub(crate) fn new(tools: Toolbox) -> Self {
        Self { tools, made: Mutex::new(HashMap::new()) }
    }

    /// The offer for an agent of this kind, at the top of its tree or below.
    pub(crate) fn of(&self, kind: &Arc<Kind>, is_root: bool, kinds: &Kinds) -> Arc<Offer> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (format!("{}@{}", kind.name, kind.version), is_root);
        Arc::clone(made.entry(key).or_insert_with(|| Arc::new(self.make(kind, is_root, kinds))))
    }

    fn make(&self, kind: &Arc<Kind>, is_root: bool, kinds: &Kinds) -> Offer {
        let peers: Vec<Arc<Kind>> = kind.peers.iter().filter_map(|name| kinds.get(name)).collect();
        let caller = Caller { kind, peers: &peers, is_root };
        let rules: Vec<Arc<ApprovalRule>> = kind.approval.iter().cloned().map(Arc::new).collect();
        let mut specs = Vec::new();
        let mut tools = HashMap::new();
        for tool in self.tools.iter().filter(|tool| wants(kind, tool.name())) {
            let Some(spec) = tool.offer(&caller) else { continue };
            match Checker::new(&spec) {
                Ok(checker) => {
                    let effect = effect_of(kind, &**tool);
                    let concerned = rules.iter().filter(|rule| concerns(rule, &spec.name, effect));
                    let offered = Offered {
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
        Offer { specs: specs.into(), tools }
    }
}

impl Offer {
    /// The tool that a call names, when it is on offer and the arguments fit.
    pub(crate) fn allowed(&self, tool: &str, arguments: &Value) -> Result<&Offered, ToolError> {
        let offered = self.tools.get(tool).ok_or_else(|| {
            ToolError::NotAllowed(format!("there is no tool `{tool}`; there are: {}", self.names()))
        })?;
        offered.checker.check(arguments)?;
        Ok(offered)
    }

    /// The JSON schema of a tool's arguments; anything, where the tool is not on offer.
    pub(crate) fn parameters(&self, tool: &str) -> Value {
        self.tools.get(tool).map_or_else(|| true.into(), |offered| offered.parameters.clone())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    pub(crate) fn names(&self) -> String {
        self.specs.iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

impl Offered {
    /// The rules that hold back a call with these arguments.
    pub(crate) fn rules(&self, arguments: &Value) -> impl Iterator<Item = &Arc<ApprovalRule>> {
        self.rules.iter().filter(|rule| holds(rule, arguments))
    }
}

/// Whether a kind lists a tool.
fn wants(kind: &Kind, tool: &str) -> bool {
    kind.tools.as_ref().is_none_or(|listed| listed.iter().any(|name| pattern::names(name, tool)))
}

fn effect_of(kind: &Kind, tool: &dyn Tool) -> Effect {
    let named = |names: &[String]| names.iter().any(|name| pattern::names(name, tool.name()));
    let said = kind.effects.listed().into_iter().find(|(_, names)| named(names));
    said.map_or_else(|| tool.effect(), |(effect, _)| effect)
}
