//! What survives what.

/// What a commit survives once it has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the processes that write the database, and a loss of power, as far as its disk sees to that.
    #[default]
    Full,
    /// The end of this process. A loss of power, or a crash of the server if the database has one, may undo the last
    /// commits: each as a whole, and none without all that follow it.
    Normal,
}
