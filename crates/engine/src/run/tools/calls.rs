//! The calls that a run is making: those of its turn, and those that their code makes.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::{Index, Range},
};

use entourage_types::{CallId, ToolCall};
use tokio_util::sync::CancellationToken;

/// The calls of a turn, and behind them those of their code, in the order in which it made them. The index of a call
/// stays the same.
pub(in crate::run) struct Calls<'t> {
    turn: &'t [ToolCall],
    of_code: Vec<SubCall>,
    /// Calls whose code waits, and what for, by their index.
    waiting: BTreeMap<usize, Vec<Vec<CallId>>>,
    /// The numbers of the calls whose outputs code was given, by the index of the call that runs it.
    given: BTreeMap<usize, BTreeSet<usize>>,
    /// What cuts off the calls of code that are in progress, by their index.
    in_progress: BTreeMap<usize, CancellationToken>,
    /// The first of the calls that were not begun in this activation.
    next: usize,
}

/// A call that code has made.
struct SubCall {
    /// The index of the call whose code made it.
    of: usize,
    call: ToolCall,
}

impl<'t> Calls<'t> {
    /// The calls of a turn.
    pub(in crate::run) fn of(turn: &'t [ToolCall]) -> Self {
        Self {
            turn,
            of_code: Vec::new(),
            waiting: BTreeMap::new(),
            given: BTreeMap::new(),
            in_progress: BTreeMap::new(),
            next: 0,
        }
    }

    /// The calls of the turn.
    pub(in crate::run) fn turn(&self) -> &'t [ToolCall] {
        self.turn
    }

    pub(in crate::run) fn len(&self) -> usize {
        self.turn.len() + self.of_code.len()
    }

    pub(in crate::run) fn iter(&self) -> impl Iterator<Item = &ToolCall> {
        self.turn.iter().chain(self.of_code.iter().map(|sub| &sub.call))
    }

    /// Adds calls that the code of the call at this index has made; the code then waits for all calls of one of the
    /// groups.
    pub(in crate::run) fn code_waits(
        &mut self,
        of: usize,
        made: impl IntoIterator<Item = ToolCall>,
        groups: Vec<Vec<CallId>>,
    ) {
        self.of_code.extend(made.into_iter().map(|call| SubCall { of, call }));
        self.waiting.insert(of, groups);
    }

    /// The code of the call at this index is given the outputs of its calls with these numbers.
    pub(in crate::run) fn give(&mut self, index: usize, outputs: impl IntoIterator<Item = usize>) {
        self.given.entry(index).or_default().extend(outputs);
    }

    /// Whether it was given the output of its call with this number.
    pub(in crate::run) fn was_given(&self, index: usize, number: usize) -> bool {
        self.given.get(&index).is_some_and(|given| given.contains(&number))
    }

    /// The call whose code made the call at this index; none if that is of the turn.
    pub(in crate::run) fn maker(&self, index: usize) -> Option<&'t ToolCall> {
        let sub = self.of_code.get(index.checked_sub(self.turn.len())?)?;
        self.turn.get(sub.of)
    }

    /// The calls that the code of the call at this index has made.
    pub(in crate::run) fn made_by(&self, index: usize) -> impl Iterator<Item = &ToolCall> {
        self.of_code.iter().filter(move |sub| sub.of == index).map(|sub| &sub.call)
    }

    /// Whether code waits for the call at this index.
    pub(in crate::run) fn is_awaited(&self, index: usize) -> bool {
        let Some(sub) = index.checked_sub(self.turn.len()).and_then(|at| self.of_code.get(at)) else {
            return false;
        };
        self.waiting.get(&sub.of).is_some_and(|groups| groups.iter().flatten().any(|id| *id == sub.call.id))
    }

    /// Whether the code of the call at this index waits, and nothing that it waits for has come.
    pub(in crate::run) fn is_waiting(&self, index: usize, is_answered: impl Fn(CallId) -> bool) -> bool {
        self.waiting.get(&index).is_some_and(|groups| !is_ready(groups, is_answered))
    }

    /// Registers a call of code that is begun; returns what cuts it off when its code ends. None for a call of the turn.
    pub(in crate::run) fn begin(&mut self, index: usize) -> Option<CancellationToken> {
        let token = self.maker(index).map(|_| CancellationToken::new())?;
        self.in_progress.insert(index, token.clone());
        Some(token)
    }

    /// Cuts off the calls in progress of the code of the call at this index.
    pub(in crate::run) fn cut_off(&self, index: usize) {
        let sub_calls = (self.turn.len()..).zip(&self.of_code).filter(|(_, sub)| sub.of == index);
        sub_calls.filter_map(|(at, _)| self.in_progress.get(&at)).for_each(CancellationToken::cancel);
    }

    /// Whether the code of the call at this index was waiting when it was last seen.
    pub(in crate::run) fn has_waiting_code(&self, index: usize) -> bool {
        self.waiting.contains_key(&index)
    }

    /// The calls that were not begun, once each.
    pub(in crate::run) fn take_new(&mut self) -> Range<usize> {
        let new = self.next..self.len();
        self.next = new.end;
        new
    }

    /// The calls whose code can go on, since what it waits for is answered, once each.
    pub(in crate::run) fn take_ready(&mut self, is_answered: impl Fn(CallId) -> bool) -> Vec<usize> {
        let ready = self.waiting.iter().filter(|(_, groups)| is_ready(groups, &is_answered));
        let ready: Vec<usize> = ready.map(|(index, _)| *index).collect();
        ready.iter().for_each(|index| drop(self.waiting.remove(index)));
        ready
    }
}

/// Whether all calls of one of these groups are answered.
fn is_ready(groups: &[Vec<CallId>], is_answered: impl Fn(CallId) -> bool) -> bool {
    groups.iter().any(|group| group.iter().all(|call| is_answered(*call)))
}

impl Index<usize> for Calls<'_> {
    type Output = ToolCall;

    fn index(&self, index: usize) -> &ToolCall {
        match index.checked_sub(self.turn.len()) {
            None => &self.turn[index],
            Some(at) => &self.of_code[at].call,
        }
    }
}
