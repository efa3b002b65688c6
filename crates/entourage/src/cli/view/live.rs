//! Redraws a tree in place: the agents at work and what they do, the answer as it is streamed, tokens and
//! cost.

use std::time::{Duration, Instant};

use entourage_api::{Delta, Event, EventBody, ItemBody, Piece};
use entourage_types::{AgentId, Status};

use super::spoken::AGAIN;
use crate::cli::{
    backend::Result,
    describe, out,
    paint::Paint,
    progress::{Member, Progress},
    screen,
    text::{Text, rows, text},
};

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How long each picture of the spinner is shown.
const TURN: Duration = Duration::from_millis(100);
/// How many agents are shown; those at work come first.
const AGENTS: usize = 16;
/// How many rows of streamed text are shown.
const ROWS: usize = 4;

/// A tree that is redrawn in place.
pub(crate) struct Live {
    root: AgentId,
    aloud: bool,
    paint: Paint,
    started: Instant,
    /// Whether stdout is in the middle of a line of the root's answer.
    speaking: bool,
    /// The last character of the answer on stdout.
    ends: Option<char>,
    /// Whether the last attempt broke off, and none has started since.
    broken: bool,
    /// The number of the root's item that is on stdout already.
    pub(super) said: Option<u64>,
}

impl Live {
    pub(super) fn new(root: AgentId, aloud: bool) -> Self {
        Self {
            root,
            aloud,
            paint: out::stderr(),
            started: Instant::now(),
            speaking: false,
            ends: None,
            broken: false,
            said: None,
        }
    }

    pub(super) fn event(&mut self, event: &Event, progress: &Progress) -> Result<()> {
        if self.speaking
            && event.agent == self.root
            && let EventBody::Item { item: Some(item), item_seq } = &event.body
            && let ItemBody::Turn { calls, .. } = &item.body
        {
            self.speaking = false;
            self.said = calls.is_empty().then_some(*item_seq);
            out::piece("\n")?;
        }
        if matches!(&event.body, EventBody::Run { status, .. } if event.agent == self.root && status.is_terminal())
        {
            self.broken = false;
        }
        self.draw(progress);
        Ok(())
    }

    pub(super) fn delta(&mut self, delta: &Delta) -> Result<()> {
        if !self.aloud || delta.agent != self.root {
            return Ok(());
        }
        match &delta.piece {
            Piece::Text(text) => {
                if std::mem::take(&mut self.broken) {
                    out::note(self.paint.dim(AGAIN));
                }
                if !self.speaking {
                    self.clear();
                    (self.speaking, self.ends) = (true, None);
                }
                out::piece(Text::following(&mut self.ends, text))
            }
            Piece::Reset(_) if self.speaking => {
                (self.speaking, self.broken) = (false, true);
                out::piece("…\n")
            }
            Piece::Reset(_) | Piece::Reasoning(_) | Piece::Call(_) => Ok(()),
        }
    }

    pub(super) fn clear(&self) {
        screen::show(Vec::new());
    }

    pub(super) fn draw(&self, progress: &Progress) {
        if self.speaking {
            return;
        }
        let agents = describe::branches(progress.members(), |member| (member.id, member.parent));
        let hidden = agents.len().saturating_sub(AGENTS);
        let mut at_rest = hidden;
        let mut lines: Vec<Text> = agents
            .into_iter()
            .filter(|(_, member)| {
                // The first ended agents make room.
                let hide = at_rest > 0 && member.status.is_terminal();
                at_rest -= usize::from(hide);
                !hide
            })
            .take(AGENTS)
            .map(|(branch, member)| self.agent(&branch, member, progress))
            .collect();
        if hidden > 0 {
            lines.push(self.paint.dim(format!("   and {hidden} more")));
        }
        lines.extend(shortage(progress));
        lines.extend(self.answer(progress));
        lines.push(self.bill(progress));
        screen::show(lines);
    }

    fn agent(&self, branch: &str, member: &Member, progress: &Progress) -> Text {
        let sign = match member.status {
            Status::Running | Status::Queued | Status::Idle => self.spinner(),
            _ => describe::sign(member.shown()),
        };
        let doing = match member.status {
            Status::Succeeded => String::new(),
            _ => format!(" {}", progress.doing(member)),
        };
        // Which of several agents of one kind it is.
        let about = match member.id == self.root {
            true => String::new(),
            false => format!(" “{}”", describe::cut(&member.title, 40)),
        };
        let (branch, sign) = (self.paint.dim(branch), self.paint.status(member.shown(), sign));
        text![branch, sign, " ", self.paint.bold(&member.kind), about, self.paint.dim(doing)]
    }

    /// The end of the text that is being streamed, by the agent that wrote last.
    fn answer(&self, progress: &Progress) -> Vec<Text> {
        let Some(member) = progress.writing() else { return Vec::new() };
        let who = if member.id == self.root { String::new() } else { format!("{}: ", member.kind) };
        // The end of a long text is its news.
        let text = member.text.trim();
        let from = text.rmatch_indices('\n').nth(2 * ROWS).map_or(0, |(end, _)| end + 1);
        let rows = rows(&format!("{who}{}", &text[from..]), screen::columns().saturating_sub(3));
        let rows: Vec<String> = rows.into_iter().filter(|row| !row.trim().is_empty()).collect();
        let hidden = rows.len().saturating_sub(ROWS);
        rows[hidden..].iter().map(|row| text!["  ", row]).collect()
    }

    fn bill(&self, progress: &Progress) -> Text {
        let (usage, cost) = progress.spent();
        let elapsed = describe::duration(self.started.elapsed());
        self.paint
            .dim(format!("  {elapsed} · {} · Ctrl-C leaves, nothing is lost", describe::spent(usage, cost)))
    }

    fn spinner(&self) -> &'static str {
        let turns = self.started.elapsed().as_millis() / TURN.as_millis();
        SPINNER[usize::try_from(turns).unwrap_or(0) % SPINNER.len()]
    }
}

/// What a budget lacks for which agents wait, whole: all agents of a tree have the same budgets.
fn shortage(progress: &Progress) -> Vec<Text> {
    let Some((agent, what)) = progress.over_budget().next() else { return Vec::new() };
    let told = format!("{what}; what to grant: entourage why {agent}");
    rows(&told, screen::columns().saturating_sub(3)).iter().map(|row| text!["  ", row]).collect()
}

impl Drop for Live {
    fn drop(&mut self) {
        self.clear();
    }
}
