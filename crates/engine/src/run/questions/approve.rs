//! Approvals: a call that an approval rule of the kind holds back, or one to an address that only the agent
//! chose, is made only after a person approves it. The question comes before the intent: nothing of the call
//! has happened while the question is open.

use std::{collections::HashSet, sync::Arc};

use entourage_store::{Error as StoreError, Page, RecordFilter, Write};
use entourage_tools::Address;
use entourage_types::{
    About, Answer, ApprovalRule, Grant, GrantStatus, GrantSubject, OpenQuestion, Post, PostBody, Proposal,
    ToolCall, Verdict,
};
use serde_json::Value;

use crate::run::{
    Result, Run, guards::taint::Readings, questions::ask::QuestionRequest, tools::calls::Calls,
};
use crate::{digest::digest, toolset::OfferedTool};

/// What holds a call back.
pub(in crate::run) enum ApprovalReason {
    /// An approval rule of the kind.
    Rule(Arc<ApprovalRule>),
    /// The call would send data to this address, and only the agent chose it.
    Invented(Address),
}

impl ApprovalReason {
    /// Returns what a grant must exempt from, so that the call is made without a question.
    fn subject(&self) -> GrantSubject {
        match self {
            Self::Rule(rule) => GrantSubject::Rule(rule.to_string()),
            Self::Invented(Address { host, .. }) => GrantSubject::Host(host.clone()),
        }
    }
}

impl Run<'_> {
    /// Returns what holds a call back, unless a grant covers it; `invented` are the addresses, of this call
    /// and others, that only the agents chose.
    pub(in crate::run) async fn needs_approval_for(
        &self,
        offered: &OfferedTool,
        call: &ToolCall,
        invented: &[Address],
    ) -> Result<Option<ApprovalReason>> {
        let mut holds: Vec<ApprovalReason> =
            offered.rules(&call.arguments).cloned().map(ApprovalReason::Rule).collect();
        let address = offered.tool.address(&call.arguments);
        holds.extend(address.filter(|address| invented.contains(address)).map(ApprovalReason::Invented));
        if holds.is_empty() {
            return Ok(None);
        }
        let granted = self.granted(&call.tool).await?;
        Ok(holds.into_iter().find(|hold| !granted.contains(&hold.subject())))
    }

    /// Returns what standing grants exempt this agent's calls of a tool from.
    async fn granted(&self, tool: &str) -> Result<HashSet<GrantSubject>, StoreError> {
        let (parent, status) = (Some(self.agent.id.into()), Some(GrantStatus::Standing));
        let standing = RecordFilter::<Grant> { parent, status, page: Page::all(), ..RecordFilter::default() };
        let grants = self.engine.store().records(&self.scope(), standing).await?;
        Ok(grants.into_iter().filter(|grant| grant.tool == tool).map(|grant| grant.subject).collect())
    }

    /// Whether a person has granted meanwhile what held a call back.
    pub(in crate::run) async fn is_granted(&self, call: &ToolCall, hold: &ApprovalReason) -> Result<bool> {
        Ok(self.granted(&call.tool).await?.contains(&hold.subject()))
    }

    /// Asks for approval to make a call.
    pub(in crate::run) async fn request_approval(
        &mut self,
        call: &ToolCall,
        hold: &ApprovalReason,
        writes: Vec<Write>,
    ) -> Result<()> {
        let (kind, tool, arguments) = (&self.kind.name, &call.tool, &call.arguments);
        let (text, seconds, otherwise) = match hold {
            ApprovalReason::Rule(rule) => (
                format!("May the {kind} call `{tool}` with {arguments}? A rule asks: {rule}."),
                rule.answer_seconds,
                rule.otherwise,
            ),
            ApprovalReason::Invented(Address { url, host, .. }) => (
                format!(
                    "May the {kind} send a request to {url} with `{tool}`? Private data was read before, and \
                     neither you nor a page or search result gave this address: {host} would receive any \
                     private data that the address contains."
                ),
                None,
                Verdict::Reject,
            ),
        };
        let wanted = QuestionRequest {
            about: About::Approval,
            text,
            options: About::Approval.options(),
            proposal: Some(Proposal { held_by: Some(hold.subject()), ..self.proposal(call) }),
            seconds,
            otherwise: Some(otherwise),
        };
        self.ask(call, wanted, writes).await
    }

    /// Closes the questions about these calls that were just being asked when a person granted what they are
    /// about: that answer could not close them, because it did not see them.
    pub(in crate::run) async fn resolve_granted(&mut self, calls: &Calls<'_>) -> Result<()> {
        if !self.inbox.take_granted() {
            return Ok(());
        }
        for asked in self.unanswered(calls) {
            let Some(question) = self.question(asked.question).await? else { continue };
            let Some(Proposal { tool, held_by: Some(subject), .. }) = question.proposal.as_deref() else {
                continue;
            };
            if self.granted(tool).await?.contains(subject) {
                self.close_question(question.id, Answer::Granted).await?;
            }
        }
        Ok(self.refresh().await?)
    }

    /// Returns what holds an approved call back again: an approval is valid for its arguments under its
    /// version of the kind, and a grant under its rule and no other.
    pub(in crate::run) async fn must_ask_again(
        &self,
        (call, is_code): (&ToolCall, bool),
        asked: Option<&OpenQuestion>,
        answer: &Post,
    ) -> Result<Option<ApprovalReason>> {
        let by_grant = matches!(&answer.body, PostBody::Answer { answer: Answer::Granted, .. });
        let holds = |asked: &OpenQuestion| asked.holds_for == self.binding(call) && !by_grant;
        if asked.is_none_or(|asked| asked.about != About::Approval || holds(asked)) {
            return Ok(None);
        }
        // A call that is no longer allowed is refused when it is made.
        match self.offered.tools().allowed_to(is_code, &call.tool, &call.arguments) {
            Ok(offered) => {
                let addresses = offered.tool.address(&call.arguments).into_iter().collect();
                self.needs_approval_for(offered, call, &Readings::of(self).invented(addresses).await?).await
            }
            Err(_) => Ok(None),
        }
    }

    /// Returns the digest of the call and version of the kind for which an answer is valid.
    pub(in crate::run) fn binding(&self, call: &ToolCall) -> String {
        digest(&format!("{}\n{}\n{}", call.tool, call.arguments, self.kind.version))
    }

    /// Returns the arguments that a person gave a call, if any.
    pub(in crate::run) fn edited(&self, call: &ToolCall) -> Option<&Value> {
        self.steps.of_call(call)?.intent.as_ref()?.edited.as_ref()
    }
}
