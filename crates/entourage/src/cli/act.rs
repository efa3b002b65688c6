//! `entourage act`: says something about the documents of a project, and shows what it came to.

use std::time::Instant;

use clap::Args;
use entourage_api::{Act as Answered, ActOutcome, Document, NewAct, Project, Question};
use entourage_types::{AgentId, ShownStatus};
use tokio_util::sync::CancellationToken;

use super::{
    answer,
    backend::{self, Backend, OnExit, OpenAct, Purpose, Result},
    describe,
    failure::{Exit, Failure},
    globals::{Globals, quoted},
    input::{self, Lines},
    interrupt, intervene, out,
    progress::Standstill,
    question,
    reference::Reference,
    run,
    session::{End, Session, TreeStart, Typed},
    text::text,
    view::View,
};

const AFTER_HELP: &str = "\
Examples:
  entourage act Trip \"Write a packing list\" --create       a new document, in a new project
  entourage act Trip \"Add a rain jacket\" --resume          in the newest chat about the project
  entourage act Trip --resume \"yes\"                        the answer to its question
  entourage act Trip \"Shorten this\" --document Plan        which document is meant by \"this\"
  entourage act Trip \"What is in Plan?\" --json             one JSON object, for programs

The agent answers, asks, changes one document or creates one. `entourage documents diff` shows a change, `entourage \
documents undo` takes it back. Ctrl-C leaves: the message is on record.

Exit codes: 0 answered or done, 1 failed or nothing was changed, 2 wrong usage, 3 it asks something, 130 interrupted.";

/// Have an agent work on the documents of a project, and print its answer on stdout
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Act {
    /// The project: its name, number or id
    project: Reference,
    /// What is to be done, or a question; `-` reads it from stdin
    message: String,
    /// Continue this chat about the project: its number, or its agent's id
    #[arg(long, value_name = "CHAT", conflicts_with = "resume")]
    chat: Option<Reference>,
    /// Continue the newest chat about the project
    #[arg(long)]
    resume: bool,
    /// The document that is meant by "this": its name, number or id
    #[arg(long, value_name = "DOC")]
    document: Option<Reference>,
    /// Create the project if there is none of this name
    #[arg(long, conflicts_with_all = ["chat", "resume", "document"])]
    create: bool,
}

/// A message on its way, and what shows how far it has come.
struct Acting {
    open: OpenAct,
    session: Session,
}

impl Act {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        let started = Instant::now();
        let message = run::text(&self.message)?;
        if message.trim().is_empty() {
            return Err(Failure::usage("the message is empty: say what is to be done, or ask something"));
        }
        let interrupt = interrupt::token();
        let mut settings = globals.settings()?;
        let begins = self.chat.is_none() && !self.resume;
        let purpose = Purpose::to_work(&mut settings, None, begins);
        let backend = backend::connect(globals, &settings, purpose).await?;
        let project = self.project(&backend).await?;
        let chat = self.chat(&backend, &project).await?;
        let document = match &self.document {
            Some(document) => Some(document.document_of(&backend, &project).await?.id),
            None => None,
        };
        let new = NewAct { message, chat, document };
        let Acting { open, mut session } = send(globals, &backend, &project, new, &interrupt).await?;
        let chat = open.chat;
        if !globals.quiet && !globals.json {
            out::note(out::stderr().dim(run::beside(chat, &globals.again())));
        }
        let answer = tokio::spawn(open.answer());
        let mut lines = (input::is_interactive() && !globals.json).then(Lines::start);
        let end = match session.until_rest(lines.as_mut(), Typed::Ignored).await {
            Ok(end) => end,
            Err(failure) => {
                out::note(on_record(globals, chat));
                return Err(failure);
            }
        };
        match end {
            End::Standstill(Standstill::Ended(_)) => {}
            End::Standstill(Standstill::Asks(questions)) => {
                tell_questions(globals, chat, &questions);
                backend.leave().await;
                return Ok(Exit::NeedsAnswer);
            }
            End::Standstill(Standstill::Paused(agents)) => {
                intervene::note_paused(&agents, globals);
                out::note(format!("  then resume: entourage run --resume {chat}{}", globals.again()));
                backend.leave().await;
                return Ok(Exit::NeedsAnswer);
            }
            End::Interrupted | End::Answered | End::Closed | End::Command(_) => {
                leave(globals, &backend, chat).await;
                return Ok(Exit::Interrupted);
            }
        }
        let act = tokio::select! {
            answered = answer => match answered {
                Ok(act) => act.map_err(|failure| failure.then(&on_record(globals, chat)))?,
                Err(error) => return Err(Failure::failed(format!("the answer was not read: {error}"))),
            },
            () = interrupt.cancelled() => {
                leave(globals, &backend, chat).await;
                return Ok(Exit::Interrupted);
            }
        };
        if globals.json {
            out::json(&act)?;
        } else {
            out::result(&act.answer)?;
        }
        if !globals.quiet && !globals.json {
            tell(globals, &project, &act);
            let (usage, cost) = session.progress.spent();
            let (time, spent) = (describe::duration(started.elapsed()), describe::spent(usage, cost));
            out::note(out::stderr().dim(format!("{time} · {spent} · {chat}")));
        }
        backend.leave().await;
        Ok(exit(&act))
    }

    async fn project(&self, backend: &Backend) -> Result<Project> {
        if self.create {
            return self.project.project_or_new(backend).await;
        }
        self.project.project(backend).await.map_err(|failure| {
            if failure.is_not_found() { failure.then("--create creates it here") } else { failure }
        })
    }

    /// The agent of the chat that is continued; none for a new one.
    async fn chat(&self, backend: &Backend, project: &Project) -> Result<Option<AgentId>> {
        if let Some(chat) = &self.chat {
            return Ok(Some(chat.chat_of(backend, project).await?.agent));
        }
        if !self.resume {
            return Ok(None);
        }
        for chat in backend.project_chats(project.id).await? {
            // A chat that was deleted takes no message.
            match backend.agent(chat.agent).await {
                Ok(agent) if agent.status != ShownStatus::Cancelled => return Ok(Some(chat.agent)),
                Err(failure) if !failure.is_not_found() => return Err(failure),
                Ok(_) | Err(_) => {}
            }
        }
        let (name, quoted) = (&project.name, quoted(&project.name));
        Err(Failure::usage(format!(
            "there is no chat about project `{name}` to continue. `entourage act {quoted} \"…\"` begins one"
        )))
    }
}

/// Sends the message, and begins to follow the chat: an old one before, so that nothing in it is missed.
async fn send(
    globals: &Globals,
    backend: &Backend,
    project: &Project,
    new: NewAct,
    interrupt: &CancellationToken,
) -> Result<Acting> {
    let session = async |chat: AgentId, begun| {
        // For programs there is the result alone.
        let view = if globals.json { View::Silent } else { View::new(globals, chat, false, false) };
        Session::new(backend.clone(), (chat, chat), begun, view, interrupt.clone()).await
    };
    let Some(chat) = new.chat else {
        let open = backend.act(project.id, new).await?;
        let session = session(open.chat, TreeStart::Now).await?;
        backend.work(open.chat).await?;
        return Ok(Acting { open, session });
    };
    if backend.agent(chat).await?.status == ShownStatus::Cancelled {
        return Err(entourage_engine::Error::Gone(chat).into());
    }
    let mut session = session(chat, TreeStart::Before).await?;
    // If this is refused, the message must not have been sent yet.
    backend.work(chat).await?;
    let open = backend.act(project.id, new).await?;
    session.progress.stir();
    Ok(Acting { open, session })
}

/// How the command ends: as what the message came to.
fn exit(act: &Answered) -> Exit {
    match act.outcome {
        Some(ActOutcome::Clarification | ActOutcome::Confirmation) => Exit::NeedsAnswer,
        // Nothing is on record of what it came to if the project was deleted meanwhile.
        Some(ActOutcome::NotCreated | ActOutcome::NotUpdated | ActOutcome::ModelFailed) | None => {
            Exit::Failed
        }
        Some(ActOutcome::Created | ActOutcome::Updated | ActOutcome::Conversation) => Exit::Done,
    }
}

/// Says which document was created or changed, and how to go on.
fn tell(globals: &Globals, project: &Project, act: &Answered) {
    let (paint, again) = (out::stderr(), globals.again());
    let told = |what: &str, document: &Document, next: &str| {
        let head = &document.head;
        let (name, number) = (paint.bold(&head.name), head.number);
        out::note(text![
            what,
            " ",
            name,
            format!(", version {}; entourage documents {next} {number}{again}", head.version)
        ]);
    };
    match (act.outcome, &act.document) {
        (Some(ActOutcome::Created), Some(document)) => told("created", document, "show"),
        (Some(ActOutcome::Updated), Some(document)) => told("changed", document, "diff"),
        _ => {}
    }
    if act.outcome.is_none() {
        return;
    }
    let say = if act.outcome == Some(ActOutcome::Confirmation) { "yes" } else { "…" };
    out::note(format!("go on with: entourage act {} --resume \"{say}\"{again}", quoted(&project.name)));
}

fn tell_questions(globals: &Globals, chat: AgentId, questions: &[Question]) {
    let (paint, again) = (out::stderr(), globals.again());
    for question in questions {
        out::aside(question::in_full(question, paint));
        out::note(format!("  answer with: {}", answer::command(question.id, question.about, &again)));
    }
    out::note(format!("  then resume: entourage run --resume {chat}{again}"));
}

/// Where the answer to a message is read that is on record.
fn on_record(globals: &Globals, chat: AgentId) -> String {
    format!("The message is on record; what became of it: entourage show {chat}{}", globals.again())
}

/// Stops waiting, and says where the answer is read.
async fn leave(globals: &Globals, backend: &Backend, chat: AgentId) {
    if !globals.quiet && !backend.is_at_work(Some(chat)) {
        out::note(out::stderr().dim("stopping; Ctrl-C again ends at once"));
    }
    let again = globals.again();
    match backend.leave().await {
        OnExit::Suspended => {
            out::note(format!(
                "suspended, with the message on record; continue with: entourage run --resume {chat}{again}"
            ));
        }
        OnExit::AtWork => {
            out::note(format!(
                "it is answered in another process; read the answer with: entourage show {chat}{again}"
            ));
        }
    }
}
