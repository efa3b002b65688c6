//! `entourage serve`: serves the HTTP API and runs the agents.

use std::{net::SocketAddr, sync::Arc};

use clap::Args;
use entourage::Entourage;
use entourage_engine::kinds::Severity;
use entourage_server::{Auth, Error, Settings};
use entourage_types::NodeRole;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    backend::{Result, Running},
    failure::{Exit, Failure},
    globals::Globals,
    hangup,
    installed::Installed,
    interrupt, out,
    text::text,
};

const AFTER_HELP: &str = "\
Examples:
  entourage serve                          on 127.0.0.1:4180, for this machine only
  entourage serve --bind 127.0.0.1:0       on any free port; the other commands find it
  ENTOURAGE_SERVER__AUTH__JWT__ALGORITHM=HS256 ENTOURAGE_SERVER__AUTH__JWT__KEY=… \\
    entourage serve --bind 0.0.0.0:4180    for others, who need a token (`entourage token`)
  ENTOURAGE_STORE=postgres://user@host/database \\
    entourage serve --role worker          more agents at work, beside others that share the database

The console is at /console, for a browser (`entourage open`); /openapi.json describes the API. Ctrl-C or SIGTERM ends the server; agents continue at its next start. SIGHUP \
makes it read the kinds again, as `entourage kinds reload` does.";

/// Serve the HTTP API and run all agents
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Serve {
    /// The address to listen at; any address other than loopback needs authentication
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    bind: Option<SocketAddr>,
    /// What this process does, of several that share a database: `api` answers requests, `worker` works for agents, `all` does
    /// both
    #[arg(long, value_parser = role)]
    role: Option<NodeRole>,
}

impl Serve {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let mut settings = globals.settings()?;
        if let Some(bind) = self.bind {
            settings.server.bind = bind;
            settings.note_option("server.bind", "--bind", &bind.to_string());
        }
        if let Some(role) = self.role {
            settings.cluster.role = role;
            settings.note_option("cluster.role", "--role", role.name());
        }
        if settings.cluster.role != NodeRole::All && settings.store.url.is_none() {
            return Err(Failure::usage(format!(
                "a process that is only `{}` shares its database with others: set ENTOURAGE_STORE=postgres://…, or leave the role out",
                settings.cluster.role.name()
            )));
        }
        let server = settings.server.clone();
        if matches!(server.auth, Auth::None) && !server.bind.ip().is_loopback() {
            return Err(Error::Unprotected(server.bind).into());
        }
        // Before it is one of the processes that share the database.
        let is_beside_others = settings.store.url.is_some() && settings.cluster.role.answers();
        let _alone = is_beside_others.then(|| Running::alone(&settings.data)).transpose()?;
        let shutdown = interrupt::token_of_server();
        let entourage = Entourage::open(&settings).await?;
        for problem in &entourage.problems {
            tracing::warn!("{problem}; continuing without its tools");
        }
        for remark in &entourage.remarks {
            match remark.severity {
                Severity::Mistake => tracing::warn!("{remark}; continuing without this file"),
                Severity::Remark => tracing::info!("{remark}"),
            }
        }
        if !settings.cluster.role.answers() {
            return only_work(globals, &settings, entourage, &shutdown).await;
        }
        let listener = entourage_server::bind(server.bind).await?;
        let address = listener.local_addr().map_err(|error| Failure::failed(error.to_string()))?;
        let mut running = Running::here(address);
        running.heartbeat = server.heartbeat;
        hangup::reloads(entourage.engine.clone());
        let sign = running.announce(&settings.data)?;
        greet(globals, &running, &settings, &entourage)?;

        let installation = Installed::new(settings, running, entourage.engine.clone());
        let stopping = entourage.engine.stopping().clone();
        let engine = entourage.engine.clone();
        let worker = tokio::spawn(entourage.work());
        let broken = shutdown.clone();
        let agents = async {
            let ended = worker.await;
            // If no agent can work, there is nothing to serve.
            broken.cancel();
            ended
        };
        let requests = async {
            let ended = entourage_server::serve_installed(
                listener,
                engine,
                server,
                Arc::new(installation),
                shutdown.clone(),
            )
            .await;
            drop(sign);
            stopping.cancel();
            ended
        };
        let stop = async {
            shutdown.cancelled().await;
            stopping.cancel();
        };
        let (agents, requests, ()) = tokio::join!(agents, requests, stop);
        requests?;
        agents.map_err(|error| Failure::failed(format!("the dispatcher crashed: {error}")))??;
        Ok(Exit::Done)
    }
}

/// Works for agents until it is told to end, and answers no requests.
async fn only_work(
    globals: &Globals,
    settings: &entourage::Settings,
    entourage: Entourage,
    shutdown: &CancellationToken,
) -> Result<Exit> {
    hangup::reloads(entourage.engine.clone());
    let address = entourage.listens_at().map(|address| address.to_string()).unwrap_or_default();
    let database = entourage::database(settings)?.place();
    let probes = match settings.cluster.probes {
        Some(bind) => Some(entourage_server::bind(bind).await?),
        None => None,
    };
    let probed = probes.as_ref().and_then(|listener| listener.local_addr().ok());
    let probed = probed.map(|address| format!("http://{address}"));
    if globals.json {
        out::json(&json!({
            "role": "worker", "pid": std::process::id(), "nodes": address, "database": database, "probes": probed,
        }))?;
    } else if !globals.quiet {
        let paint = out::stdout();
        out::result(text!["entourage works for agents in ", paint.bold(&database)])?;
        out::result(format!("  nodes    {address} (for other processes of this database)"))?;
        if let Some(probed) = probed {
            out::result(format!("  probes   {probed}/readyz and {probed}/metrics"))?;
        }
        out::result(format!("  model    {} ({})", entourage.choice.default_model, entourage.choice.why))?;
    }
    let stopping = entourage.engine.stopping().clone();
    let stop = async {
        shutdown.cancelled().await;
        stopping.cancel();
        std::future::pending().await
    };
    // They are answered until the work has ended.
    let (engine, server) = (entourage.engine.clone(), settings.server.clone());
    let answer = async {
        if let Some(listener) = probes {
            entourage_server::serve_probes(listener, engine, server, CancellationToken::new()).await;
        }
        std::future::pending().await
    };
    tokio::select! {
        ended = entourage.work() => ended?,
        () = stop => {}
        () = answer => {}
    }
    Ok(Exit::Done)
}

/// Parses a role as users type it.
fn role(given: &str) -> Result<NodeRole, String> {
    let wanted = || format!("give one of {}", NodeRole::ALL.map(NodeRole::name).join(", "));
    NodeRole::ALL.into_iter().find(|role| role.name() == given).ok_or_else(wanted)
}

/// Parses an address as users type it.
fn address(given: &str) -> Result<SocketAddr, String> {
    let wanted = "give HOST:PORT, with an IP address for HOST, such as 127.0.0.1:4180 or [::1]:4180";
    given.parse().map_err(|_| wanted.to_owned())
}

/// Shows its address, its authentication and its model.
fn greet(
    globals: &Globals,
    running: &Running,
    settings: &entourage::Settings,
    entourage: &Entourage,
) -> Result<()> {
    let (choice, auth) = (&entourage.choice, auth(&settings.server));
    if globals.json {
        return out::json(&json!({
            "url": running.url, "pid": running.pid, "data": settings.data, "auth": auth,
            "model": choice.default_model, "why": choice.why,
        }));
    }
    if globals.quiet {
        return Ok(());
    }
    let paint = out::stdout();
    out::result(text!["entourage serves ", paint.bold(&running.url)])?;
    out::result(format!("  console  {}/console", running.url))?;
    out::result(format!("  data     {}", settings.data.display()))?;
    out::result(format!("  auth     {auth}"))?;
    out::result(format!("  model    {} ({})", choice.default_model, choice.why))?;
    if let Some(disclaimer) = entourage.engine.model().disclaimer() {
        out::note(out::stderr().yellow(format!("note: {disclaimer}")));
    }
    Ok(())
}

/// Describes the authentication.
pub(super) fn auth(settings: &Settings) -> String {
    match &settings.auth {
        Auth::None => "none: this machine only".to_owned(),
        Auth::Jwt(jwt) => format!("a token signed with {}", jwt.algorithm.as_str()),
    }
}
