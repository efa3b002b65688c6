//! A tree that is redrawn in place: who is at work and on what, the answer as it comes, the bill.

use std::time::{Duration, Instant};

use entourage_engine::{AgentDelta, Piece};
use entourage_types::{AgentId, Event, EventBody, ItemBody, Status};

use crate::cli::{
    backend::Result,
    out,
    paint::Paint,
    progress::{Member, Progress},
    screen, words,
};

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// How long one picture of the spinner stands.
const TURN: Duration = Duration::from_millis(100);
/// How many agents are shown; those at work come first.
const AGENTS: usize = 16;
/// How many lines of an answer under way are shown, and how long they are.
const TEXT: (usize, usize) = (4, 100);

/// A tree that is redrawn in place.
pub(crate) struct Live {
    root: AgentId,
    aloud: bool,
    paint: Paint,
    started: Instant,
    /// Whether stdout stands in the middle of a line of the root's answer.
    speaking: bool,
    /// The number of the root's item that stands on stdout already.
    pub(super) said: Option<u64>,
}

impl Live {
    pub(super) fn new(root: AgentId, aloud: bool) -> Self {
        Self { root, aloud, paint: out::stderr(), started: Instant::now(), speaking: false, said: None }
    }

    pub(super) fn event(&mut self, event: &Event, progress: &Progress) -> Result<()> {
        if self.speaking
            && event.agent == self.root
            && let EventBody::Item { item: Some(item), item_seq } = &event.body
            && let ItemBody::Turn(turn) = &item.body
        {
            self.speaking = false;
            self.said = turn.calls.is_empty().then_some(*item_seq);
            out::piece("\n")?;
        }
        self.draw(progress);
        Ok(())
    }

    pub(super) fn delta(&mut self, delta: &AgentDelta) -> Result<()> {
        if !self.aloud || delta.agent != self.root {
            return Ok(());
        }
        match &delta.piece {
            Piece::Text(text) => {
                if !self.speaking {
                    self.clear();
                    self.speaking = true;
                }
                out::piece(text)
            }
            Piece::Reset if self.speaking => {
                self.speaking = false;
                out::piece("…\n")?;
                out::note(&self.paint.dim("the answer broke off and is asked for again"));
                Ok(())
            }
            Piece::Reset | Piece::Reasoning(_) | Piece::Call(_) => Ok(()),
        }
    }

    pub(super) fn clear(&self) {
        screen::show(Vec::new());
    }

    pub(super) fn draw(&self, progress: &Progress) {
        if self.speaking {
            return;
        }
        let agents = words::branches(progress.members(), |member| (member.id, member.parent));
        let hidden = agents.len().saturating_sub(AGENTS);
        let mut at_rest = hidden;
        let mut lines: Vec<String> = agents
            .into_iter()
            .filter(|(_, member)| {
                // The first of those that have ended make room.
                let hide = at_rest > 0 && member.status.is_terminal();
                at_rest -= usize::from(hide);
                !hide
            })
            .take(AGENTS)
            .map(|(branch, member)| self.agent(&branch, member, progress))
            .collect();
        if hidden > 0 {
            lines.push(self.paint.dim(&format!("   and {hidden} more")));
        }
        lines.extend(self.answer(progress));
        lines.push(self.bill(progress));
        screen::show(lines);
    }

    fn agent(&self, branch: &str, member: &Member, progress: &Progress) -> String {
        let sign = match member.status {
            Status::Running | Status::Queued | Status::Idle => self.spinner(),
            status => words::sign(status),
        };
        let kind = &member.kind;
        let doing = match member.status {
            Status::Succeeded => String::new(),
            _ => format!(" {}", progress.doing(member)),
        };
        let (branch, sign) = (self.paint.dim(branch), self.paint.status(member.status, sign));
        format!("{branch}{sign} {}{}", self.paint.bold(kind), self.paint.dim(&doing))
    }

    /// The end of what the root is saying.
    fn answer(&self, progress: &Progress) -> Vec<String> {
        let Some(text) = progress.member(self.root).map(|root| root.text.trim()) else { return Vec::new() };
        let (most, width) = TEXT;
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let shown = lines.len().saturating_sub(most);
        lines[shown..]
            .iter()
            .map(|line| {
                // Of a long line, the end is news.
                let chars = line.chars().count();
                let from = line.char_indices().nth(chars.saturating_sub(width)).map_or(0, |(from, _)| from);
                format!("  {}", &line[from..])
            })
            .collect()
    }

    fn bill(&self, progress: &Progress) -> String {
        let (usage, cost) = progress.spent();
        let elapsed = words::duration(self.started.elapsed());
        self.paint
            .dim(&format!("  {elapsed} · {} · Ctrl-C leaves, nothing is lost", words::spent(usage, cost)))
    }

    fn spinner(&self) -> &'static str {
        let turns = self.started.elapsed().as_millis() / TURN.as_millis();
        SPINNER[usize::try_from(turns).unwrap_or(0) % SPINNER.len()]
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.clear();
    }
}
