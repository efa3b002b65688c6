//! `entourage chat`: a conversation on the terminal.

use clap::Args;
use entourage_engine::{Entry, Role};
use entourage_types::{AgentId, Question, Reply, Status};
use tokio_util::sync::CancellationToken;

use super::{
    agency,
    backend::{self, Backend, Left, Purpose, Result, transcript},
    failure::{Exit, Failure},
    globals::Globals,
    input::{self, Lines},
    interrupt, intervene, out,
    progress::Rest,
    question,
    run::beside,
    session::{ANSWERS, Begun, End, Session, Typed, is_command},
    text::text,
    tree,
    view::View,
    which::Which,
    words,
};

const AFTER_HELP: &str = "\
Examples:
  entourage chat                        a new conversation
  entourage chat --kind researcher      with another kind of agent
  entourage chat --agency studio        with an agency (`entourage agency` lists them)
  entourage chat agt_0199…              go on with an earlier one (`entourage agents` lists them)

In the conversation: /help lists the commands, /quit ends, and what is typed while agents work is read
before their next step. A paste is one message. Everything is kept: come back at any time.";

/// What may be typed besides words for the agent.
const COMMANDS: [(&str, &str); 6] = [
    ("/tree", "shows the agents, and what they ask"),
    ("/decline", "declines the question that is asked"),
    ("/reject WHY", "does not let the call be made that waits for leave"),
    ("/edit {…}", "lets it be made with these arguments instead"),
    ("/help", "shows this"),
    ("/quit", "ends the conversation, as /exit and Ctrl-D do; everything is kept"),
];
/// The file in the data directory with what was typed.
const HISTORY: &str = "chat_history";

/// Whether a text ends the conversation.
pub(super) fn is_end(text: &str) -> bool {
    matches!(text.trim(), "/quit" | "/exit")
}

/// Talk with an agent on the terminal
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Chat {
    /// The agent of an earlier conversation
    agent: Option<Which<AgentId>>,
    /// The kind of agent to talk to [default: assistant]
    #[arg(long, value_name = "KIND", conflicts_with = "agent")]
    kind: Option<String>,
    /// The agency to talk to, by its file or its name: its first entry point answers
    #[arg(long, value_name = "FILE", conflicts_with_all = ["agent", "kind"])]
    agency: Option<String>,
    /// A directory that agents may read; nothing in it is ever changed
    #[arg(long, value_name = "DIR")]
    files: Option<std::path::PathBuf>,
}

/// What a person wants next.
enum Wish {
    Say(String),
    Tree,
    Help,
    Unknown(String),
    Quit,
}

impl Wish {
    fn of(text: &str) -> Self {
        match text {
            text if is_end(text) => Self::Quit,
            "/tree" => Self::Tree,
            "/help" => Self::Help,
            text if is_command(text) => Self::Unknown(text.to_owned()),
            text => Self::Say(text.to_owned()),
        }
    }
}

impl Chat {
    pub(crate) async fn obey(self, globals: &Globals) -> Result<Exit> {
        if globals.json {
            return Err(Failure::usage(
                "a conversation has no --json. Use `entourage run --json`, or the HTTP API",
            ));
        }
        let mut settings = globals.settings()?;
        let purpose = Purpose::to_work(&mut settings, self.files.as_ref());
        let kind = agency::kind(&mut settings, self.agency.as_deref(), self.kind)?;
        let (kinds, _) = entourage::loaded_kinds(&settings)?;
        let interrupt = interrupt::token();
        let backend = backend::connect(globals, &settings, purpose).await?;
        let mut talk =
            Talk { backend: &*backend, globals, interrupt, session: None, edited: false, told: 0, shown: 0 };
        talk.welcome(kind.as_deref());
        let mut lines = Lines::edited(settings.data.join(HISTORY));
        talk.edited = lines.is_edited();
        let aloud = |kind: &str| kinds.get(kind).is_none_or(|kind| kind.reply == Reply::FinalText);
        if let Some(agent) = self.agent {
            let agent = backend.agent(agent.find(&*backend).await?).await?;
            talk.begin(agent.root, Begun::Before, aloud(&agent.kind)).await?;
        }
        let exit = loop {
            let wish = match talk.listen(&mut lines).await? {
                End::Interrupted => break Exit::Interrupted,
                End::Closed => Wish::Quit,
                End::Command(command) => Wish::of(&command),
                End::Answered => continue,
                // What others say and what comes by itself is shown while a person thinks what to say.
                End::Rest(_) if talk.session.is_some() && input::is_interactive() => continue,
                End::Rest(rest) => {
                    let question = asked(rest);
                    let Some(wish) = talk.wish_while(question.as_ref(), &mut lines).await? else { continue };
                    match (wish, question) {
                        (Wish::Say(text) | Wish::Unknown(text), Some(question)) => {
                            talk.reply(question, &text).await?;
                            continue;
                        }
                        (wish, _) => wish,
                    }
                }
            };
            match wish {
                Wish::Quit => break Exit::Done,
                Wish::Help => help(),
                Wish::Unknown(command) => unknown(&command),
                Wish::Tree => talk.tree().await?,
                Wish::Say(text) => match &mut talk.session {
                    Some(session) => session.say(&text).await?,
                    None => {
                        let agent = backend.create(kind.as_deref(), &text).await?;
                        talk.begin(agent.id, Begun::Now, aloud(&agent.kind)).await?;
                    }
                },
            }
        };
        // What follows stands where the prompt stood.
        drop(lines);
        talk.farewell().await;
        Ok(exit)
    }
}

/// A conversation.
struct Talk<'a> {
    backend: &'a dyn Backend,
    globals: &'a Globals,
    interrupt: CancellationToken,
    session: Option<Session<'a>>,
    /// Whether a line editor has the bottom of the terminal.
    edited: bool,
    /// The last event when the agents were told to rest.
    told: u64,
    /// The number behind the last item of the root that was shown.
    shown: u64,
}

impl Talk<'_> {
    async fn begin(&mut self, root: AgentId, begun: Begun, aloud: bool) -> Result<()> {
        let view = View::new(self.globals, root, aloud, self.edited);
        let mut session = Session::new(self.backend, root, begun, view, self.interrupt.clone()).await?;
        session.resume().await?;
        if begun == Begun::Before {
            (self.told, self.shown) = (session.progress.last, session.heard);
            self.greet(&mut session).await?;
        }
        self.session = Some(session);
        self.backend.work(root).await?;
        if begun == Begun::Now && !self.globals.quiet && input::is_interactive() {
            out::note(out::stderr().dim(beside(root)));
        }
        Ok(())
    }

    /// Answers what is asked.
    async fn reply(&mut self, question: Question, line: &str) -> Result<()> {
        match &mut self.session {
            Some(session) => session.reply(question, line).await,
            None => Ok(()),
        }
    }

    /// Shows what was said before.
    async fn greet(&self, session: &mut Session<'_>) -> Result<()> {
        let paint = out::stdout();
        for entry in transcript(self.backend, session.root(), |_| false).await? {
            // What came meanwhile is shown as it comes.
            if entry.item_seq.is_some_and(|seq| seq >= self.shown) {
                continue;
            }
            let text = match entry.role {
                Role::User => text![paint.cyan(">"), " ", entry.text],
                Role::Assistant => entry.text.into(),
                _ => paint.dim(entry.text),
            };
            session.knows(entry.post);
            out::result(text)?;
        }
        Ok(())
    }

    /// Shows what happens until the agents have answered, rest, or the person wants something else.
    async fn listen(&mut self, lines: &mut Lines) -> Result<End> {
        let Some(session) = &mut self.session else { return Ok(End::Rest(Rest::Ended(Status::Idle))) };
        // Whoever pipes a conversation in cannot be asked, and says the next thing once the last
        // is answered.
        let typing = input::is_interactive().then_some(lines);
        let end = session.until_rest(typing, Typed::Said).await?;
        let is_news = session.progress.last > self.told;
        match &end {
            End::Answered => self.answers().await?,
            End::Rest(rest) => {
                self.told = session.progress.last;
                if is_news {
                    self.rests(rest);
                }
                if input::is_interactive() && !self.edited {
                    out::aside(out::stderr().cyan("> "));
                }
            }
            End::Interrupted | End::Command(_) | End::Closed => {}
        }
        Ok(end)
    }

    /// Shows what the root said in the run that it has ended, as far as it was not shown as it came.
    async fn answers(&mut self) -> Result<()> {
        let Some(session) = &self.session else { return Ok(()) };
        let spoken = session.view.said();
        let new = self.shown..session.heard;
        let was_shown = |entry: &Entry| entry.item_seq.is_some_and(|seq| seq < self.shown);
        for entry in transcript(self.backend, session.root(), was_shown).await? {
            let is_new = entry.item_seq.is_some_and(|seq| new.contains(&seq) && spoken != Some(seq));
            if is_new && entry.role == Role::Assistant {
                out::result(entry.text.trim())?;
            }
        }
        self.shown = session.heard;
        let paint = out::stderr();
        if session.progress.stopped {
            out::note(paint.dim("stopped"));
        } else if let Some(error) = &session.progress.error {
            out::note(text![paint.red("error:"), " ", error]);
        }
        Ok(())
    }

    /// Says that nothing goes on any more.
    fn rests(&self, rest: &Rest) {
        let (Some(session), paint) = (&self.session, out::stderr()) else { return };
        match rest {
            Rest::Asks(questions) => {
                for question in questions {
                    out::aside(question::in_full(question, paint));
                    out::note(paint.dim(question.id));
                }
            }
            Rest::Paused(agents) => intervene::note_paused(agents, self.globals),
            Rest::Ended(_) if !self.globals.quiet => {
                let (usage, cost) = session.progress.spent();
                out::note(paint.dim(words::spent(usage, cost)));
            }
            Rest::Ended(_) => {}
        }
    }

    /// Says whom a person talks to, and how.
    fn welcome(&self, kind: Option<&str>) {
        if input::is_interactive() && !self.globals.quiet {
            let whom = kind.map(|kind| format!("{kind}: ")).unwrap_or_default();
            out::note(
                out::stderr()
                    .dim(format!("{whom}/help lists the commands, Ctrl-D leaves; everything is kept")),
            );
        }
    }

    /// What a person wants; none once the question that they have before them is not open any more.
    async fn wish_while(&mut self, question: Option<&Question>, lines: &mut Lines) -> Result<Option<Wish>> {
        let wish = wish(&self.interrupt, self.edited, lines);
        tokio::pin!(wish);
        let (Some(question), Some(session)) = (question, &mut self.session) else {
            return Ok(Some(wish.await));
        };
        while session.progress.open_questions().any(|open| open.id == question.id) {
            tokio::select! {
                signal = session.next() => session.take(signal?, Typed::Said).await?,
                wish = &mut wish => return Ok(Some(wish)),
            }
        }
        out::note(out::stderr().dim("(it was answered elsewhere)"));
        Ok(None)
    }

    async fn tree(&self) -> Result<()> {
        let Some(session) = &self.session else {
            out::note("there is no agent yet: say something");
            return Ok(());
        };
        let root = session.root();
        tree::show(&self.backend.tree(root).await?, &self.backend.questions(Some(root)).await?)
    }

    async fn farewell(&self) {
        let left = self.backend.leave().await;
        if let Some(session) = self.session.as_ref().filter(|_| !self.globals.quiet) {
            let goes_on = if left == Left::AtWork { "it goes on without you" } else { "everything is kept" };
            let (root, again) = (session.root(), self.globals.again());
            out::note(out::stderr().dim(match session.progress.status() {
                Status::Cancelled => {
                    format!("\nit was deleted; what it wrote stays readable: entourage show {root}{again}")
                }
                _ => format!("\n{goes_on}; come back with: entourage chat {root}{again}"),
            }));
        }
    }
}

async fn wish(interrupt: &CancellationToken, edited: bool, lines: &mut Lines) -> Wish {
    loop {
        if input::is_interactive() && !edited {
            out::aside(out::stderr().cyan("> "));
        }
        let line = tokio::select! {
            line = lines.next() => line,
            () = interrupt.cancelled() => None,
        };
        match line.as_deref().map(str::trim) {
            None => return Wish::Quit,
            Some("") => {}
            Some(text) => return Wish::of(text),
        }
    }
}

/// The question that the next line answers, where nobody can be asked on a terminal.
fn asked(rest: Rest) -> Option<Question> {
    match rest {
        Rest::Asks(questions) if !input::is_interactive() => questions.into_iter().next(),
        _ => None,
    }
}

fn help() {
    let paint = out::stderr();
    for (command, does) in COMMANDS {
        out::note(text!["  ", paint.bold(format!("{command:12}")), paint.dim(does)]);
    }
    out::note(paint.dim("  all else is said to the agent, also while it works"));
}

/// A command that is none, or not now.
fn unknown(command: &str) {
    if ANSWERS.iter().any(|answer| command.starts_with(answer)) {
        out::note("no question is asked");
    } else {
        out::note(text!["there is no command ", command, "; /help lists them"]);
    }
}
