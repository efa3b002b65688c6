//! Checks what agents reach besides models: keys, search, files, MCP servers. Looks for keys and never shows
//! them.

use std::collections::BTreeMap;

use entourage::{
    Settings,
    python::{Interpreter, PythonTool, WorkerCommand},
    telemetry,
};
use entourage_llm::Provider;
use entourage_tools::{Files, McpServer, Owners, SearchBackend};

use super::{Finding, broken, good, remark};

/// Which keys are set.
pub(super) fn keys(settings: &Settings) -> Finding {
    // The two APIs of OpenAI share one key.
    let mut keys: BTreeMap<&str, bool> = BTreeMap::new();
    for provider in Provider::ALL {
        let Some(variable) = provider.key_variable() else { continue };
        let set = settings.models.providers.get(&provider).is_some_and(|connection| connection.key.is_some());
        let there = std::env::var(variable).is_ok_and(|key| !key.trim().is_empty());
        *keys.entry(variable).or_default() |= set || there;
    }
    let with = |wanted: bool| {
        let names = keys.iter().filter(|(_, is_set)| **is_set == wanted).map(|(name, _)| *name);
        names.collect::<Vec<_>>().join(", ")
    };
    match (with(true), with(false)) {
        (set, missing) if set.is_empty() => {
            remark("keys", format!("none of {missing}; local models need none"))
        }
        (set, missing) if missing.is_empty() => good("keys", set),
        (set, missing) => good("keys", format!("{set}; not {missing}")),
    }
}

/// Which service searches the web.
pub(super) fn search(settings: &Settings) -> Finding {
    let search = settings.tools.search.clone().or_variables(|name| std::env::var(name).ok());
    let set_up = [
        (SearchBackend::Tavily, "Tavily", search.tavily_api_key.is_some()),
        (SearchBackend::Searxng, "SearXNG", search.searxng_url.is_some()),
        (SearchBackend::Brave, "Brave", search.brave_api_key.is_some()),
    ];
    let used = set_up.iter().find(|(backend, _, is_set)| match search.backend {
        Some(named) => named == *backend,
        None => *is_set,
    });
    match used {
        Some((_, name, true)) => good("search", *name),
        Some((_, name, false)) => broken(
            "search",
            format!("{name} is chosen, but its key or address is not set under [tools.search]"),
        ),
        None => {
            remark("search", "agents cannot search the web: set TAVILY_API_KEY, SEARXNG_URL or BRAVE_API_KEY")
        }
    }
}

/// Whether the directory that agents may read exists.
pub(super) fn files(settings: &Settings) -> Finding {
    let Some(files) = entourage::tool_settings(settings).files else {
        return good("files", "agents read no files; `run --files DIR` lets them");
    };
    let path = files.path.display().to_string();
    let whose = match &files.owners {
        Some(Owners::Only(_)) => "some owners' agents",
        Some(Owners::All) | None => "agents",
    };
    match Files::of(files).check() {
        Ok(()) => good("files", format!("{whose} may read {path}")),
        Err(error) => broken("files", error.to_string()),
    }
}

/// Whether agents run Python, and what confines it here.
pub(super) async fn python(settings: &Settings) -> Finding {
    if !settings.tools.python.enabled {
        return remark("python", "agents run no code: `enabled` is false under [tools.python]");
    }
    let Some((program, args)) = settings.python_worker.as_deref().and_then(<[_]>::split_first) else {
        return remark(
            "python",
            "agents run no code: this program does not say how its processes are started",
        );
    };
    let command = WorkerCommand { program: program.into(), args: args.to_vec() };
    match PythonTool::workers(command, &settings.tools.python).interpreter().await {
        Ok(Interpreter::CPython { version }) => good(
            "python",
            format!("agents run code with CPython {version}, confined by bubblewrap, seccomp and limits"),
        ),
        Ok(interpreter) if interpreter.is_confined() => {
            good("python", "agents run code, confined by Landlock, seccomp and limits")
        }
        Ok(interpreter) => remark("python", format!("agents run code, confined in part: {interpreter}")),
        Err(error) => broken("python", error.to_string()),
    }
}

/// Whether the secrets and addresses of webhooks can be used.
pub(super) fn webhooks(settings: &Settings) -> Option<Finding> {
    let count = settings.webhooks.len() + settings.server.webhooks.len();
    match entourage::check_webhooks(settings) {
        Ok(()) if count == 0 => None,
        Ok(()) => Some(good("webhooks", format!("{count} set up"))),
        Err(error) => Some(broken("webhooks", error.to_string())),
    }
}

/// Whether the address for traces is valid.
pub(super) fn traces(settings: &Settings) -> Option<Finding> {
    let exporter = telemetry::exporter(&settings.telemetry, |name| std::env::var(name).ok());
    match exporter.map(|exporter| exporter.is_some()) {
        Ok(false) => None,
        Ok(true) => Some(good("traces", "a collector is set up")),
        Err(error) => Some(broken("traces", error.to_string())),
    }
}

/// Whether the keys that seal secrets can be used.
pub(super) fn secrets(settings: &Settings) -> Option<Finding> {
    let needed = settings.tools.mcp.iter().any(|server| !server.secrets().is_empty());
    match entourage::secret_keys(settings) {
        Ok(Some(_)) => Some(good("secrets", "there are keys that seal them")),
        Ok(None) if needed => {
            let why = "an MCP server needs secrets of its users, and there is no key that seals them: \
                       `entourage secrets key` makes one, for `[secrets] keys_file` or ENTOURAGE_SECRETS__KEYS";
            Some(broken("secrets", why.to_owned()))
        }
        Ok(None) => None,
        Err(error) => Some(broken("secrets", error.to_string())),
    }
}

/// Which MCP servers answer, and with which tools.
pub(super) async fn mcp(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for server in settings.tools.mcp.clone() {
        let (name, secrets) = (format!("mcp {}", server.name), server.secrets());
        if !secrets.is_empty() {
            let names = secrets.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            findings
                .push(good(name, format!("is connected for each owner with their {names}; not tried here")));
            continue;
        }
        match std::sync::Arc::new(McpServer::new(server)).tools().await {
            Ok((tools, problems)) => {
                let names: Vec<&str> = tools.iter().map(|tool| tool.name()).collect();
                findings.push(good(name.clone(), format!("{} tools: {}", names.len(), names.join(", "))));
                findings.extend(problems.into_iter().map(|problem| remark(name.clone(), problem.message)));
            }
            Err(error) => findings.push(broken(name, error.to_string())),
        }
    }
    findings
}
