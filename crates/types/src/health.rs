//! What a round of health did about one agent.

use crate::status::words;

words! {
    /// What a round of health did about an agent.
    #[derive(PartialOrd, Ord)]
    HealthAct, "act of health" {
        /// The time of its next attempt has come: it is woken for that.
        Retried => "retried",
        /// It was paused for too long: its task is cancelled.
        Expired => "expired",
        /// Nothing of it had changed for too long: its task ended without a result.
        Stalled => "stalled",
        /// Nothing of it had changed for too long: its run ended, and it waits for the next message.
        Rested => "rested",
        /// Its task ended long ago: it is forgotten, with its task.
        Pruned => "pruned",
        /// It was at work for too long without a pause: the watchdog has ended its run.
        Cut => "cut",
        /// Something was due, but it went on meanwhile: nothing was done.
        LeftAlone => "left_alone",
    }
}
