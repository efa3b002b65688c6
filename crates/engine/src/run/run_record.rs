//! The run's own row, and what the activation knows of the run beside it.

use std::ops::Deref;

use entourage_store::Write;
use entourage_types::{
    Agent, Kind, ModelUse, Run as RunRow, RunId, RunOptions, Status, StopReason, Switches, TaskId, Time,
    WaitingOn,
};

/// The row of a run, as its next write stores it.
pub(super) struct RunRecord {
    row: RunRow,
    /// Whether the row has been committed.
    is_open: bool,
    /// Whether it has counted something that no write of the row holds yet.
    has_changed: bool,
    /// The run options of the message that the run answers.
    options: Option<RunOptions>,
    /// Whether a model call under way is reserved in budgets.
    is_reserved: bool,
}

/// Everybody may read the row.
impl Deref for RunRecord {
    type Target = RunRow;

    fn deref(&self) -> &RunRow {
        &self.row
    }
}

impl RunRecord {
    /// The agent's open run, or else a new one, which has done nothing yet.
    pub(super) fn of(
        open: Option<RunRow>,
        agent: &Agent,
        (kind, switches): (&Kind, Switches),
        now: Time,
    ) -> Self {
        let is_open = open.is_some();
        Self {
            row: open.unwrap_or_else(|| blank(agent, kind, switches, now)),
            is_open,
            has_changed: false,
            options: None,
            is_reserved: false,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Notes that the row is committed next.
    pub(super) fn open(&mut self) {
        self.is_open = true;
    }

    /// Whether it has counted something that no write of the row holds yet.
    pub(super) fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// Notes that the row was committed as it is.
    pub(super) fn saved(&mut self) {
        self.has_changed = false;
    }

    pub(super) fn options(&self) -> Option<&RunOptions> {
        self.options.as_ref()
    }

    pub(super) fn set_options(&mut self, options: Option<RunOptions>) {
        self.options = options;
    }

    /// Adds a task that the run works on.
    pub(super) fn add_task(&mut self, task: TaskId) {
        if !self.row.tasks.contains(&task) {
            self.row.tasks.push(task);
        }
    }

    /// Has the run work on the tasks of another one, whose place it takes.
    pub(super) fn take_over(&mut self, tasks: Vec<TaskId>) {
        self.row.tasks = tasks;
    }

    /// Counts a model call.
    pub(super) fn count_call(&mut self) {
        self.row.model_calls += 1;
        self.has_changed = true;
    }

    /// Counts what an answer used.
    pub(super) fn charge(&mut self, used: &ModelUse, at: Time) {
        self.row.charge(used, at);
        self.has_changed = true;
    }

    /// Notes that a model call is reserved in budgets.
    pub(super) fn reserve(&mut self) {
        self.is_reserved = true;
    }

    /// Whether a call is reserved; its reservations end with the next commit.
    pub(super) fn take_reserved(&mut self) -> bool {
        std::mem::take(&mut self.is_reserved)
    }

    /// Sets the time at work, in milliseconds.
    pub(super) fn set_worked(&mut self, worked_ms: u64) {
        self.row.worked_ms = worked_ms;
    }

    /// Sets why the run failed.
    pub(super) fn set_error(&mut self, error: String) {
        self.row.error = Some(error);
    }

    /// Sets the run's end.
    pub(super) fn end(&mut self, reason: StopReason, at: Time) {
        self.row.stop_reason = Some(reason);
        self.row.ended = Some(at);
    }

    /// Sets the status and returns the write of the row.
    pub(super) fn write(&mut self, status: Status, waiting_on: Option<WaitingOn>) -> Write {
        (self.row.status, self.row.waiting_on) = (status, waiting_on);
        self.has_changed = false;
        Write::Run(self.row.clone())
    }
}

fn blank(agent: &Agent, kind: &Kind, switches: Switches, now: Time) -> RunRow {
    RunRow {
        id: RunId::new(),
        agent: agent.id,
        owner: agent.owner.clone(),
        status: Status::Running,
        waiting_on: None,
        stop_reason: None,
        error: None,
        kind_version: kind.version.clone(),
        switches,
        tasks: Vec::new(),
        model_calls: 0,
        worked_ms: 0,
        usage: entourage_types::Usage::default(),
        cost: entourage_types::Cost::default(),
        spent: Vec::new(),
        started: now,
        ended: None,
    }
}
