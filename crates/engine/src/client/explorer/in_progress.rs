//! An answer in progress: what a client has had of it, and what a piece adds to that.

use sha2::Digest;

use crate::{AgentDelta, Piece};

/// The beginning of a text that a client has had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Had {
    /// Its length in characters.
    pub(super) chars: u64,
    /// The first bytes of its SHA-256.
    pub(super) digest: u64,
}

impl Had {
    /// The text after this beginning; none if the text begins otherwise.
    pub(super) fn rest(self, text: &str) -> Option<&str> {
        let chars = usize::try_from(self.chars).ok()?;
        let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(chars)?;
        let (begin, rest) = text.split_at(ends);
        (Prefix::of(begin).had == self).then_some(rest)
    }
}

/// A text that grows, of which length and digest are kept.
#[derive(Clone)]
struct Prefix {
    hash: sha2::Sha256,
    /// As of the last growth: it is asked for more often than the text grows, for each piece of any answer.
    had: Had,
}

impl Default for Prefix {
    fn default() -> Self {
        let hash = sha2::Sha256::default();
        Self { had: Had { chars: 0, digest: first_bytes(&hash) }, hash }
    }
}

impl Prefix {
    fn of(text: &str) -> Self {
        let mut prefix = Self::default();
        prefix.push(text);
        prefix
    }

    fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.hash.update(text);
        let chars = self.had.chars + text.chars().count() as u64;
        self.had = Had { chars, digest: first_bytes(&self.hash) };
    }

    /// Returns what a piece at this offset adds; none if it adds nothing, also because pieces before it are missing.
    fn take(&mut self, offset: u64, text: &str) -> Option<String> {
        let known = usize::try_from(self.had.chars.checked_sub(offset)?).ok()?;
        let new: String = text.chars().skip(known).collect();
        self.push(&new);
        Some(new).filter(|new| !new.is_empty())
    }
}

/// The first bytes of a digest.
fn first_bytes(hash: &sha2::Sha256) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&hash.clone().finalize()[..8]);
    u64::from_be_bytes(first)
}

/// What is sent of an answer, one after the other.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It begins, or begins again.
    Start,
    /// Text.
    Text(String),
    /// Reasoning.
    Reasoning(String),
}

/// An answer in progress.
pub(super) struct Answer {
    /// The number that its item will have.
    pub(super) item: u64,
    /// The attempt that was heard last.
    attempt: u64,
    stage: Stage,
    /// The text that was sent.
    prefix: Prefix,
    claim: Option<Claim>,
}

/// What was sent of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing.
    Unsent,
    /// That it begins, and nothing since.
    Begun,
    /// Pieces of it.
    UnderWay,
}

/// What an earlier stream sent, while too little of the text is known to tell whether it is the same.
struct Claim {
    had: Had,
    so_far: String,
    /// What is known of `so_far`.
    known: Prefix,
}

impl Answer {
    /// One of which nothing was heard.
    pub(super) fn new(item: u64) -> Self {
        Self { item, attempt: 0, stage: Stage::Unsent, prefix: Prefix::default(), claim: None }
    }

    /// One of which an earlier stream sent this much.
    pub(super) fn claimed(item: u64, had: Had) -> Self {
        let claim = (had.chars > 0).then(|| Claim { had, so_far: String::new(), known: Prefix::default() });
        Self { stage: Stage::Begun, claim, ..Self::new(item) }
    }

    /// What the client has had; none if not even its beginning.
    pub(super) fn had(&self) -> Option<Had> {
        let sent = (self.stage != Stage::Unsent).then_some(self.prefix.had);
        self.claim.as_ref().map(|claim| claim.had).or(sent)
    }

    /// Whether a piece belongs to an earlier attempt than the one that was heard last.
    pub(super) fn is_past(&self, delta: &AgentDelta) -> bool {
        delta.attempt < self.attempt
    }

    /// Returns what a piece adds, each with what the client has had after it.
    pub(super) fn take(&mut self, delta: &AgentDelta) -> Vec<(Sent, Had)> {
        let mut sent = Vec::new();
        if self.is_past(delta) {
            return sent;
        }
        if delta.attempt > self.attempt {
            self.attempt = delta.attempt;
            match &mut self.claim {
                // The client may have had the beginning of this very attempt.
                Some(claim) => {
                    claim.so_far.clear();
                    claim.known = Prefix::default();
                }
                None if self.stage == Stage::UnderWay => self.start(&mut sent),
                None => {}
            }
        }
        match &delta.piece {
            Piece::Text(text) if self.claim.is_some() => self.check(delta.offset, text, &mut sent),
            // A piece that cannot be put in its place begins nothing.
            Piece::Text(_) if delta.offset > self.prefix.had.chars => {}
            Piece::Text(text) => {
                self.go_on(&mut sent);
                if let Some(new) = self.prefix.take(delta.offset, text) {
                    sent.push((Sent::Text(new), self.prefix.had));
                }
            }
            Piece::Reasoning(text) if self.claim.is_none() => {
                self.go_on(&mut sent);
                sent.push((Sent::Reasoning(text.clone()), self.prefix.had));
            }
            Piece::Reset if self.claim.is_some() || self.stage == Stage::UnderWay => self.start(&mut sent),
            Piece::Reset | Piece::Reasoning(_) | Piece::Call(_) => {}
        }
        sent
    }

    /// Takes a piece of a text of which an earlier stream sent the beginning, perhaps: from another attempt, the client
    /// needs all of it.
    fn check(&mut self, offset: u64, text: &str, sent: &mut Vec<(Sent, Had)>) {
        let Some(Claim { had, so_far, known }) = &mut self.claim else { return };
        so_far.extend(known.take(offset, text));
        if known.had.chars < had.chars {
            return;
        }
        let (had, so_far, known) = (*had, std::mem::take(so_far), std::mem::take(known));
        let new = had.rest(&so_far).unwrap_or_else(|| {
            self.start(sent);
            &so_far
        });
        if !new.is_empty() {
            sent.push((Sent::Text(new.to_owned()), known.had));
        }
        (self.claim, self.stage, self.prefix) = (None, Stage::UnderWay, known);
    }

    fn start(&mut self, sent: &mut Vec<(Sent, Had)>) {
        (self.claim, self.stage, self.prefix) = (None, Stage::Begun, Prefix::default());
        sent.push((Sent::Start, self.prefix.had));
    }

    /// Begins the answer unless it has begun.
    fn go_on(&mut self, sent: &mut Vec<(Sent, Had)>) {
        if self.stage == Stage::Unsent {
            self.start(sent);
        }
        self.stage = Stage::UnderWay;
    }
}

#[cfg(test)]
mod tests {
    use entourage_types::{AgentId, RunId};

    use super::*;

    fn delta(attempt: u64, offset: u64, text: &str) -> AgentDelta {
        let piece = if text.is_empty() { Piece::Reset } else { Piece::Text(text.into()) };
        AgentDelta { agent: AgentId::new(), run: RunId::new(), item_seq: 7, attempt, offset, piece }
    }

    /// What is sent, `|` for a beginning.
    fn takes(answer: &mut Answer, attempt: u64, offset: u64, text: &str) -> String {
        let sent = answer.take(&delta(attempt, offset, text));
        assert_eq!(sent.last().map(|last| last.1).or(answer.had()), answer.had());
        let written = sent.into_iter().map(|(sent, _)| match sent {
            Sent::Start => "|".to_owned(),
            Sent::Text(text) | Sent::Reasoning(text) => text,
        });
        written.collect()
    }

    #[test]
    fn a_new_attempt_begins_again_and_pieces_out_of_place_add_nothing() {
        let mut answer = Answer::new(7);
        assert_eq!(takes(&mut answer, 1, 2, "x"), "", "its beginning is missing");
        assert_eq!(answer.had(), None);
        assert_eq!(takes(&mut answer, 1, 0, "añb"), "|añb");
        assert_eq!(takes(&mut answer, 1, 0, "añbc"), "c");
        assert_eq!(takes(&mut answer, 1, 9, "y"), "");
        assert_eq!(takes(&mut answer, 1, 4, ""), "|");
        assert_eq!(takes(&mut answer, 1, 0, ""), "", "it was said");
        assert_eq!(takes(&mut answer, 2, 0, "z"), "z");
        assert_eq!(takes(&mut answer, 3, 0, "w"), "|w", "also without a word of its failure");
        assert_eq!(takes(&mut answer, 2, 1, "v"), "");
        assert_eq!(answer.had().unwrap().rest("w!"), Some("!"));
    }

    #[test]
    fn of_an_answer_that_an_earlier_stream_sent_only_the_rest_follows_or_all_of_another_one() {
        let had = Prefix::of("größ").had;
        let claimed = || Answer::claimed(7, had);
        let mut same = claimed();
        assert_eq!(takes(&mut same, 5, 0, "gr"), "");
        assert_eq!(same.had(), Some(had));
        assert_eq!(takes(&mut same, 5, 2, "öße"), "e");
        assert_eq!(takes(&mut same, 5, 5, "r"), "r");
        let mut other = claimed();
        assert_eq!(takes(&mut other, 5, 0, "klein und groß"), "|klein und groß");
        let mut failed = claimed();
        assert_eq!(takes(&mut failed, 5, 0, "gr") + &takes(&mut failed, 5, 2, ""), "|");
        assert_eq!(takes(&mut failed, 6, 0, "größ"), "größ");
        let mut begun = Answer::claimed(7, Prefix::default().had);
        assert_eq!(takes(&mut begun, 5, 0, "g"), "g");
    }

    #[test]
    fn the_rest_of_a_text_follows_a_beginning_that_it_has() {
        let had = Prefix::of("größ").had;
        assert_eq!(had.rest("größte"), Some("te"));
        assert_eq!(had.rest("größ"), Some(""));
        for other in ["grö", "groß", ""] {
            assert_eq!(had.rest(other), None, "{other}");
        }
    }
}
