//! Where there is no Linux: the interpreter's own limits, and the parent's limit of time.

use std::io;

use super::{Confinement, Measure};
use crate::script::Limits;

/// This process, whose size is not known.
pub(crate) struct Process;

impl Process {
    pub(crate) fn begin() -> (Self, Confinement) {
        let lacking = || Measure::Lacking("only Linux has it".to_owned());
        let confinement =
            Confinement { landlock: lacking(), seccomp: lacking(), limits: lacking(), memory: lacking() };
        (Self, confinement)
    }

    pub(crate) fn finish(_confinement: &mut Confinement) {}

    pub(crate) fn resident(&self) -> Option<u64> {
        None
    }
}

pub(crate) fn limit_run(_process: &Process, _limits: &Limits) -> io::Result<()> {
    Ok(())
}
