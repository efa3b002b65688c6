//! Grants: the standing approvals of a person, and how they are revoked.

use entourage_store::{Commit, Error as StoreError, Expect, Page, RecordFilter, Write};
use entourage_types::{
    About, AgentId, Answer, Grant, GrantId, GrantStatus, Proposal, Question, QuestionStatus, Verdict,
};

use super::Client;
use crate::Result;

impl Client {
    /// Grants: of one tree or of all, of one agent or of all, in one status or in any.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn grants(
        &self,
        root: Option<AgentId>,
        agent: Option<AgentId>,
        status: Option<GrantStatus>,
        page: Page,
    ) -> Result<Vec<Grant>> {
        let parent = agent.map(Into::into);
        self.records(RecordFilter { root, parent, status, page, ..RecordFilter::default() }).await
    }

    /// Revokes a grant: the engine asks again about the next call that its rule holds back. Revoking twice is
    /// the same as once.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound).
    pub async fn revoke(&self, id: GrantId) -> Result<Grant> {
        let grant = self.grant(id).await?;
        let (status, updated) = (GrantStatus::Revoked, self.engine.now());
        let revoked = Grant { status, updated, ..grant };
        let standing = Expect::status::<Grant>(id, GrantStatus::Standing);
        let commit = Commit::new(updated).expect(standing).write(Write::record(&revoked.clone())?);
        match self.engine.commit(commit).await {
            Ok(_) => Ok(revoked),
            Err(StoreError::NotInStatus { .. }) => self.grant(id).await,
            Err(error) => Err(error.into()),
        }
    }

    /// The other open questions that the grant of this answer covers: those about the same agent, tool and
    /// rule. Whether another rule holds such a call back is checked when the call is executed.
    pub(super) async fn covered_with(&self, question: &Question, answer: &Answer) -> Result<Vec<Question>> {
        let grants = answer.verdict() == Some(Verdict::ApproveAlways);
        let Some(granted) = question.proposal.as_ref().filter(|_| grants) else { return Ok(Vec::new()) };
        let (parent, status) = (Some(question.agent.into()), Some(QuestionStatus::Open));
        let filter = RecordFilter { parent, status, page: Page::all(), ..RecordFilter::default() };
        let mut open: Vec<Question> = self.records(filter).await?;
        let is_covered =
            |other: &Proposal| (&other.tool, &other.held_by) == (&granted.tool, &granted.held_by);
        open.retain(|other| other.id != question.id && other.about == About::Approval);
        open.retain(|other| other.proposal.as_deref().is_some_and(is_covered));
        Ok(open)
    }

    async fn grant(&self, id: GrantId) -> Result<Grant> {
        self.record(id).await
    }
}
