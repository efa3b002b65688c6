//! Summarises a part of the conversation: with a model, the cheaper summary model if one is set, or with
//! excerpts of the messages if no model can. A failure never blocks the run.

use std::time::Duration;

use entourage_llm::{Delta, Error as ModelError, Priority, Reply, Request};
use entourage_types::{AskedSummary, ModelUse};

use crate::prompt::{self, RenderedSummary, SummaryOf, View};
use crate::run::{
    Interrupt, Result, Run,
    model::{decide::weight, request_progress::RequestProgress, usage::sanitize_usage},
    trace::RunSpans,
};

/// The maximum length of the text to summarise, in characters; less if the model's window is small.
const LONGEST_TEXT: usize = 200_000;

/// The summary that is wanted.
pub(in crate::run) struct SummaryRequest {
    /// What the summary is for.
    pub(in crate::run) of: SummaryOf,
    /// Its maximum length, in characters.
    pub(in crate::run) max_chars: usize,
}

/// A summary, the usage of its model call, and how that was made; none if the summary was extracted from the messages.
pub(in crate::run) struct Summary {
    pub(in crate::run) text: String,
    pub(in crate::run) used: Option<ModelUse>,
    pub(in crate::run) asked: Option<Box<AskedSummary>>,
}

impl Run<'_> {
    /// Summarises what a view of this conversation shows. The model call counts towards this run; the caller
    /// commits the run's row.
    pub(in crate::run) async fn summarize(
        &mut self,
        view: View<'_>,
        wanted: SummaryRequest,
    ) -> Result<Summary> {
        let model = self.engine.model().summary().map(str::to_owned).or_else(|| self.kind.model.clone());
        let window = self.engine.model().profile(model.as_deref()).context_window;
        // Half of a window, at four bytes a token.
        let read = window.map_or(LONGEST_TEXT, |window| LONGEST_TEXT.min(window as usize * 2));
        let somebody_waits =
            self.agent.works_for.is_person() && (self.record.is_open() || !self.inbox.is_empty());
        let limiting = self.engine.budgets_of(&self.agent, self.engine.now()).await?;
        // A token has at least one character, or nearly so.
        let longest = u32::try_from(wanted.max_chars).unwrap_or(u32::MAX);
        let max_tokens = (!limiting.is_empty()).then_some(longest);
        let rendered = RenderedSummary { of: wanted.of, model, view, read, max_tokens };
        let request = Request {
            priority: if somebody_waits { Priority::Person } else { Priority::Background },
            owner: Some(self.agent.owner.clone()),
            ..rendered.request()
        };
        match self.reserve(limiting, &request).await {
            Ok(Ok(())) => {}
            // Without room, or without a price that is known, the model is not asked.
            Ok(Err(_)) | Err(Interrupt::Stopped(_)) => {
                let text = cut(prompt::drawn(&view), wanted.max_chars);
                return Ok(Summary { text, used: None, asked: None });
            }
            Err(interrupt) => return Err(interrupt),
        }
        let (asked, model) = (self.asked_once(&request), request.model.clone());
        let sent = weight(&request);
        let (answer, heard) = self.ask_for_summary(request).await?;
        let asked = heard.timed(asked);
        RunSpans::of(self).request(("summary", model.clone()), (1, asked.at), &answer, &heard.wasted);
        let plausible =
            |used, said| sanitize_usage(&**self.engine.model(), used, model.as_deref(), || sent, || said);
        let wasted: Vec<ModelUse> = heard.wasted.into_iter().map(|used| plausible(used, 0)).collect();
        let answer = answer.map(|reply| {
            let ModelUse { usage, cost, .. } = plausible(reply.used(), reply.text.len());
            Reply { usage, cost, ..reply }
        });
        self.settle_call((&answer, &wasted), model.as_deref(), heard.stage);
        for used in wasted {
            self.charge(&used, self.engine.now());
        }
        let (text, used) = match answer {
            Ok(reply) => {
                let used = reply.used();
                self.count(&used, self.engine.now());
                (Some(reply.text).filter(|text| !text.trim().is_empty()), Some(used))
            }
            Err(error) => {
                tracing::warn!(agent = %self.agent.id, %error, "the model wrote no summary; using excerpts of the messages");
                (None, None)
            }
        };
        let text = text.unwrap_or_else(|| prompt::drawn(&view));
        let asked = used.is_some().then(|| Box::new(AskedSummary { asked, read }));
        Ok(Summary { text: cut(text, wanted.max_chars), used, asked })
    }

    /// Makes one attempt. Returns its outcome, and what was heard of its requests. A model that is silent for longer
    /// than the kind's limit has timed out.
    async fn ask_for_summary(
        &self,
        request: Request,
    ) -> Result<(Result<Reply, ModelError>, RequestProgress)> {
        let (engine, pulse) = (self.engine, self.control.pulse());
        let clock = &**engine.clock();
        let after = Duration::from_secs(self.kind.limits.model_seconds);
        let model = request.model.clone().unwrap_or_else(|| "the model".into());
        let mut heard = RequestProgress::nothing();
        let mut hear = |delta: Delta| {
            let now = clock.now();
            pulse.beat(clock.tick());
            heard.hear(&delta, now);
        };
        pulse.beat(clock.tick());
        let answer = tokio::select! {
            biased;
            answer = engine.model().call(request, &mut hear) => answer,
            () = self.control.cancel().cancelled() => return Err(Interrupt::Stopping),
            () = pulse.silence(clock, after) => Err(ModelError::TimedOut { model, after }),
        };
        Ok((answer, heard))
    }
}

fn cut(text: String, max_chars: usize) -> String {
    text.trim().chars().take(max_chars).collect()
}
