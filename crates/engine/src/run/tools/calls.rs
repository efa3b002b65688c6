//! The calls that a run is making: those of its turn, and those that their code makes.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Index,
};

use entourage_types::{CallId, Time, ToolCall};
use tokio_util::sync::CancellationToken;

/// The calls of a turn, and behind them those of their code, in the order in which it made them. The index of a call
/// stays the same.
pub(in crate::run) struct Calls<'t> {
    turn: &'t [ToolCall],
    sub_calls: Vec<SubCall>,
    /// What is known of code that calls of the turn run, by the index of the call.
    code: BTreeMap<usize, Code>,
    /// The first of the calls that were not begun in this activation.
    next: usize,
    /// Those that are begun once more, since a person has allowed it.
    again: Vec<usize>,
    /// Those that begin once there is a place for them.
    put_off: Vec<usize>,
}

/// A call that code has made.
struct SubCall {
    /// The index of the call whose code made it.
    of: usize,
    call: ToolCall,
    /// What cuts it off, once it is in progress.
    cut_off: Option<CancellationToken>,
}

/// Code that has made calls.
#[derive(Default)]
struct Code {
    /// What it waits for; none while it runs.
    waits: Option<CodeWait>,
    /// The numbers of the calls whose outputs it was given.
    given: BTreeSet<usize>,
}

/// What code waits for.
pub(in crate::run) struct CodeWait {
    /// All calls of one of these groups.
    pub(in crate::run) groups: Vec<Vec<CallId>>,
    /// And this moment, if it could not be run when it was ready before.
    pub(in crate::run) not_before: Option<Time>,
}

impl CodeWait {
    fn is_over(&self, now: Time, is_answered: impl Fn(CallId) -> bool) -> bool {
        self.not_before.is_none_or(|due| due <= now)
            && self.groups.iter().any(|group| group.iter().all(|call| is_answered(*call)))
    }
}

impl<'t> Calls<'t> {
    /// The calls of a turn.
    pub(in crate::run) fn of(turn: &'t [ToolCall]) -> Self {
        Self {
            turn,
            sub_calls: Vec::new(),
            code: BTreeMap::new(),
            next: 0,
            again: Vec::new(),
            put_off: Vec::new(),
        }
    }

    /// The calls of the turn.
    pub(in crate::run) fn turn(&self) -> &'t [ToolCall] {
        self.turn
    }

    pub(in crate::run) fn len(&self) -> usize {
        self.turn.len() + self.sub_calls.len()
    }

    pub(in crate::run) fn iter(&self) -> impl Iterator<Item = &ToolCall> {
        self.turn.iter().chain(self.sub_calls.iter().map(|sub| &sub.call))
    }

    /// Adds calls that the code of the call at this index has made; the code then waits.
    pub(in crate::run) fn code_waits(
        &mut self,
        of: usize,
        made: impl IntoIterator<Item = ToolCall>,
        waits: CodeWait,
    ) {
        self.sub_calls.extend(made.into_iter().map(|call| SubCall { of, call, cut_off: None }));
        self.code.entry(of).or_default().waits = Some(waits);
    }

    /// The code of the call at this index is given the outputs of its calls with these numbers.
    pub(in crate::run) fn give(&mut self, index: usize, outputs: impl IntoIterator<Item = usize>) {
        self.code.entry(index).or_default().given.extend(outputs);
    }

    /// Whether it was given the output of its call with this number.
    pub(in crate::run) fn was_given(&self, index: usize, number: usize) -> bool {
        self.code.get(&index).is_some_and(|code| code.given.contains(&number))
    }

    /// The call whose code made the call at this index; none if that is of the turn.
    pub(in crate::run) fn maker(&self, index: usize) -> Option<&'t ToolCall> {
        self.turn.get(self.sub_call(index)?.of)
    }

    /// The calls that the code of the call at this index has made.
    pub(in crate::run) fn made_by(&self, index: usize) -> impl Iterator<Item = &ToolCall> {
        self.sub_calls.iter().filter(move |sub| sub.of == index).map(|sub| &sub.call)
    }

    /// Whether code waits for the call at this index.
    pub(in crate::run) fn is_awaited(&self, index: usize) -> bool {
        let Some(sub) = self.sub_call(index) else { return false };
        self.waits(sub.of).is_some_and(|waits| waits.groups.iter().flatten().any(|id| *id == sub.call.id))
    }

    /// Whether the code of the call at this index waits, and cannot go on at this moment.
    pub(in crate::run) fn is_waiting(
        &self,
        index: usize,
        now: Time,
        is_answered: impl Fn(CallId) -> bool,
    ) -> bool {
        self.waits(index).is_some_and(|waits| !waits.is_over(now, is_answered))
    }

    /// Whether the code of the call at this index was waiting when it was last seen.
    pub(in crate::run) fn has_waiting_code(&self, index: usize) -> bool {
        self.waits(index).is_some()
    }

    /// Registers a call of code that is begun; returns what cuts it off when its code ends. None for a call of the turn.
    pub(in crate::run) fn begin(&mut self, index: usize) -> Option<CancellationToken> {
        let sub = self.sub_calls.get_mut(index.checked_sub(self.turn.len())?)?;
        Some(sub.cut_off.insert(CancellationToken::new()).clone())
    }

    /// Cuts off the calls in progress of the code of the call at this index.
    pub(in crate::run) fn cut_off(&self, index: usize) {
        let sub_calls = self.sub_calls.iter().filter(|sub| sub.of == index);
        sub_calls.filter_map(|sub| sub.cut_off.as_ref()).for_each(CancellationToken::cancel);
    }

    /// Whether code of one of the calls has made calls.
    pub(in crate::run) fn have_code(&self) -> bool {
        !self.code.is_empty()
    }

    /// Of these calls those are begun once more that were begun, or waited, before.
    pub(in crate::run) fn begin_again(&mut self, allowed: &[CallId]) {
        let before = self.iter().take(self.next).enumerate();
        let again: Vec<usize> =
            before.filter(|(_, call)| allowed.contains(&call.id)).map(|(index, _)| index).collect();
        self.again.extend(again);
    }

    /// Whether none was looked at.
    pub(in crate::run) fn are_new(&self) -> bool {
        self.next == 0
    }

    /// Looks at a call once more.
    pub(in crate::run) fn look_again(&mut self, index: usize) {
        self.again.push(index);
    }

    /// Those to be looked at once more; of those that were put off as many as there are places for besides; and those that
    /// were not looked at, once each.
    pub(in crate::run) fn take_new(&mut self, places: usize) -> Vec<usize> {
        let again = std::mem::take(&mut self.again);
        let fit = places.saturating_sub(again.len()).min(self.put_off.len());
        let new = self.next..self.len();
        self.next = new.end;
        again.into_iter().chain(self.put_off.drain(..fit)).chain(new).collect()
    }

    /// There is no place for this call now.
    pub(in crate::run) fn put_off(&mut self, index: usize) {
        self.put_off.push(index);
    }

    /// The calls whose code can go on at this moment, since what it waits for is answered, once each.
    pub(in crate::run) fn take_ready(
        &mut self,
        now: Time,
        is_answered: impl Fn(CallId) -> bool,
    ) -> Vec<usize> {
        let ready = |code: &mut Code| code.waits.take_if(|waits| waits.is_over(now, &is_answered)).is_some();
        self.code.iter_mut().filter_map(|(index, code)| ready(code).then_some(*index)).collect()
    }

    /// Has code run at once that waits for nothing but to be tried again.
    pub(in crate::run) fn hurry(&mut self) {
        self.code
            .values_mut()
            .filter_map(|code| code.waits.as_mut())
            .for_each(|waits| waits.not_before = None);
    }

    fn sub_call(&self, index: usize) -> Option<&SubCall> {
        self.sub_calls.get(index.checked_sub(self.turn.len())?)
    }

    fn waits(&self, index: usize) -> Option<&CodeWait> {
        self.code.get(&index)?.waits.as_ref()
    }
}

impl Index<usize> for Calls<'_> {
    type Output = ToolCall;

    fn index(&self, index: usize) -> &ToolCall {
        match index.checked_sub(self.turn.len()) {
            None => &self.turn[index],
            Some(at) => &self.sub_calls[at].call,
        }
    }
}
