//! `entourage run`: runs one task to its end.

mod addressee;
mod answers;

use std::{
    io::{IsTerminal, Read},
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;
use entourage_api::{ItemBody, Question, ToolCall};
use entourage_types::{AgentId, Cost, ShownStatus, Status, Usage, tool_names};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{
    agency, answer,
    backend::{self, Backend, OnExit, Purpose, Result},
    describe,
    explore::{self, Exploration},
    failure::{Exit, Failure},
    globals::{Globals, quoted},
    id_input::IdInput,
    input::{self, Lines},
    interrupt, intervene, out,
    progress::{Progress, Standstill},
    question,
    session::{End, Session, TreeStart, Typed},
    view::View,
};
use answers::PrintedTexts;

const AFTER_HELP: &str = "\
Examples:
  entourage run \"Compare the two offers\" --files ./offers    agents may read that directory
  entourage run \"Plan a trip, but ask me first\"              agents ask on the terminal
  entourage run \"Summarise today's news\" > news.md           only the answer, progress on stderr
  echo \"What is 6 x 7?\" | entourage run - --json             events and the result, for programs
  entourage run --resume                                     continue the newest unfinished task

Exit codes: 0 answered, 1 failed, 2 wrong usage, 3 a question is open, 130 interrupted.";

/// Run one task and print the answer on stdout
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Run {
    /// What to do; `-` reads it from stdin
    #[arg(required_unless_present = "resume")]
    task: Option<String>,
    /// The kind of agent that gets it [default: assistant]
    #[arg(long, value_name = "KIND", conflicts_with = "resume")]
    kind: Option<String>,
    /// The agency that gets it, by file or name: its first entry point answers
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resume", "kind"])]
    agency: Option<String>,
    /// A directory that agents may read and never change
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    /// Continue this agent, or the newest that has not finished
    #[arg(long, value_name = "AGENT", num_args = 0..=1)]
    resume: Option<Option<IdInput<AgentId>>>,
    /// What `entourage explore` says of the agent.
    #[arg(skip)]
    exploration: Option<Exploration>,
}

/// How often, and after which pause, `run` tries again to continue a tree that it followed in another
/// process, after that process has ended.
const FOLLOWED: u32 = 20;
const AGAIN: Duration = Duration::from_millis(250);
/// The tools that read the directory of `--files`.
const READING: [&str; 2] = [tool_names::LIST_FILES, tool_names::READ_FILE];
/// How many of an agent's last items are searched for calls that read files.
const LATELY: u64 = 200;

/// A tree that existed before.
#[derive(Clone, Copy)]
struct ExistingTree {
    root: AgentId,
    /// The agent that the user talks to.
    agent: AgentId,
    /// Whether it was given the task, which must not be given twice.
    has_task: bool,
}

/// The result, for programs.
#[derive(Serialize)]
struct Report<'a> {
    agent: AgentId,
    status: ShownStatus,
    answer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    questions: &'a [Question],
    usage: Usage,
    cost: Cost,
}

impl Run {
    /// The same for an exploration.
    pub(super) fn exploring(
        task: Option<String>,
        new: Exploration,
        files: Option<PathBuf>,
        resume: Option<Option<IdInput<AgentId>>>,
    ) -> Self {
        Self { task, kind: None, agency: None, files, resume, exploration: Some(new) }
    }

    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let started = Instant::now();
        if let (Some(None), Some(task)) = (&self.resume, &self.task)
            && (task == "@last" || task.starts_with("agt_"))
        {
            let why =
                format!("`{task}` would be sent to the agent: write `--resume {task}`, one after the other");
            return Err(Failure::usage(why));
        }
        let (interrupt, mut followed) = (interrupt::token(), None);
        let mut told = PrintedTexts::new(self.exploration.is_some());
        for _ in 0..FOLLOWED {
            match self.once(globals, (started, &interrupt), &mut followed, &mut told).await {
                // The tree was followed in another process, which has ended: it has the answer by now, or
                // continues here.
                Err(failure)
                    if failure.who_is_gone().is_some()
                        && followed.is_some_and(|followed| self.task.is_none() || followed.has_task) =>
                {
                    tokio::time::sleep(AGAIN).await;
                }
                done => return done,
            }
        }
        self.once(globals, (started, &interrupt), &mut followed, &mut told).await
    }

    /// Runs the tree, or follows the process that does. `followed` is set once it is known which tree that
    /// existed before is meant; what is in `told` is not told again.
    async fn once(
        &self,
        globals: &Globals,
        (started, interrupt): (Instant, &CancellationToken),
        followed: &mut Option<ExistingTree>,
        told: &mut PrintedTexts,
    ) -> Result<Exit> {
        let has_task = followed.as_ref().is_some_and(|followed| followed.has_task);
        let task = self.task.as_deref().filter(|_| !has_task).map(text).transpose()?;
        let mut settings = globals.settings()?;
        let purpose = Purpose::to_work(&mut settings, self.files.as_ref(), self.resume.is_none());
        let kind = agency::kind(&mut settings, self.agency.as_deref(), self.kind.clone())?;
        let backend: Backend = backend::connect(globals, &settings, purpose).await?;
        let (root, agent) = match (&self.resume, *followed) {
            (Some(_), Some(ExistingTree { root, agent, .. })) => (root, agent),
            (None, _) => self.start(&backend, kind.as_deref(), task.as_deref().unwrap_or_default()).await?,
            (Some(Some(agent)), None) => {
                let named = agent.find(&backend).await?;
                let meant = self.meant(&backend, named).await?;
                if task.is_some() { addressee::checked(meant, named, globals)? } else { meant }
            }
            (Some(None), None) => {
                let root = newest_unfinished(&backend).await?;
                (root, root)
            }
        };
        *followed = self.resume.is_some().then_some(ExistingTree { root, agent, has_task });
        let mut chunks = (globals.json && self.exploration.is_some()).then(|| backend.chunks(agent));
        let view = match &chunks {
            Some(_) => View::Silent,
            None => View::new(globals, agent, false, false),
        };
        let begun = match &self.resume {
            None if agent == root => TreeStart::Now,
            None => TreeStart::Joined,
            Some(_) => TreeStart::Before,
        };
        let mut session =
            Session::new(backend.clone(), (root, agent), begun, view, interrupt.clone()).await?;
        if begun == TreeStart::Before && session.progress.status() == Status::Cancelled {
            return Err(entourage_engine::Error::Gone(root).into());
        }
        if task.is_none() && !session.resume().await? {
            let next = "Say what it shall do: `entourage run --resume` takes a task too";
            return Err(Failure::usage(format!("agent {root} was never given anything to do. {next}")));
        }
        let sees_files = settings.tools.files.is_some() || backend.is_at_work(Some(root));
        if begun == TreeStart::Before
            && !sees_files
            && !globals.quiet
            && has_read_files(&backend, root).await.unwrap_or(false)
        {
            let next = "no directory is given now; --files DIR gives one";
            out::note(out::stderr().yellow(format!("note: agent {root} has read files before, and {next}")));
        }
        // If this is refused, no message may have been sent to the agent yet.
        backend.work(root).await?;
        if let (Some(task), TreeStart::Before) = (&task, begun) {
            session.tell(task).await?;
            *followed = Some(ExistingTree { root, agent, has_task: true });
        }
        if begun != TreeStart::Before && !globals.quiet && !globals.json {
            out::note(out::stderr().dim(beside(agent, &globals.again())));
        }
        let mut lines = (input::is_interactive() && !globals.json).then(Lines::start);
        let end = loop {
            let end = match &mut chunks {
                Some(chunks) => explore::print_chunks(&mut session, chunks).await?,
                None => session.until_rest(lines.as_mut(), Typed::Ignored).await?,
            };
            if end != End::Answered {
                break end;
            }
            session.answered = false;
            // Others are at work for longer: what it says is told as it comes.
            if !globals.json && session.progress.status() == Status::Succeeded {
                told.tell_early(&backend, agent, &session.ends).await?;
            }
        };
        let Session { progress, ends, .. } = session;
        if end == End::Interrupted {
            self.leave(globals, &backend, root, agent).await;
            if let Some(Standstill::Paused(agents)) = progress.paused() {
                intervene::note_paused(&agents, globals);
            }
        }
        let said = answers::conversation(&backend, agent, &ends).await?;
        if !globals.json && end == End::Standstill(Standstill::Ended(Status::Succeeded)) {
            told.tell(&said, &ends)?;
        }
        let answer = told.whole(&said, &ends);
        let exit = self.report(globals, agent, &progress, &end, answer.as_deref())?;
        if exit == Exit::Done && !globals.quiet && !globals.json {
            let (usage, cost) = progress.spent();
            let (time, spent) = (describe::duration(started.elapsed()), describe::spent(usage, cost));
            out::note(out::stderr().dim(format!("{time} · {spent} · {agent}")));
            if backend.disclaimer().is_some() {
                next_steps(globals, agent, &settings);
            }
        }
        backend.leave().await;
        Ok(exit)
    }

    /// Starts the agent, and returns the root of its tree and the agent.
    async fn start(&self, backend: &Backend, kind: Option<&str>, task: &str) -> Result<(AgentId, AgentId)> {
        match &self.exploration {
            Some(new) => self.meant(backend, new.start(backend, task).await?).await,
            None => {
                let root = backend.create(kind, task, None).await?.id;
                Ok((root, root))
            }
        }
    }

    /// The root of an agent's tree, and the agent that the user talks to: in an exploration that agent.
    async fn meant(&self, backend: &Backend, agent: AgentId) -> Result<(AgentId, AgentId)> {
        let root = backend.agent(agent).await?.root;
        Ok((root, if self.exploration.is_some() { agent } else { root }))
    }

    fn report(
        &self,
        globals: &Globals,
        root: AgentId,
        progress: &Progress,
        end: &End,
        answer: Option<&str>,
    ) -> Result<Exit> {
        let (usage, cost) = progress.spent();
        let status = progress.status();
        let error = progress.error.as_deref();
        let (exit, questions) = match end {
            End::Standstill(Standstill::Asks(questions)) => (Exit::NeedsAnswer, questions.as_slice()),
            End::Standstill(Standstill::Ended(Status::Succeeded)) => (Exit::Done, [].as_slice()),
            End::Standstill(Standstill::Ended(_)) if progress.stopped => (Exit::Interrupted, [].as_slice()),
            End::Standstill(Standstill::Paused(_)) => (Exit::NeedsAnswer, [].as_slice()),
            End::Standstill(Standstill::Ended(_)) => (Exit::Failed, [].as_slice()),
            End::Interrupted | End::Answered | End::Closed | End::Command(_) => {
                (Exit::Interrupted, [].as_slice())
            }
        };
        if globals.json && self.exploration.is_some() {
            // The chunks say it all.
        } else if globals.json {
            let status = progress.shown();
            out::json(&Report { agent: root, status, answer, error, questions, usage, cost })?;
        } else if exit == Exit::Done && answer.is_none() {
            out::note(format!(
                "it ended without an answer; what it wrote: entourage show {root}{}",
                globals.again()
            ));
        }
        if status == Status::Cancelled && !globals.json {
            out::note(format!(
                "agent {root} was deleted; what it wrote stays readable: entourage show {root}{}",
                globals.again()
            ));
        } else if progress.stopped && *end != End::Interrupted && !globals.json {
            out::note(format!("stopped; continue with: {} \"…\"", self.resume_command(globals, root)));
        }
        match end {
            End::Standstill(Standstill::Asks(questions)) => self.tell_questions(globals, root, questions),
            End::Standstill(Standstill::Paused(agents)) => {
                intervene::note_paused(agents, globals);
                out::note(format!("  then resume: {}", self.resume_command(globals, root)));
            }
            _ => {}
        }
        if exit == Exit::Failed {
            let (why, again) = (error.unwrap_or("no reason is known"), globals.again());
            let next = format!("`entourage tail {root}{again}` shows what led to it");
            Failure::failed(format!("the run {status}: {}. {next}", why.trim_end_matches('.'))).tell();
        }
        Ok(exit)
    }

    /// Shows the open questions and how to go on.
    fn tell_questions(&self, globals: &Globals, root: AgentId, questions: &[Question]) {
        let (paint, again) = (out::stderr(), globals.again());
        for question in questions {
            out::aside(question::in_full(question, paint));
            out::note(format!("  answer with: {}", answer::command(question.id, question.about, &again)));
        }
        out::note(format!("  then resume: {}", self.resume_command(globals, root)));
    }

    /// Stops waiting for the agents, and shows how to come back to them.
    async fn leave(&self, globals: &Globals, backend: &Backend, root: AgentId, agent: AgentId) {
        let goes_on = backend.is_at_work(Some(root));
        if !globals.quiet && !goes_on {
            out::note(out::stderr().dim("stopping; Ctrl-C again ends at once"));
        }
        let at_work = backend.leave().await == OnExit::AtWork || goes_on;
        let told = if at_work { "it continues in another process; follow it" } else { "suspended; continue" };
        out::note(format!("{told} with: {}", self.resume_command(globals, agent)));
    }

    fn resume_command(&self, globals: &Globals, root: AgentId) -> String {
        let files =
            self.files.as_ref().map(|files| format!(" --files {}", quoted(&files.display().to_string())));
        let command = if self.exploration.is_some() { "explore" } else { "run" };
        format!("entourage {command} --resume {root}{}{}", files.unwrap_or_default(), globals.again())
    }
}

/// Shows a new user what to try next, after a run of the rehearsal.
fn next_steps(globals: &Globals, root: AgentId, settings: &entourage::Settings) {
    let (again, database) = (globals.again(), entourage::database(settings));
    let place = database.map(|database| format!(": {}", database.place())).unwrap_or_default();
    out::note(format!("Every step is on disk, and so are notes{place}. Try next:"));
    out::note(format!("  entourage tree {root}{again}     the agents and who started them"));
    out::note(format!("  entourage tail {root}{again}     every step, in order"));
    out::note(format!("  entourage doctor{again}     how to set up a real model"));
}

/// Whether an agent has recently called tools that read files.
async fn has_read_files(backend: &Backend, agent: AgentId) -> Result<bool> {
    let items = backend.agent(agent).await?.items;
    let lately = backend.items(agent, items.saturating_sub(LATELY)).await?;
    let reads = |call: &ToolCall| READING.contains(&call.tool.as_str());
    Ok(lately
        .iter()
        .any(|item| matches!(&item.body, ItemBody::Turn { calls, .. } if calls.iter().any(reads))))
}

/// The commands that another terminal can use meanwhile; `again` are the options that lead to the same data.
pub(super) fn beside(root: AgentId, again: &str) -> String {
    let with = if again.is_empty() { String::new() } else { format!(", each with{again}") };
    format!(
        "{root}; from another terminal: entourage tree, tail --follow, steer @last \"…\", stop @last{with}"
    )
}

async fn newest_unfinished(backend: &Backend) -> Result<AgentId> {
    backend.newest_unfinished().await?.ok_or_else(|| {
        Failure::usage(
            "there is nothing to resume: no agent is unfinished. `entourage agents` lists all agents",
        )
    })
}

/// The task, from the command line or from stdin.
pub(super) fn text(given: &str) -> Result<String> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    if std::io::stdin().is_terminal() {
        out::note("Write the task; Ctrl-D ends it.");
    }
    let mut text = String::new();
    match std::io::stdin().read_to_string(&mut text) {
        Ok(_) => Ok(text),
        Err(error) => {
            Err(Failure::usage(format!("the task cannot be read from stdin: {error}. Give it as UTF-8")))
        }
    }
}
