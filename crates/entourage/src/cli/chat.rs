//! `entourage chat`: a conversation on the terminal.

mod chat_input;
mod reconnect;

use clap::Args;
use entourage::{Kinds, Settings};
use entourage_api::{Agent, Entry, Question, Role};
use entourage_types::{AgentId, Reply, Status, Time};
use tokio_util::sync::CancellationToken;

use super::{
    agency,
    backend::{self, Backend, OnExit, Purpose, Result, transcript},
    describe,
    failure::{Exit, Failure},
    globals::Globals,
    id_input::IdInput,
    input::{self, Lines},
    interrupt, intervene, out,
    outgoing_message::OutgoingMessage,
    progress::Standstill,
    question,
    run::beside,
    session::{End, Session, TreeStart, Typed},
    text::text,
    tree,
    view::View,
};
use chat_input::ChatInput;
pub(super) use chat_input::is_end;

const AFTER_HELP: &str = "\
Examples:
  entourage chat                        a new conversation
  entourage chat --kind researcher      talk to another kind of agent
  entourage chat --agency studio        talk to an agency (`entourage agency` lists them)
  entourage chat agt_0199…              continue an earlier one (`entourage agents` lists them)
  entourage chat \"See Rome\"             talk about a goal (`entourage goals` lists them)

In the conversation: /help lists the commands, and /quit ends it. Agents that work read what you type \
before their next step. A paste is one message. Everything is saved: come back at any time.";

/// The file in the data directory with the input history.
const HISTORY: &str = "chat_history";

/// Talk to an agent on the terminal
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Chat {
    /// The agent of an earlier conversation: its id, or the title of its goal
    agent: Option<IdInput<AgentId>>,
    /// The kind of agent to talk to [default: assistant]
    #[arg(long, value_name = "KIND", conflicts_with = "agent")]
    kind: Option<String>,
    /// The agency to talk to, by file or name: its first entry point answers
    #[arg(long, value_name = "FILE", conflicts_with_all = ["agent", "kind"])]
    agency: Option<String>,
    /// A directory that agents may read and never change
    #[arg(long, value_name = "DIR")]
    files: Option<std::path::PathBuf>,
}

impl Chat {
    pub(crate) async fn run(self, globals: &Globals) -> Result<Exit> {
        if globals.json {
            return Err(Failure::usage(
                "a conversation has no --json. Use `entourage run --json`, or the HTTP API",
            ));
        }
        let mut settings = globals.settings()?;
        let purpose = Purpose::to_work(&mut settings, self.files.as_ref(), false);
        let kind = agency::kind(&mut settings, self.agency.as_deref(), self.kind)?;
        let (kinds, _) = entourage::loaded_kinds(&settings)?;
        let interrupt = interrupt::token();
        let backend = backend::connect(globals, &settings, purpose).await?;
        if let Some(kind) = &kind {
            backend.expect_kind(kind).await?;
        }
        let mut talk = Conversation {
            backend,
            globals,
            settings: &settings,
            kind,
            kinds,
            interrupt,
            session: None,
            edited: false,
            reported: 0,
            shown: 0,
            first: None,
            saying: None,
            alone: false,
        };
        talk.welcome();
        let mut lines = Lines::edited(settings.data.join(HISTORY));
        talk.edited = lines.is_edited();
        if let Some(agent) = self.agent {
            let agent = talk.backend.agent(agent.find(&talk.backend).await?).await?;
            if agent.id != agent.root && !globals.quiet {
                let (named, root, again) = (agent.id, agent.root, globals.again());
                out::note(format!(
                    "note: agent {named} works for agent {root}, with which you talk; to tell agent {named} \
                     something: entourage steer {named}{again}"
                ));
            }
            talk.begin(&agent, TreeStart::Before).await?;
        }
        let exit = loop {
            let end = match talk.go_on(&mut lines).await {
                Err(failure) => talk.take_up(failure, &mut lines).await,
                end => end,
            };
            if let Some(exit) = end.transpose() {
                break exit.map_err(|failure| talk.in_words(failure));
            }
        };
        // The lines that follow replace the prompt.
        drop(lines);
        talk.farewell().await;
        exit
    }
}

/// A conversation.
struct Conversation<'a> {
    backend: Backend,
    globals: &'a Globals,
    settings: &'a Settings,
    /// The kind that a first message goes to.
    kind: Option<String>,
    kinds: Kinds,
    interrupt: CancellationToken,
    session: Option<Session>,
    /// Whether a line editor holds the bottom of the terminal.
    edited: bool,
    /// The last event when it was shown that the agents rest.
    reported: u64,
    /// The number after the root's last item that was shown.
    shown: u64,
    /// The first message, until an agent has it or it was refused; and the last message that was sent.
    first: Option<String>,
    saying: Option<OutgoingMessage>,
    /// Whether the process that worked on the conversation is gone.
    alone: bool,
}

impl Conversation<'_> {
    /// Shows what happens, then does what the user asks for. Returns how the conversation ends, if it does.
    async fn go_on(&mut self, lines: &mut Lines) -> Result<Option<Exit>> {
        let wish = match self.listen(lines).await? {
            End::Interrupted => return Ok(Some(Exit::Interrupted)),
            End::Closed => ChatInput::Quit,
            End::Command(command) => ChatInput::of(&command),
            End::Answered => return Ok(None),
            // Messages of others and spontaneous results are shown while the user thinks what to type.
            End::Standstill(_) if self.session.is_some() && input::is_interactive() => return Ok(None),
            End::Standstill(rest) => {
                let question = asked(rest);
                let Some(wish) = self.wish_while(question.as_ref(), lines).await? else { return Ok(None) };
                match (wish, question) {
                    (ChatInput::Say(text) | ChatInput::Unknown(text), Some(question)) => {
                        self.reply(question, &text).await?;
                        return Ok(None);
                    }
                    (wish, _) => wish,
                }
            }
        };
        match wish {
            ChatInput::Quit => return Ok(Some(Exit::Done)),
            ChatInput::Help => chat_input::help(),
            ChatInput::Unknown(command) => chat_input::unknown(&command),
            ChatInput::Tree => self.tree().await?,
            ChatInput::Say(text) | ChatInput::Tell(text) => match &mut self.session {
                Some(session) => session.say(&text).await?,
                None => self.create(text).await?,
            },
        }
        Ok(None)
    }

    /// Creates an agent for a first message. If that is refused, the user may type another one.
    async fn create(&mut self, text: String) -> Result<()> {
        let saying = OutgoingMessage::of(&text, &mut self.saying);
        self.first = Some(text);
        let at = Time::now();
        let made = self.backend.create(self.kind.as_deref(), &saying.text, Some(&saying.key)).await;
        let agent = match saying.sent(at, made) {
            Ok(agent) => agent,
            Err(failure) if failure.who_is_gone().is_some() => return Err(failure),
            Err(failure) => {
                self.first = None;
                return saying.refused(failure, input::is_interactive());
            }
        };
        self.begin(&agent, TreeStart::Now).await?;
        (self.first, self.saying) = (None, None);
        Ok(())
    }

    async fn begin(&mut self, agent: &Agent, begun: TreeStart) -> Result<()> {
        let root = agent.root;
        let aloud = self.kinds.get(&agent.kind).is_none_or(|kind| kind.reply == Reply::FinalText);
        let view = View::new(self.globals, root, aloud, self.edited);
        let (backend, interrupt) = (self.backend.clone(), self.interrupt.clone());
        let mut session = Session::new(backend, (root, root), begun, view, interrupt).await?;
        session.resume().await?;
        if begun == TreeStart::Before {
            (self.reported, self.shown) = (session.progress.last, session.heard);
            self.greet(&mut session).await?;
        }
        self.session = Some(session);
        self.backend.work(root).await?;
        if begun == TreeStart::Now && !self.globals.quiet && input::is_interactive() {
            out::note(out::stderr().dim(beside(root, &self.globals.again())));
        }
        Ok(())
    }

    /// Answers a question.
    async fn reply(&mut self, question: Question, line: &str) -> Result<()> {
        match &mut self.session {
            Some(session) => session.reply(question, line).await,
            None => Ok(()),
        }
    }

    /// Shows the conversation so far.
    async fn greet(&self, session: &mut Session) -> Result<()> {
        let paint = out::stdout();
        for entry in transcript(&self.backend, session.root(), |_| false).await? {
            // Entries that arrive meanwhile are shown as they arrive.
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

    /// Shows what happens until the agents have answered or rest, or the user asks for something else.
    async fn listen(&mut self, lines: &mut Lines) -> Result<End> {
        let Some(session) = &mut self.session else {
            return Ok(End::Standstill(Standstill::Ended(Status::Idle)));
        };
        // A user who pipes a conversation in cannot be asked; the next line is sent once the last is
        // answered.
        let typing = input::is_interactive().then_some(lines);
        let end = session.until_rest(typing, Typed::Said).await?;
        let is_news = session.progress.last > self.reported;
        match &end {
            End::Answered => self.answers().await?,
            End::Standstill(rest) => {
                self.reported = session.progress.last;
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

    /// Shows the messages of the root in the run that has ended, except those that were streamed.
    async fn answers(&mut self) -> Result<()> {
        let Some(session) = &mut self.session else { return Ok(()) };
        let spoken = session.view.said();
        let new = self.shown..session.heard;
        let was_shown = |entry: &Entry| entry.item_seq.is_some_and(|seq| seq < self.shown);
        for entry in transcript(&self.backend, session.root(), was_shown).await? {
            let is_new = entry.item_seq.is_some_and(|seq| new.contains(&seq) && spoken != Some(seq));
            if is_new && entry.role == Role::Assistant {
                out::result(entry.text.trim())?;
            }
        }
        self.shown = session.heard;
        session.answered = false;
        let paint = out::stderr();
        if session.progress.stopped {
            out::note(paint.dim("stopped"));
        } else if let Some(error) = &session.progress.error {
            out::note(text![paint.red("error:"), " ", error]);
        }
        Ok(())
    }

    /// Reports that the agents rest, and why.
    fn rests(&self, rest: &Standstill) {
        let (Some(session), paint) = (&self.session, out::stderr()) else { return };
        match rest {
            Standstill::Asks(questions) => {
                for question in questions {
                    out::aside(question::in_full(question, paint));
                    out::note(paint.dim(question.id));
                }
            }
            Standstill::Paused(agents) => intervene::note_paused(agents, self.globals),
            Standstill::Ended(_) if !self.globals.quiet => {
                let (usage, cost) = session.progress.spent();
                out::note(paint.dim(describe::spent(usage, cost)));
            }
            Standstill::Ended(_) => {}
        }
    }

    /// Says which agent the user talks to, and how.
    fn welcome(&self) {
        if input::is_interactive() && !self.globals.quiet {
            let whom = self.kind.as_ref().map(|kind| format!("{kind}: ")).unwrap_or_default();
            out::note(
                out::stderr()
                    .dim(format!("{whom}/help lists the commands, Ctrl-D leaves; everything is saved")),
            );
        }
    }

    /// Waits for what the user types; none once the question that is shown is no longer open.
    async fn wish_while(
        &mut self,
        question: Option<&Question>,
        lines: &mut Lines,
    ) -> Result<Option<ChatInput>> {
        let wish = chat_input::next(&self.interrupt, self.edited, lines);
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
        out::note(out::stderr().dim("(the question is no longer open)"));
        Ok(None)
    }

    async fn tree(&self) -> Result<()> {
        let Some(session) = &self.session else {
            out::note("there is no agent yet: type a message");
            return Ok(());
        };
        let root = session.root();
        // Here, or in the process that this conversation is connected to.
        let is_at_work = true;
        let tree = self.backend.tree(root).await?;
        let questions = self.backend.questions(Some(root)).await?;
        let (total, agents) = (tree.total, tree.into_agents());
        let over_budget = tree::over_budget(&self.backend, root, &agents).await?;
        tree::show(&agents, &total, &questions, (&over_budget, is_at_work))
    }

    async fn farewell(&self) {
        let left = self.backend.leave().await;
        if let Some(session) = self.session.as_ref().filter(|_| !self.globals.quiet) {
            let at_work = left == OnExit::AtWork && !self.alone;
            let goes_on = if at_work { "the agents keep working" } else { "everything is saved" };
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

/// The question that the next line answers, where the user cannot be asked on a terminal.
fn asked(rest: Standstill) -> Option<Question> {
    match rest {
        Standstill::Asks(questions) if !input::is_interactive() => questions.into_iter().next(),
        _ => None,
    }
}
