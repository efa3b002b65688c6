//! Which tools an agent is offered: made once per kind and position, byte-identical ever after.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use entourage_tools::{Caller, Checker, Tool, Toolbox};
use entourage_types::{Kind, ToolSpec};

use crate::Kinds;

/// The tools of the house and the offers made of them.
pub(crate) struct Offers {
    tools: Toolbox,
    made: Mutex<HashMap<(String, bool), Arc<Offer>>>,
}

/// What one kind of agent is offered.
pub(crate) struct Offer {
    /// As the model sees it, in the order of the names.
    pub(crate) specs: Arc<[ToolSpec]>,
    tools: HashMap<String, (Arc<dyn Tool>, Checker)>,
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
        let mut specs = Vec::new();
        let mut tools = HashMap::new();
        for tool in self.tools.iter().filter(|tool| wants(kind, tool.name())) {
            let Some(spec) = tool.offer(&caller) else { continue };
            match Checker::new(&spec) {
                Ok(checker) => {
                    tools.insert(spec.name.clone(), (Arc::clone(tool), checker));
                    specs.push(spec);
                }
                Err(error) => tracing::warn!(tool = tool.name(), %error, "a tool is left out"),
            }
        }
        Offer { specs: specs.into(), tools }
    }
}

impl Offer {
    pub(crate) fn get(&self, name: &str) -> Option<(&Arc<dyn Tool>, &Checker)> {
        self.tools.get(name).map(|(tool, checker)| (tool, checker))
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    pub(crate) fn names(&self) -> String {
        self.specs.iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Whether a kind lists a tool: by name, by `mcp` for every tool of a connected server, or by
/// `mcp__server` for every tool of one.
fn wants(kind: &Kind, tool: &str) -> bool {
    let Some(listed) = &kind.tools else { return true };
    listed.iter().any(|name| {
        name == tool
            || (name == "mcp" && tool.contains("__"))
            || name.strip_prefix("mcp__").is_some_and(|server| {
                tool == server || tool.strip_prefix(server).is_some_and(|rest| rest.starts_with("__"))
            })
    })
}
